"""`leadline dump` on every interpreter: what threads do, their names and locals, many processes at once."""
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import conftest
import pytest
from interpreters import EXPECTED, inside, require

TARGETS = conftest.ROOT / "tests" / "targets"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
ASAN = dict(os.environ, ASAN_OPTIONS="detect_leaks=1")


@contextlib.contextmanager
def running(label, script, *args, prefix=(), env=None):
    """The process of a script that has said "ready"; it ends when its input does."""
    with inside(label, script) as path:
        command = [*prefix, *require(label).command(str(path), *args)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as p:
            try:
                assert p.stdout.readline() == "ready\n"
                yield p
            finally:
                p.stdin.close()
                try:
                    p.wait(5)  # so that it ends its own children
                except subprocess.TimeoutExpired:
                    p.kill()


def dump(tool, *args, **kwargs):
    r = tool("dump", "--json", *args, **kwargs)
    assert r.returncode == 0, r.stderr
    assert r.stderr == ""
    return json.loads(r.stdout)


def by_name(process):
    return {t["name"]: t for t in process["threads"]}


def functions(thread):
    return [f["function"].rpartition(".")[2] for f in thread["frames"]]


PLANTED = {
    "first": ("argument", "1"),
    "rest": ("argument", "(2, 3)"),
    "key": ("argument", "4"),
    "others": ("argument", "{'more': 5}"),
    "none": ("local", "None"),
    "yes": ("local", "True"),
    "no": ("local", "False"),
    "small": ("local", "42"),
    "negative": ("local", "-7"),
    "zero": ("local", "0"),
    "large": ("local", str(2**100)),
    "huge": ("local", "<int of 401 digits>"),
    "pi": ("local", "3.14159"),
    "tiny": ("local", "1e-07"),
    "whole": ("local", "100.0"),
    "inf": ("local", "inf"),
    "cplx": ("local", "(1-2j)"),
    "text": ("local", "'hello'"),
    "quoted": ("local", '"it\'s"'),
    "wide": ("local", "'größe 数 🙂'"),
    "raw": ("local", r"b'\x00bytes\xff'"),
    "numbers": ("local", "[1, 2, 3]"),
    "empty": ("local", "[]"),
    "many": ("local", "[0, 1, 2, 3, 4, 5, 6, 7, … +92]"),
    "pair": ("local", "(1, 'two')"),
    "single": ("local", "(1,)"),
    "table": ("local", "{'a': 1, 2: [3, {'deep': (4, [… +1])}]}"),
    "unique": ("local", "{7}"),
    "frozen": ("local", "frozenset({8})"),
    "nothing": ("local", "set()"),
    "point": ("local", "__main__.Point(1, 2)"),
    "error": ("local", "ValueError('bad', 3)"),
    "special": ("local", "__main__.Text('sub')"),
    "module": ("local", "<module 'sys'>"),
    "cls": ("local", "<class '__main__.Plain'>"),
    "shared": ("local", "'in a cell'"),
}


@pytest.mark.parametrize("label", EXPECTED)
def test_names_stacks_places_and_locals_are_those_that_were_planted(tool, label):
    with running(label, TARGETS / "planted.py") as p:
        process = dump(tool, "--locals", p.pid)["processes"][0]
    threads = by_name(process)
    assert process["interpreter"] == f"CPython {require(label).version}" + " free-threaded" * require(label).free_threaded
    assert set(threads) == {"MainThread", "worker-0", "worker-1", "worker-2", "Wörter 数"}
    assert all(t["stack"] == "whole" and t["interpreter"] == 0 for t in threads.values())
    for i in range(3):
        assert functions(threads[f"worker-{i}"])[:4] == ["wait", "wait", "wait_here", "worker"]
    frames = {f["function"].rpartition(".")[2]: f for f in threads["Wörter 数"]["frames"]}
    found = {v["name"]: (v["kind"], v["value"]) for v in frames["holds_values"]["locals"]}
    assert {name: found.get(name) for name in PLANTED} == PLANTED
    assert re.fullmatch(r"<__main__\.Plain at 0x[0-9a-f]+>", found["plain"][1])
    assert re.fullmatch(r"<function wait_here at 0x[0-9a-f]+>", found["function"][1])
    inner = {v["name"]: (v["kind"], v["value"]) for v in frames["inner"]["locals"]}
    assert inner == {"argument": ("argument", "1"), "local": ("local", "'in a cell'"), "shared": ("outer", "'in a cell'")}
    assert frames["holds_values"]["source"] == "    inner(first)"
    if label in ("3.8", "3.9", "3.10"):
        assert frames["holds_values"]["column"] is None
    else:
        assert (frames["holds_values"]["column"], frames["holds_values"]["end_column"]) == (4, 16)


@pytest.mark.parametrize("label", EXPECTED)
def test_subinterpreters_are_shown(tool, label):
    with running(label, TARGETS / "interpreters.py") as p:
        process = dump(tool, p.pid)["processes"][0]
    assert process["interpreters"] == 3
    inside_of = {f["function"]: t["interpreter"] for t in process["threads"] for f in t["frames"]}
    assert inside_of["inside_0"] not in (0, inside_of["inside_1"])
    assert inside_of["inside_1"] != 0
    assert {t["name"] for t in process["threads"] if t["interpreter"] == 0} == {"MainThread", "host-0", "host-1"}


BUSY = """
import sys, threading
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def busy():
    while True:
        fib(12)
def spin():
    i = 0
    while True:
        i += 1
threading.Thread(target=busy, name="busy", daemon=True).start()
threading.Thread(target=spin, name="spin", daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_threads_that_run_on_are_seen_and_never_wrong(tool, label, tmp_path):
    """Whatever is shown of a thread that calls all the time is a stack it can have."""
    script = tmp_path / "busy.py"
    script.write_text(BUSY)
    seen = 0
    with running(label, script) as p:
        for _ in range(20):
            threads = by_name(dump(tool, "--locals", p.pid)["processes"][0])
            assert functions(threads["spin"])[0] == "spin"
            assert threads["spin"]["stack"] == "whole"
            names = functions(threads["busy"])
            assert threads["busy"]["stack"] in ("whole", "cut")
            assert names[-3:] == ["run", "_bootstrap_inner", "_bootstrap"]
            assert re.fullmatch(r"(fib )*busy ", "".join(f"{n} " for n in names[:-3]))
            seen += "fib" in names
    assert seen > 0  # nearly all


WORKERS = """
import multiprocessing, os, sys, time
def all_reduce(said): os.write(said, b"x"); time.sleep(1000)
def next_batch(said): os.write(said, b"x"); time.sleep(1000)
def rank(number, said):
    next_batch(said) if number == 3 else all_reduce(said)
if __name__ == "__main__":
    came, said = os.pipe()
    fork = multiprocessing.get_context("fork")
    for i in range(8):
        os.environ["RANK"] = str(i)
        fork.Process(target=rank, args=(i, said), daemon=True).start()
    for i in range(8):
        os.read(came, 1)
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("label", ["3.9", "3.13", "3.15"])
def test_a_tree_of_processes_is_grouped_by_where_they_stand(tool, label, tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    with running(label, script) as p:
        found = dump(tool, "--tree", p.pid)
        text = tool("dump", "--tree", p.pid).stdout
    assert len(found["processes"]) == 9
    main = [g["threads"] for g in found["groups"] if g["main"]]
    assert sorted(map(len, main)) == [1, 1, 7]
    assert "  7 in all_reduce: processes " in text
    assert "  1 in next_batch: process " in text
    assert text.startswith("9 processes\n  7 in all_reduce")


def test_processes_are_called_by_their_ranks(tool, tmp_path):
    script = tmp_path / "rank.py"
    script.write_text("import os, sys\ndef all_reduce(): print('ready', flush=True); sys.stdin.read()\n"
                      "def load(): print('ready', flush=True); sys.stdin.read()\n"
                      "load() if os.environ['RANK'] == '3' else all_reduce()\n")
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(running("3.12", script, env=dict(os.environ, RANK=str(i)))).pid for i in range(6)]
        text = tool("dump", *pids).stdout
    assert text.startswith("6 processes\n  5 in all_reduce: ranks 0-2, 4, 5\n  1 in load: rank 3\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the user")
def test_an_ordinary_user_looks_at_his_own_and_at_no_others(tool, tmp_path):
    os.chmod(tmp_path, 0o755)
    script = tmp_path / "mine.py"
    script.write_text("import sys\nprint('ready', flush=True)\nsys.stdin.read()\n")
    binary = Path(tempfile.mkdtemp()) / "leadline"
    os.chmod(binary.parent, 0o755)
    shutil.copy(tool.binary, binary)
    shutil.copy(script, binary.parent / "mine.py")
    try:
        with running("3.12", binary.parent / "mine.py", prefix=NOBODY) as mine, running("3.12", script) as others:
            r = subprocess.run([*NOBODY, binary, "dump", str(mine.pid)], capture_output=True, text=True, check=False)
            # Under Yama's scope 1 that is not his right either; then he is told so.
            assert r.returncode == 0 and "<module>" in r.stdout or "ptrace_scope" in r.stderr
            r = subprocess.run([*NOBODY, binary, "dump", str(others.pid)], capture_output=True, text=True, check=False)
            assert (r.returncode, r.stdout) == (4, "")
            assert len(r.stderr.splitlines()) <= 2
    finally:
        shutil.rmtree(binary.parent)


def test_what_cannot_be_shown_is_said_with_its_status(tool):
    assert tool("dump").returncode == 2
    assert tool("dump", "abc").returncode == 2
    assert tool("dump", 4194303).returncode == 5
    with subprocess.Popen(["sleep", "1000"]) as p:
        r = tool("dump", p.pid)
        p.kill()
    assert r.returncode == 6
    assert "not Python" in r.stderr and "sleep" in r.stderr
    assert r.stdout == ""


def test_one_failure_among_several_shows_the_others(tool):
    with running("3.13", TARGETS / "planted.py") as p:
        r = tool("dump", 4194303, p.pid)
        found = json.loads(tool("dump", "--json", 4194303, p.pid).stdout)
    assert r.returncode == 5
    assert "wait_here" in r.stdout
    assert len(found["processes"]) == 1 and len(found["failures"]) == 1


HOSTILE = r"""
import ctypes, random, sys, threading
def mess(values):
    # Objects whose sizes, types and links are nonsense, in the frame of a thread that stands still.
    words = (ctypes.c_uint64 * 8).from_address(id(values[0]))
    for i, v in enumerate(%s):
        words[i + 2] = v & (2**64 - 1)
    print("ready", flush=True)
    sys.stdin.read()
mess([%s])
"""


@pytest.mark.skipif(not os.access(conftest.LEADLINE_ASAN, os.X_OK), reason="make asan first")
@pytest.mark.parametrize("value", ["[1, 2]", "(1, 2)", "{1: 2}", "{1, 2}", "b'x' * 100", "'x' * 100", "10**30", "ValueError(1)", "type('C', (), {})()"])
@pytest.mark.parametrize("words", ["[-1, -1, -1]", "[2**62, 2**40, 1]", "[1, 2**47 - 8, 8]", "[7, 7, 7]"])
@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_objects_that_lie_harm_nobody(tool, tmp_path, label, value, words):
    script = tmp_path / "hostile.py"
    script.write_text(HOSTILE % (words, value))
    with running(label, script) as p:
        r = subprocess.run([conftest.LEADLINE_ASAN, "dump", "--locals", str(p.pid)], capture_output=True, text=True, check=False)
    assert r.returncode == 0, r.stderr
    assert "values = " in r.stdout


@pytest.mark.skipif(not os.access(conftest.LEADLINE_ASAN, os.X_OK), reason="make asan first")
@pytest.mark.parametrize("label", EXPECTED)
def test_sanitized_it_finds_the_same(tool, label):
    with running(label, TARGETS / "planted.py") as p:
        plain = tool("dump", "--locals", p.pid)
        r = subprocess.run([conftest.LEADLINE_ASAN, "dump", "--locals", str(p.pid)], capture_output=True, text=True, check=False, env=ASAN)
    assert r.stderr == ""
    seen = [text.replace('": on CPU', '": idle') for text in (r.stdout, plain.stdout)]  # a thread may be about to wait
    assert seen[0] == seen[1]


@pytest.mark.parametrize("label", EXPECTED)
def test_tasks_stand_under_those_that_await_them(tool, label):
    with running(label, TARGETS / "tasks.py") as p:
        process = dump(tool, p.pid)["processes"][0]
        text = tool("dump", p.pid).stdout
    tasks = {t["name"]: t for t in process["tasks"]}
    awaited = {name: [process["tasks"][i]["name"] for i in t["awaited_by"]] for name, t in tasks.items()}
    main = next(name for name, t in tasks.items() if functions(t)[-1] == "main")
    expected = {"child-0": ["gatherer"], "child-1": ["gatherer"], "gatherer": [], main: []}
    for how in ("awaits", "shields", "waits"):
        expected |= {how: [], "of-" + how: [how]}
    if label not in ("3.8", "3.9", "3.10"):
        expected |= {"grouper": [], "grouped-0": ["grouper"], "grouped-1": ["grouper"]}
    assert awaited == expected
    assert all(t["stack"] == "whole" for t in tasks.values())
    assert functions(tasks["child-0"]) == ["leaf", "middle"]
    assert functions(tasks["waits"])[-1] == "waits"
    assert {name for name, t in tasks.items() if t["state"] == "running"} == {main}
    assert functions(tasks[main]) == ["block", "main"]
    assert process["tasks"][process["threads"][0]["task"]]["name"] == main
    assert "Task gatherer: waiting for gather\n" in text
    assert "\n    2 tasks at the same place: child-0, child-1; waiting for a future\n      leaf  " in text
    assert "\n    Task of-waits: waiting for a future\n      leaf  " in text


MANY = """
import asyncio, sys
async def wait_for_work(queue): await queue.get()
async def main():
    queue = asyncio.Queue()
    tasks = [asyncio.ensure_future(wait_for_work(queue)) for i in range(3000)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    print("ready", flush=True)
    sys.stdin.read()
asyncio.run(main())
"""


@pytest.mark.parametrize("label", ["3.8", "3.12", "3.15"])
def test_thousands_of_tasks_at_one_place_are_shown_once(tool, label, tmp_path):
    script = tmp_path / "many.py"
    script.write_text(MANY)
    with running(label, script) as p:
        text = tool("dump", p.pid).stdout
        process = dump(tool, p.pid)["processes"][0]
    assert len(process["tasks"]) == 3001
    assert len(text.splitlines()) < 80
    assert "3000 tasks at the same place: Task-2, Task-3, Task-4, Task-5, Task-6, Task-7, …; waiting for a future" in text


def test_arrays_and_tensors_tell_dtype_and_shape(tool, tmp_path):
    pytest.importorskip("numpy")
    script = tmp_path / "arrays.py"
    script.write_text("""
import sys
import numpy
try:
    import torch
except ImportError:
    torch = None
def show():
    a = numpy.zeros((3, 4), dtype="float32")
    b = numpy.arange(5)
    c = numpy.array(7.5)
    n = numpy.int64(-9)
    if torch:
        t = torch.zeros(2, 3, 4, dtype=torch.float16)
        s = torch.ones(())
        w = torch.nn.Parameter(torch.zeros(5, 1))
        v = torch.zeros(1, 2, 1, 2, 1, 2, dtype=torch.int64)
        x = torch.zeros(6, 4).t()[1:]
    print("ready", flush=True)
    sys.stdin.read()
show()
""")
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        frame = dump(tool, "--locals", p.pid)["processes"][0]["threads"][0]["frames"][0]
        p.kill()
    found = {v["name"]: v["value"] for v in frame["locals"]}
    assert found["a"] == "numpy.ndarray float32 (3, 4)"
    assert found["b"] == "numpy.ndarray int64 (5,)"
    assert found["c"] == "numpy.ndarray float64 ()"
    assert found["n"] == "numpy.int64(-9)"
    if "t" in found:
        assert found["t"] == "torch.Tensor float16 (2, 3, 4) cpu"
        assert found["s"] == "torch.Tensor float32 () cpu"
        assert found["w"] == "torch.nn.parameter.Parameter float32 (5, 1) cpu"
        assert found["v"] == "torch.Tensor int64 (1, 2, 1, 2, 1, 2) cpu"
        assert found["x"] == "torch.Tensor float32 (3, 6) cpu"


@pytest.mark.parametrize("label", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_a_recording_calls_threads_by_their_names(tool, label, tmp_path):
    script = tmp_path / "named.py"
    script.write_text("""
import threading, time
def work(end):
    while time.monotonic() < end:
        sum(range(1000))
threads = [threading.Thread(target=work, args=(time.monotonic() + 1,), name=f"burner-{i}") for i in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
""")
    record = tmp_path / "named.lead"
    with inside(label, script) as path:
        r = tool("run", "-o", record, "--", *require(label).command(str(path)))
    assert r.returncode == 0, r.stderr
    shown = tool("report", record, "--threads", "--idle").stdout
    assert re.search(r"^#\d +burner-0 ", shown, re.MULTILINE)
    assert re.search(r"^#\d +burner-1 ", shown, re.MULTILINE)
    assert re.search(r"^#\d +MainThread ", shown, re.MULTILINE)


# ---- core files -----------------------------------------------------------------------------------------------


DIES = """
import os, threading, time
def sleeper(tag):
    kept = [tag, 2.5]
    ready.set()
    time.sleep(100)
def deep(n, data):
    if n == 0:
        os.abort()
    deep(n - 1, data)
ready = threading.Event()
threading.Thread(target=sleeper, args=("t",), daemon=True, name="worker-0").start()
ready.wait()
deep(3, {"a": [1, 2]})
"""


def make_core(label, folder):
    """The core file of a program that aborts, and the options to read it with."""
    if Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core":
        pytest.skip("core files go elsewhere here: kernel.core_pattern")
    script = folder / "dies.py"
    script.write_text(DIES)
    python = require(label)
    with inside(label, script) as path:
        where = Path(python.root) / path.parent.relative_to("/")
        enter = ["chroot", python.root] if python.root != "/" else []
        r = subprocess.run([*enter, "sh", "-c", f"ulimit -c unlimited && cd {path.parent} && exec {python.exe} {path}"], stderr=subprocess.DEVNULL)
        assert r.returncode == -6
        os.replace(where / "core", folder / "its.core") if where == folder else shutil.copy(where / "core", folder / "its.core")
    return [folder / "its.core", *(["--root", python.root] if enter else [])]


@pytest.mark.parametrize("label", EXPECTED)
def test_a_core_file_tells_what_it_did_when_it_died(tool, label, tmp_path):
    args = make_core(label, tmp_path)
    try:
        (process,) = dump(tool, "--locals", *args)["processes"]
        text = tool("dump", *args).stdout
    finally:
        args[0].unlink()  # some are large
    assert process["signal"] == 6 and process["pid"] and process["interpreter"].startswith("CPython " + label.rstrip("t"))
    assert "killed by signal 6 (SIGABRT)" in text
    threads = by_name(process)
    assert functions(threads["MainThread"]) == ["deep"] * 4 + ["<module>"]
    assert functions(threads["worker-0"])[0] == "sleeper"
    lines = DIES.splitlines()
    assert [lines[f["line"] - 1].strip() for f in threads["MainThread"]["frames"]][:2] == ["os.abort()", "deep(n - 1, data)"]
    assert {x["name"]: x["value"] for x in threads["MainThread"]["frames"][1]["locals"]} == {"n": "1", "data": "{'a': [1, 2]}"}
    assert {x["name"]: x["value"] for x in threads["worker-0"]["frames"][0]["locals"]} == {"tag": "'t'", "kept": "['t', 2.5]"}
    assert threads["MainThread"]["tid"] == process["pid"] and threads["worker-0"]["tid"] not in (None, process["pid"])


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_a_core_file_of_gcore_is_one_of_python(tool, label, tmp_path):
    """gdb writes no part at all for code that is as in its file, and it took no Python for Python."""
    script = tmp_path / "waits.py"
    script.write_text(DIES.replace("os.abort()", "print('ready', flush=True); time.sleep(100)"))
    with conftest.running(*require(label).command(str(script))) as program:
        made = subprocess.run(["gcore", "-o", str(tmp_path / "gcore"), str(program.pid)], capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made.stderr
        core = tmp_path / f"gcore.{program.pid}"
        (process,) = dump(tool, "--locals", core)["processes"]
        core.unlink()
        assert process["interpreter"].startswith("CPython " + label) and process["pid"] == program.pid
        threads = by_name(process)
        assert functions(threads["MainThread"]) == ["deep"] * 4 + ["<module>"]
        assert functions(threads["worker-0"])[0] == "sleeper"


def test_a_core_file_that_lies_is_survived(tool, tmp_path):
    """Bytes of headers, notes and memory changed by chance: an answer or one line, nothing for the sanitizers."""
    (core,) = make_core("3.12", tmp_path)
    chance = random.Random(5)
    size = core.stat().st_size
    tool.binary = conftest.LEADLINE_ASAN
    with open(core, "r+b") as f:
        for turn in range(8):
            places = [chance.randrange(8192) if turn % 2 else chance.randrange(size) for _ in range(20 if turn % 2 else 20_000)]
            before = []
            for at in places:
                f.seek(at)
                before.append(f.read(1))
                f.seek(at)
                f.write(bytes([chance.randrange(256)]))
            f.flush()
            r = tool("dump", "--locals", core, env=ASAN)
            assert r.returncode in (0, 5, 6) and "Sanitizer" not in r.stderr, r.stderr
            for at, byte in reversed(list(zip(places, before))):
                f.seek(at)
                f.write(byte)
        f.truncate(size // 3)
        f.flush()
        assert tool("dump", core, env=ASAN).returncode in (0, 6)


def test_an_error_that_quotes_a_name_cannot_write_to_the_terminal(tool, tmp_path):
    odd = os.fsencode(tmp_path) + b"/\x1b[31m\xf3.core"
    Path(os.fsdecode(odd)).write_bytes(b"x")
    r = subprocess.run([tool.binary, "dump", odd], capture_output=True, check=False)
    assert r.returncode == 6 and b"\x1b" not in r.stderr and "\\x1b[31m\ufffd.core" in r.stderr.decode(), r.stderr


def test_what_is_no_core_file_of_a_python_is_said(tool, tmp_path):
    for path, words in (("/bin/sh", "a program or library"), (__file__, "is not a core file"), ("/dev/null", "is not a core file")):
        r = tool("dump", path)
        assert r.returncode == 6 and words in r.stderr, r.stderr
    r = tool("dump", tmp_path / "none")
    assert r.returncode == 2 and "there is no core file of that name" in r.stderr
