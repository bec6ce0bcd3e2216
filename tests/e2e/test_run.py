"""`leadline run`, `report` and `export`: what a user types, and what goes wrong."""
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time

import conftest
import pytest
from conftest import wait_for_bytes
from interpreters import require

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

BIAS = conftest.ROOT / "tests" / "targets" / "bias.py"


@pytest.fixture
def python():
    return require("3.12").exe


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "hot.py"
    path.write_text("import sys\n\ndef spin(n):\n    for i in range(n): i * i\n\n"
                    "for _ in range(int(sys.argv[1])):\n    spin(20000)\nprint('done')\nsys.exit(int(sys.argv[2]))\n")
    return path


def test_a_script_is_run_with_the_chosen_python(tool, script, python, tmp_path):
    r = tool("run", "--python", python, script, "300", "5", cwd=tmp_path)
    assert r.returncode == 5 and r.stdout == "done\n"
    assert f"leadline: {python} (--python)" in r.stderr
    for words in ("CPU-bound", "Functions", "Lines", "spin", "hot.py:4", "samples", "Recording: hot.lead"):
        assert words in r.stderr, r.stderr
    assert (tmp_path / "hot.lead").exists()


def test_recordings_are_never_overwritten(tool, script, python, tmp_path):
    for name in ("hot.lead", "hot.2.lead", "hot.3.lead"):
        assert f"Recording: {name}" in tool("run", "--python", python, script, "1", "0", cwd=tmp_path).stderr
        assert (tmp_path / name).exists()
    before = (tmp_path / "hot.lead").read_bytes()
    assert tool("run", "-o", "hot.lead", "--python", python, script, "1", "0", cwd=tmp_path).returncode == 125
    assert (tmp_path / "hot.lead").read_bytes() == before


def test_a_module_and_a_command(tool, python, tmp_path):
    r = tool("run", "--python", python, "-m", "timeit", "-n", "1", "pass", cwd=tmp_path)
    assert r.returncode == 0 and "1 loop, best of 5" in r.stdout
    assert (tmp_path / "timeit.lead").exists()
    r = tool("run", "--python", python, "-m", "timeit", "-r", "2", "-n", "3", "pass", cwd=tmp_path)
    assert "3 loops, best of 2" in r.stdout
    r = tool("run", python, "-c", "print(6 * 7)", cwd=tmp_path)
    assert r.stdout == "42\n" and r.returncode == 0


def test_json_follows_the_contract(draw, tool, script, python, tmp_path):
    out = tmp_path / "r.json"
    tool("run", f"--json={out}", "--python", python, script, "400", "0", cwd=tmp_path)
    report = json.loads(out.read_text())
    assert report["command"][0] == python
    assert set(report["fidelity"]) >= {"engine", "samples", "lost", "shortened", "rate_asked_hz", "rate_reached_hz",
                                       "own_cpu_s", "slowdown_share"}
    draw.median("slowdown", report["fidelity"]["slowdown_share"], low=0, high=0.2)
    top = report["functions"][0]
    assert top["name"] == "spin" and top["file"] == str(script) and top["calls"] is None
    assert top["self_low"] < top["self"] <= top["self_high"]  # nothing else may have been seen
    assert report["lines"][0]["hits"] is None
    draw.verdict("first line", report["lines"][0]["line"], 4)
    by_name = {f["name"]: f for f in report["functions"] if f["file"] == str(script)}
    draw.share("spin", by_name["spin"]["total"], by_name["<module>"]["total"], low=0.8)


def test_views_of_a_recording(draw, tool, script, python, tmp_path):
    tool("run", "--python", python, script, "200", "0", cwd=tmp_path)
    record = tmp_path / "hot.lead"
    assert "Lines" not in tool("report", "--functions", record).stdout
    assert "Functions" not in tool("report", "--lines", record).stdout
    threads = tool("report", "--threads", record).stdout
    assert "Threads" in threads and "holds GIL" in threads
    assert "Over time" in tool("report", "--host", record).stdout
    assert tool("report", "--state=cpu", record).returncode == 0
    folded = tool("export", record, "--idle", "--format", "collapsed").stdout.splitlines()
    assert all(line.rpartition(" ")[2].isdigit() for line in folded)
    assert any(line.startswith("<module> (") and "spin (" in line for line in folded)
    total = sum(int(line.rpartition(" ")[2]) for line in folded)
    samples = json.loads(tool("report", "--json", record).stdout)["fidelity"]["samples"]
    draw.share("exported", total, samples, low=0.9, high=1.1)


def test_the_recording_holds_the_source(tool, script, python, tmp_path):
    tool("run", "--python", python, script, "300", "0", cwd=tmp_path)
    text = script.read_text()
    script.write_text("# edited since\n")
    lines = tool("report", "--lines", tmp_path / "hot.lead").stdout
    assert "for i in range(n): i * i" in lines and "edited since" not in lines and "█" in lines
    script.write_text(text)
    tool("run", "--no-source", "-o", tmp_path / "n.lead", "--python", python, script, "100", "0", cwd=tmp_path)
    lines = tool("report", "--lines", tmp_path / "n.lead").stdout
    assert "hot.py:4" in lines and "Without source: the recording does not hold it" in lines


def test_a_file_changed_while_it_ran_is_told(tool, python, tmp_path):
    script = tmp_path / "self.py"
    script.write_text("import os, sys, time\n\ndef spin(n):\n    for i in range(n): i * i\n\ntime.sleep(0.1)\nos.utime(__file__)\n"
                      "spin(8_000_000)\n")
    tool("run", "--python", python, script, cwd=tmp_path)
    assert "changed after the program started" in tool("report", "--lines", tmp_path / "self.lead").stdout


@pytest.mark.parametrize("early_ms", (4, 6, 8, 10))
def test_a_file_written_just_before_it_ran_has_not_changed(tool, tmp_path, early_ms):
    """Also where a second of the clock that counts a process's start ends between its start and our first look."""
    script = tmp_path / "new.py"
    time.sleep(1 - (time.clock_gettime(time.CLOCK_BOOTTIME) + early_ms / 1000) % 1)
    script.write_text("def work():\n    return sum(range(1000))\nfor i in range(20000): work()\n")
    tool("run", "-o", tmp_path / "new.lead", "--python", sys.executable, script)
    text = tool("report", "--lines", tmp_path / "new.lead").stdout
    assert "return sum(range(1000))" in text and "changed after" not in text


def test_every_view_and_its_json(draw, tool, script, python, tmp_path):
    tool("run", "--python", python, script, "300", "0", cwd=tmp_path)
    record = tmp_path / "hot.lead"
    tree = tool("report", "--tree", record).stdout
    assert "<module>" in tree and "└ spin" in tree
    assert "called by" in tool("report", "--callers", "spin", record).stdout
    assert "(its own code)" in tool("report", "--callees", "spin", record).stdout
    assert "Lines" in tool("report", "--lines", "--only-mine", record).stdout
    report = json.loads(tool("report", "--json", "--tree", "--threads", "--callers=spin", "--callees=<module>", "--filter=spin", record).stdout)
    assert {f["name"] for f in report["functions"]} == {"spin"}
    assert report["threads"][0]["tid"] == report["threads"][0]["pid"] and report["threads"][0]["samples"] > 0
    top = report["tree"][0]
    assert top["name"] == "<module>" and abs(top["total"] - top["self"] - sum(c["total"] for c in top["children"])) < 1e-9
    spin = report["callers"][0]
    assert spin["callers"][0]["name"] == "<module>" and abs(sum(c["total_share"] for c in spin["callers"]) - 1) < 1e-9
    assert report["callees"][0]["callees"][0]["name"] == "spin"
    assert report["killed"] == [] and report["idle"] == {"threads": 0, "samples_left_out": 0, "value_left_out": 0}
    whole, part = (json.loads(tool("report", "--json", *a, record).stdout)["total"] for a in ([], ["--from=100ms", "--to=200ms"]))
    draw.median("a tenth of a second, s", part, low=0.08, high=0.12)
    draw.median("whole, s", whole, low=0.12)


@pytest.mark.parametrize("args, words", [
    (["--sort=ncalls"], "leadline run --trace does"),
    (["--sort=size"], "--sort expects self, total, calls, name"),
    (["--filter=("], "'(' is not a regular expression"),
    (["--callers=nobody_here"], "no function matches 'nobody_here'"),
    (["--thread=99999999"], "no sampled thread is '99999999'"),
    (["--from=2s", "--to=1s"], "--to must be later than --from"),
    (["--from=soon"], "--from expects a time"),
])
def test_mistakes_of_report_get_one_clear_line(tool, args, words):
    r = tool("report", *args, conftest.ROOT / "tests" / "data" / "orders.lead")
    assert r.returncode == 2 and words in r.stderr and r.stderr.count("\n") <= 2 and not r.stdout


def test_pool_threads_do_not_flood_the_tables(draw, tool, python, tmp_path):
    code = ("import concurrent.futures as f, threading, queue, time\n"
            "q = queue.Queue()\n[threading.Thread(target=q.get, daemon=True).start() for _ in range(20)]\n"
            "def spin(n):\n    for i in range(n): i * i\n"
            "spin(8_000_000)\n")
    record = tmp_path / "p.lead"
    tool("run", "-o", record, python, "-c", code)
    report = json.loads(tool("report", "--json", record).stdout)
    draw.verdict("first function", report["functions"][0]["name"], "spin")
    draw.share("its own time", report["functions"][0]["self"], report["total"], low=0.7)
    n = report["idle"]["threads"]
    assert n >= 20
    assert f"{n} idle threads" in tool("report", "--threads", record).stdout
    everything = json.loads(tool("report", "--json", "--idle", record).stdout)
    draw.share("without idle threads", report["total"], everything["total"], high=0.2)


@pytest.mark.kills
def test_a_killed_program_shows_its_last_stacks(draw, tool, python, tmp_path):
    code = ("import os, signal\ndef last():\n    for i in range(3_000_000): i * i\n    os.kill(os.getpid(), signal.SIGSEGV)\nlast()\n")
    r = tool("run", "-o", tmp_path / "k.lead", python, "-c", code)
    assert r.returncode == 128 + 11
    assert "was killed by signal 11" in r.stderr and "    last  <string>:" in r.stderr
    killed = json.loads(tool("report", "--json", tmp_path / "k.lead").stdout)["killed"]
    assert killed[0]["signal"] == 11 and killed[0]["threads"][0]["frames"][0]["name"] == "last"
    draw.median("age, s", killed[0]["threads"][0]["age_s"], high=0.2)


@pytest.mark.parametrize("label", ["3.8", "3.9", "3.10", "3.12"])
def test_threads_that_fight_for_the_gil(draw, tool, label, tmp_path):
    python = require(label).exe
    code = ("import threading\ndef work():\n    for i in range(12_000_000): pass\n"
            "ts = [threading.Thread(target=work) for _ in range(2)]\n[t.start() for t in ts]\n[t.join() for t in ts]\n")
    record = tmp_path / "g.lead"
    r = tool("run", "-o", record, python, "-c", code)
    assert r.returncode == 0
    report = json.loads(tool("report", "--json", record).stdout)
    work = next(f for f in report["functions"] if f["name"] == "work")
    gil = json.loads(tool("report", "--json", "--state=gil", record).stdout)
    held = next(f for f in gil["functions"] if f["name"] == "work")
    # Two threads are in work() all the time; one of them holds the GIL.
    draw.share("holds the GIL", held["self_samples"], work["self_samples"], low=0.25, high=0.75)


@pytest.mark.parametrize("label", ["3.8", "3.9", "3.10", "3.12"])
@pytest.mark.parametrize("namespace", [False, True])
def test_threads_have_the_ids_the_system_gave_them(tool, label, namespace, tmp_path):
    """Before 3.11 only libc knows them; in a pid namespace they are others than ours."""
    if namespace and os.geteuid() != 0:
        pytest.skip("making a pid namespace needs root")
    code = ("import os, threading, time\n"
            "def work():\n    os.write(1, b'%d\\n' % threading.get_native_id()); time.sleep(1)\n"
            "ts = [threading.Thread(target=work) for _ in range(3)]\n[t.start() for t in ts]\nwork()\n[t.join() for t in ts]\n")
    prefix = ["unshare", "--pid", "--fork"] if namespace else []
    record = tmp_path / "t.lead"
    r = tool("run", "-o", record, *prefix, require(label).exe, "-c", code)
    tids = {str(t["tid"]) for t in json.loads(tool("report", "--threads", "--json", record).stdout)["threads"]}
    assert len(tids) == 4
    if namespace:  # 1 … n in there, no thread of ours
        assert set(r.stdout.split()).isdisjoint(tids) and min(map(int, tids)) > 4
    else:
        assert tids == set(r.stdout.split())


@pytest.mark.parametrize("label", ["3.8", "3.9", "3.10", "3.12"])
def test_forked_children_are_sampled(tool, label, tmp_path):
    code = ("import os\ndef parent():\n    os.wait()\n    for i in range(3_000_000): pass\n"
            "def child():\n    for i in range(6_000_000): pass\n    os._exit(0)\n"
            "child() if os.fork() == 0 else parent()\n")
    record = tmp_path / "f.lead"
    assert tool("run", "-o", record, require(label).exe, "-c", code).returncode == 0
    report = json.loads(tool("report", "--json", record).stdout)
    names = {f["name"] for f in report["functions"]}
    assert {"child", "parent"} <= names
    assert report["fidelity"]["lost"] <= 12  # while they begin and end


@pytest.mark.parametrize("args, status, words", [
    (["run"], 125, "which program?"),
    (["run", "--rate=0", "true"], 125, "--rate expects"),
    (["run", "--rate=fast", "true"], 125, "--rate expects"),
    (["run", "no-such-program-here"], 127, "command not found"),
    (["run", "missing.py"], 127, "missing.py: no such file"),
    (["run", "--trace", "folder/missing.py", "x"], 127, "folder/missing.py: no such file"),
    (["run", "-o", "x.html", "true"], 125, "leadline cannot write this format yet"),
    (["run", "-f", "nosuch", "true"], 125, "unknown format 'nosuch'"),
    (["export", "x.lead"], 2, "which format?"),
    (["export", "x.lead", "--format", "nosuch"], 2, "unknown format 'nosuch'"),
    (["export", "x.lead", "--format", "collapsed"], 5, "x.lead"),
])
def test_mistakes_get_one_clear_line(tool, args, status, words, tmp_path):
    r = tool(*args, cwd=tmp_path)
    assert r.returncode == status and words in r.stderr, r.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_not_python_still_gets_host_figures(tool, tmp_path):
    r = tool("run", "-o", tmp_path / "x.lead", tool.storm, "busy", "0.3")
    assert r.returncode == 0 and "CPU-bound" in r.stderr
    assert "No Python stacks were seen: " in r.stderr and f"it is not Python: it runs {tool.storm}" in r.stderr


def test_killing_leadline_leaves_the_program_running_and_the_recording_readable(tool, python, tmp_path):
    record = tmp_path / "k.lead"
    p = subprocess.Popen([tool.binary, "run", "-o", record, python, str(BIAS), "8"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wait_for_bytes(record, 5000)
    p.kill()
    p.wait()
    r = tool("report", record)
    assert r.returncode == 0 and "the recorder did not finish" in r.stderr and "fib" in r.stdout
    assert json.loads(p.stdout.read())["kind"] == "plain"  # the program went on to its end


INTERRUPTED = """
import signal, sys, time
def before():
    while True: sum(range(1000))
def afterwards(seconds):
    end = time.time() + seconds
    while time.time() < end: sum(range(1000))
try:
    print('ready', flush=True)
    before()
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print('interrupted', flush=True)
    afterwards(1.5)
    print('cleaned up', flush=True)
    sys.exit(7)
"""


def test_ctrl_c_ends_the_recording_and_the_program_ends_as_it_would(tool, python, tmp_path):
    record, script = tmp_path / "c.lead", tmp_path / "c.py"
    script.write_text(INTERRUPTED)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(tool.binary, [tool.binary, "run", "-o", str(record), "--python", python, str(script)])
    wait_for_bytes(record, 5000)
    os.write(terminal, b"\x03")
    text = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while chunk := os.read(terminal, 65536):
            text += chunk
            if b"interrupted\r\n" in chunk:
                os.write(terminal, b"\x03")  # again, while the program takes its time
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    text = text.decode()
    assert "cleaned up" in text and "then it was interrupted" in text, text
    functions = {f["name"] for f in json.loads(tool("report", "--json", record).stdout)["functions"]}
    assert "before" in functions and "afterwards" not in functions


def test_sigusr1_writes_what_was_recorded_and_reaches_only_who_expects_it(tool, python, tmp_path):
    code = ("import signal, sys, time\ngot = []\n"
            "if sys.argv[1] == 'handler': signal.signal(signal.SIGUSR1, lambda *_: got.append(1))\n"
            "print('ready', flush=True)\nend = time.time() + 2.5\n"
            "while time.time() < end: sum(range(1000))\nprint(len(got))\n")
    for kind, expected in (("none", "0\n"), ("handler", "1\n")):
        record = tmp_path / f"{kind}.lead"
        p = subprocess.Popen([tool.binary, "run", "-o", record, python, "-c", code, kind], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        assert p.stdout.readline() == "ready\n"
        wait_for_bytes(record, 3000)
        before = record.stat().st_size
        p.send_signal(signal.SIGUSR1)
        wait_for_bytes(record, before + 1)
        assert tool("report", record).returncode == 0
        assert p.wait(timeout=30) == 0 and p.stdout.read() == expected


def test_sigterm_is_passed_on(tool, python, tmp_path):
    p = subprocess.Popen([tool.binary, "run", "-o", tmp_path / "t.lead", python, "-c", "print('ready', flush=True)\nwhile True: pass"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ready\n"
    wait_for_bytes(tmp_path / "t.lead", 3000)
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=30) == 128 + signal.SIGTERM
    assert "killed by signal 15 (SIGTERM)" in p.stderr.read()


def test_a_duration_ends_the_recording_not_the_program(tool, script, python, tmp_path):
    code = ("import time\ndef first():\n    t = time.time() + 0.6\n    while time.time() < t: sum(range(1000))\n"
            "def later():\n    t = time.time() + 0.8\n    while time.time() < t: sum(range(1000))\nfirst()\ntime.sleep(0.5)\nlater()\nprint('end')\n")
    r = tool("run", "-d", "0.8", "-o", tmp_path / "d.lead", python, "-c", code)
    assert r.returncode == 0 and r.stdout == "end\n" and "Recorded the first" in r.stderr
    functions = {f["name"] for f in json.loads(tool("report", "--json", tmp_path / "d.lead").stdout)["functions"]}
    assert "first" in functions and "later" not in functions


def test_a_full_disk_lets_the_program_run_on(tool, python, tmp_path):
    # It runs until nothing has been written for three seconds; while all is well that is once a second.
    code = ("import os, sys, time\ndef spin(n):\n    for i in range(n): i * i\nsize, since = 0, time.time()\n"
            "while size == 0 or time.time() < since + 3:\n    spin(2_000_000)\n    now = os.path.getsize(sys.argv[1])\n"
            "    if now != size: size, since = now, time.time()\nprint('end')\n")
    r = subprocess.run(["sh", "-c", 'ulimit -f 256; exec "$@"', "-", tool.binary, "run", "--rate", "10k", "-o", tmp_path / "f.lead",
                        python, "-c", code, tmp_path / "f.lead"], capture_output=True, text=True, timeout=50)
    assert r.returncode == 0 and r.stdout == "end\n"
    assert "writing the recording" in r.stderr and "spin" in r.stderr, r.stderr
    assert (tmp_path / "f.lead").stat().st_size <= 256 * 1024
    assert tool("report", tmp_path / "f.lead").returncode == 0


def test_a_disk_that_is_full_from_the_beginning(tool, python, tmp_path):
    """What is not known is said so; no verdict, no nan."""
    for blocks, words in (("1", "nothing of the run was recorded"), ("3", "What it is bound by is unknown")):
        record = tmp_path / f"{blocks}.lead"
        r = subprocess.run(["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "-", tool.binary, "run", "-o", record, python, "-c",
                            "import time; time.sleep(0.1); print('end')"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50)
        assert r.returncode == 0 and r.stdout == "end\n"
        assert "writing the recording" in r.stderr and words in r.stderr and "nan" not in r.stderr, r.stderr
    result = json.loads(tool("report", "--json", record).stdout)
    assert result["bound"]["verdict"] is None and result["parallelism"] is None


def test_names_of_recordings(tool, tmp_path):
    env = {k: v for k, v in os.environ.items() if "RANK" not in k and k != "SLURM_PROCID"}
    for rank, args, expected in (({}, [], "true.lead"), ({"RANK": "3"}, [], "true.rank3.lead"),
                                 ({"SLURM_PROCID": "5"}, [], "true.rank5.lead"), ({"PMI_RANK": "x"}, [], "true.2.lead"),
                                 ({"OMPI_COMM_WORLD_RANK": "7"}, ["-o", "a.%r.lead"], "a.7.lead"),
                                 ({}, ["-o", "%h.%%.lead"], f"{os.uname().nodename}.%.lead"),
                                 ({}, ["-o", "b.%r.lead"], "b.0.lead")):
        assert tool("run", *args, "true", cwd=tmp_path, env={**env, **rank}).returncode == 0
        assert (tmp_path / expected).exists(), expected
    p = subprocess.Popen([tool.binary, "run", "-o", "%p.lead", "true"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert p.wait() == 0 and (tmp_path / f"{p.pid}.lead").exists()


def test_processes_are_named_by_rank(tool, python, tmp_path):
    script = tmp_path / "ranks.py"
    script.write_text("import os, subprocess, sys\n"
                      "ps = [subprocess.Popen([sys.executable, '-c', 'sum(range(3_000_000))'], env={**os.environ, 'RANK': str(i)}) for i in range(2)]\n"
                      "sys.exit(max(p.wait() for p in ps))\n")
    r = tool("run", "-o", tmp_path / "r.lead", "--python", python, script, env={k: v for k, v in os.environ.items() if "RANK" not in k})
    assert r.returncode == 0, r.stderr
    processes = json.loads(tool("report", "--json", tmp_path / "r.lead").stdout)["process_list"]
    assert sorted(p["rank"] for p in processes if p["rank"] is not None) == [0, 1]
    assert "rank 1: " in tool("report", "--processes", tmp_path / "r.lead").stdout


def test_a_process_that_becomes_python_late_is_found_without_being_told(tool, python, tmp_path):
    r = tool("run", "-o", tmp_path / "l.lead", "sh", "-c", f"sleep 1; exec {python} {BIAS} 2")
    assert r.returncode == 0 and "fib" in r.stderr, r.stderr


def test_recordings_of_one_name_at_the_same_time(tool, tmp_path):
    ps = [subprocess.Popen([tool.binary, "run", "true"], cwd=tmp_path, stderr=subprocess.DEVNULL) for _ in range(8)]
    assert [p.wait() for p in ps] == [0] * 8
    assert {f.name for f in tmp_path.iterdir()} == {"true.lead", *(f"true.{i}.lead" for i in range(2, 9))}
    assert all(tool("report", f).returncode == 0 for f in tmp_path.iterdir())


def test_as_an_ordinary_user(tool, tmp_path):
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    folder = tmp_path / "u"
    folder.mkdir()
    for f in [folder, *folder.parents]:
        if str(f).startswith("/tmp/"):
            f.chmod(0o777 if f == folder else 0o755)  # what others could write to is trusted by nobody
    copy, script = folder / "leadline", folder / "bias.py"
    copy.write_bytes(open(tool.binary, "rb").read())
    copy.chmod(0o755)
    script.write_text(BIAS.read_text())
    r = subprocess.run([*prefix, copy, "run", "--json=r.json", require("3.13").exe, "bias.py", "2"], cwd=folder, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    report = json.loads((folder / "r.json").read_text())
    assert report["fidelity"]["samples"] > 500  # of 2 000
    assert any(f["name"] == "fib" for f in report["functions"])


def test_children_are_recorded_into_the_same_file(tool, python, tmp_path):
    code = ("import multiprocessing as m\ndef child(n):\n    t = 0\n    for i in range(n): t += i\n    return t\n"
            "if __name__ == '__main__':\n    ps = [m.Process(target=child, args=(8_000_000,)) for _ in range(2)]\n"
            "    [p.start() for p in ps]; [p.join() for p in ps]\n")
    script = tmp_path / "mp.py"
    script.write_text(code)
    record = tmp_path / "m.lead"
    r = tool("run", "-o", record, "--python", python, script)
    assert r.returncode == 0, r.stderr
    report = json.loads(tool("report", "--json", record).stdout)
    child = next(f for f in report["functions"] if f["name"] == "child")
    assert child["self_samples"] > 100  # of 600
    assert "child" in tool("export", record, "--format", "collapsed").stdout


@pytest.mark.parametrize("label", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.15"])
def test_samples_know_their_asyncio_task(draw, tool, label, tmp_path):
    """Two tasks take turns of 5 ms and 15 ms on one loop; the truth is what they measure themselves."""
    code = ("import asyncio, time, json\nspent = {'short': 0.0, 'long': 0.0}\n"
            "def spin(until):\n    while time.perf_counter() < until: pass\n"
            "async def turns(name, s):\n    for _ in range(60):\n        t = time.perf_counter()\n        spin(t + s)\n"
            "        spent[name] += time.perf_counter() - t\n        await asyncio.sleep(0)\n"
            "async def main():\n    a = asyncio.ensure_future(turns('short', 0.005)); a.set_name('short')\n"
            "    b = asyncio.ensure_future(turns('long', 0.015)); b.set_name('long')\n    await asyncio.gather(a, b)\n"
            "asyncio.run(main())\nprint(json.dumps(spent))\n")
    record = tmp_path / "t.lead"
    r = tool("run", "-o", record, *require(label).command("-c", code))
    truth = json.loads(r.stdout)
    tasks = {t["name"]: t for t in json.loads(tool("report", "--tasks", "--json", record).stdout)["tasks"]}
    for name in truth:
        draw.share(f"{name}, told of true", tasks[name]["total_s"], truth[name], low=0.8, high=1.2)
        assert tasks[name]["mostly_in"] == "spin"
    assert "short" in tool("report", "--tasks", record).stdout
