"""Finding the interpreter of a process and reading its stacks, on every interpreter and on processes that are none.

targets/layout_dump.c does what `attach` does first: it opens a process, proves the layout of its memory, and prints the
stack of each thread.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interpreters import EXPECTED, require

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
LEADLINE_ASAN = Path(os.environ.get("LEADLINE_ASAN") or ROOT / "build-asan" / "leadline")
FAKE = LEADLINE.parent / "tests" / "fake_python"
STARTING = 75
SECONDS = 60
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# Valid from 3.8 on. No file: the interpreter may be in a root of its own.
PROGRAM = r'''
import sys, threading, time

SOURCE = """
import threading, time

class Outer:
    class Inner:
        def method(self):
            return (lambda: self.wait())()

        def wait(self):
            ready.set()
            time.sleep(1000)

def generate(n):
    yield from generate(n - 1) if n else wait_forever()

def wait_forever():
    ready.set()
    time.sleep(1000)
    yield

def 函数_名():
    ready.set()
    time.sleep(1000)
"""
space = {"ready": threading.Event()}
exec(compile(SOURCE, "/made/up/größe €.py", "exec"), space)
for target in (space["Outer"].Inner().method, lambda: list(space["generate"](2)), space["函数_名"]):
    space["ready"].clear()
    threading.Thread(target=target, daemon=True).start()
    space["ready"].wait()
time.sleep(0.1)

def main():
    print("ready", flush=True)
    sys.stdin.read()

main()
'''

BUSY = r'''
import sys, threading

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def count(n):
    yield fib(3)
    if n:
        yield from count(n - 1)

def start_and_join():
    while True:
        thread = threading.Thread(target=fib, args=(5,))
        thread.start()
        thread.join()

threading.Thread(target=start_and_join, daemon=True).start()
print("ready", flush=True)
while True:
    fib(8)
    sum(count(5))
    exec(compile("def f(x): return x\nfor i in range(9): f(i)", "<made>", "exec"), {})
'''


def dump_program(binary=LEADLINE):
    return str(binary.parent / "tests" / "layout_dump")


def dump(pid, *options, prefix=(), program=None):
    return subprocess.run(
        [*prefix, program or dump_program(), str(pid), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        timeout=SECONDS,
    )


def dump_later(pid, **kwargs):
    """When the process, started a moment ago, is no longer starting."""
    done = dump(pid, **kwargs)
    while done.returncode == STARTING:
        done = dump(pid, **kwargs)
    return done


@contextlib.contextmanager
def running(*command, wait=True, **kwargs):
    """A process that has said "ready", killed at the end."""
    kwargs.setdefault("stdin", subprocess.PIPE)
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, **kwargs) as process:
        try:
            if wait:
                assert process.stdout.readline().strip() == b"ready"
            yield process
        finally:
            process.kill()


def utf8():
    return {**os.environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}


def stacks(text):
    """One list of "file:name" per thread, the frame that runs first; threading's own frames left out."""
    lines = re.findall(r"^thread \d+ (.*)$", text, re.MULTILINE)
    return [[f for f in line.split(" < ") if "/threading.py:" not in f] for line in lines]


@pytest.mark.parametrize("label", EXPECTED)
def test_names(label):
    python = require(label)
    with running(*python.command("-c", PROGRAM), env=utf8()) as process:
        done = dump(process.pid)
    assert done.stderr == ""
    assert f"version {python.version}{' free-threaded' if python.free_threaded else ''}\n" in done.stdout
    assert re.search(r"^proof 1 interpreters, 4 threads, 4 stacks, \d+ frames, \d+ codes, 0 torn$", done.stdout, re.M)
    where = "/made/up/größe €.py"
    names = {
        "method": ["Outer.Inner.wait", "Outer.Inner.method.<locals>.<lambda>", "Outer.Inner.method"],
        "generate": ["wait_forever", "generate", "generate", "generate"],
        "name": ["函数_名"],
    }
    if tuple(map(int, python.version.split(".")[:2])) < (3, 11):  # co_qualname is new in 3.11
        names = {key: [name.rsplit(".", 1)[-1] for name in value] for key, value in names.items()}
    generators = [f"{where}:{name}" for name in names["generate"]] + ["<string>:<lambda>"]
    assert sorted(stacks(done.stdout)) == sorted(
        [
            [f"{where}:{name}" for name in names["method"]],
            generators,
            [f"{where}:{name}" for name in names["name"]],
            ["<string>:main", "<string>:<module>"],
        ]
    )


@pytest.mark.parametrize("label", [label for label in EXPECTED if label not in ("3.8", "3.9", "3.10")])
def test_threads_have_their_native_ids(label):
    """They are in the thread state from 3.11 on."""
    python = require(label)
    with running(*python.command("-c", PROGRAM), env=utf8()) as process:
        done = dump(process.pid)
        tasks = os.listdir(f"/proc/{process.pid}/task")
    assert sorted(re.findall(r"^thread (\d+)", done.stdout, re.M)) == sorted(tasks)


@pytest.mark.parametrize("label", EXPECTED)
def test_a_moving_program_is_never_refused(label):
    python = require(label)
    with running(*python.command("-c", BUSY)) as process:
        for _ in range(100):
            done = dump(process.pid)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("label", EXPECTED)
def test_from_the_first_moment_on(label):
    """Starting up is told apart from everything else, until it is done."""
    python = require(label)
    said = []
    with running(*python.command("-c", "import sys; sys.stdin.read()"), wait=False) as process:
        end = time.monotonic() + SECONDS
        while not said or said[-1][0] != 0:
            done = dump(process.pid)
            said.append((done.returncode, done.stderr))
            assert time.monotonic() < end, said[-1]
    assert {status for status, text in said if "chroot" not in text} <= {0, STARTING}, said


@pytest.mark.parametrize("label", EXPECTED)
def test_what_the_interpreter_says_is_what_the_table_says(label):
    """3.13 and later publish offsets; the table made from the same build's headers must agree."""
    python = require(label)
    with running(*python.command("-c", PROGRAM), env=utf8()) as process:
        done = dump(process.pid, "--fields")
    found = dict(re.findall(r"^field (\S+) = (\d+)$", done.stdout, re.M))
    text = (ROOT / "src/cpython/versions.c").read_text().split("offsets[LAYOUT_FIELDS]")[1].split("published[")[0]
    column = text.split("*/")[0].split("/*")[1].split().index(label)
    for struct, field, row in re.findall(r"\[FIELD_([a-z]+)_(\w+)\] = \{(.*)\}", text):
        value = row.split(",")[column].strip()
        said = found.pop(f"{struct}.{field}", "NONE")
        # Their tails depend on options of the build that its headers do not tell.
        assert said == value or (struct, field) in (("runtime", "sizeof"), ("interp", "sizeof")), (struct, field)
    assert not found


def test_the_table_is_what_the_headers_say():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/gen_layout.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


# ---- what is no Python ----------------------------------------------------------------------------------------------


def test_no_process():
    done = dump(2**30)
    assert (done.returncode, done.stderr) == (5, f"layout_dump: there is no process {2**30}\n")
    with subprocess.Popen(["true"]) as process:
        while Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z":
            time.sleep(0.01)
        done = dump(process.pid)
    assert done.returncode == 5 and "has ended and waits for its parent" in done.stderr


def test_another_program():
    with running("sleep", "1000", wait=False) as process:
        done = dump_later(process.pid)
    assert done.returncode == 6
    assert re.search(r"process \d+: it is not Python: it runs /\S*(sleep|coreutils|busybox)$", done.stderr.strip())


def test_pypy(tmp_path):
    pypy = shutil.copy(shutil.which("sleep"), tmp_path / "pypy3.10")
    with running(pypy, "1000", wait=False) as process:
        done = dump_later(process.pid)
    assert done.returncode == 6 and f"it is PyPy ({pypy}), not CPython" in done.stderr


def test_a_32_bit_program(tmp_path):
    source = tmp_path / "pause.s"
    source.write_text(".globl _start\n_start: mov $29, %eax\n int $0x80\n jmp _start\n")
    command = ["gcc", "-m32", "-nostdlib", "-static", "-o", str(tmp_path / "pause"), str(source)]
    made = subprocess.run(command, capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no compiler for 32-bit programs")
    try:
        with running(tmp_path / "pause", wait=False) as process:
            done = dump_later(process.pid)
    except OSError:
        pytest.skip("the kernel runs no 32-bit programs")
    assert done.returncode == 6 and "it is a 32-bit program" in done.stderr


def test_too_old_a_python():
    old = sorted(Path.home().glob(".pyenv/versions/3.7.*/bin/python3.7"))
    if not old:
        pytest.skip("no Python 3.7 from pyenv")
    with running(old[-1], "-c", "print('ready', flush=True); input()") as process:
        done = dump(process.pid)
    assert done.returncode == 6
    assert re.search(r"CPython 3\.7\.\d+ is not one of 3\.8 to 3\.15", done.stderr)


# ---- permission -----------------------------------------------------------------------------------------------------


@pytest.fixture
def public(tmp_path_factory):
    """A copy of layout_dump that any user can run; only root can become another one."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path("/tmp") / f"leadline-layout-{os.getpid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    yield shutil.copy(dump_program(), folder / "layout_dump")
    shutil.rmtree(folder)


def test_anothers_process(public):
    with running("sleep", "1000", wait=False) as process:
        done = dump_later(process.pid, prefix=NOBODY, program=public)
    assert done.returncode == 4
    assert "it belongs to uid 0, leadline runs as uid 65534, and CAP_SYS_PTRACE is missing" in done.stderr


def test_ones_own_process(public):
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() != "0":
        pytest.skip("Yama allows it to parents only")
    python = require("3.12")
    with running(*NOBODY, python.exe, "-c", PROGRAM, env=utf8()) as process:
        done = dump(process.pid, prefix=NOBODY, program=public)
    assert (done.returncode, done.stderr) == (0, "")
    hidden = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nprint('ready', flush=True)\ninput()"
    with running(*NOBODY, python.exe, "-c", hidden) as process:
        done = dump(process.pid, prefix=NOBODY, program=public)
    assert done.returncode == 4 and "its program may not be dumped" in done.stderr


def test_a_deleted_interpreter(public):
    """The executable can be reached through /proc whoever looks, a library only by root."""
    folder = Path(public).parent
    python = require("3.13t")
    home = {**utf8(), "PYTHONHOME": str(Path(python.exe).parents[1])}
    copy = shutil.copy(Path(python.exe).resolve(), folder / "python3.13t")
    with running(*NOBODY, copy, "-c", PROGRAM, env=home) as process:
        os.unlink(copy)
        assert dump(process.pid).returncode == 0
        done = dump(process.pid, prefix=NOBODY, program=public)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_replaced_library(public):
    """A file that took the name of a mapped one is not believed."""
    folder, python = Path(public).parent, require("3.12")
    prefix = Path(python.exe).resolve().parents[1]
    libraries = sorted(prefix.glob("lib/libpython3.12.so*"))
    if not libraries:
        pytest.skip("this Python 3.12 has no libpython")
    for part in ("bin", "lib"):
        (folder / part).mkdir()
    copy = shutil.copy(Path(python.exe).resolve(), folder / "bin" / "python3.12")
    library = shutil.copy(libraries[-1], folder / "lib" / libraries[-1].name)
    with running(*NOBODY, copy, "-c", PROGRAM, env={**utf8(), "PYTHONHOME": str(prefix)}) as process:
        os.unlink(library)
        assert dump(process.pid).returncode == 0
        done = dump(process.pid, prefix=NOBODY, program=public)
        assert done.returncode == 6 and f"{library} was deleted, and only root can still open it" in done.stderr
        shutil.copy(shutil.which("sleep"), library)
        done = dump(process.pid, prefix=NOBODY, program=public)
        assert done.returncode == 6 and "no Python was found" in done.stderr


# ---- hostile memory -------------------------------------------------------------------------------------------------


def asan_or_plain():
    return dump_program(LEADLINE_ASAN) if Path(dump_program(LEADLINE_ASAN)).exists() else dump_program()


@pytest.mark.parametrize("mode", ["random", "pointers"])
def test_random_memory_is_refused(mode):
    for seed in range(10):
        with running(FAKE, mode, seed) as process:
            done = dump(process.pid, program=asan_or_plain())
        # Without a version it knows nothing to look for, and says that it may come.
        assert done.returncode in (6, STARTING), done
        assert "Sanitizer" not in done.stderr and done.stdout == ""


@pytest.mark.parametrize("version", ["030d00f0", "030e05f0", "030f02f0", "031000f0", "030f00b4", "ffffffffffffffff"])
def test_made_up_offsets_are_refused(version):
    for seed in range(10):
        with running(FAKE, "cookie", version, seed) as process:
            done = dump(process.pid, program=asan_or_plain())
        assert done.returncode == 6 and "Sanitizer" not in done.stderr, done


@pytest.mark.parametrize(
    "version, status, says",
    [
        ("030b07f0", STARTING, "it has no interpreter yet"),
        ("030d00f0", 6, "says its offsets itself"),
        ("031000f0", 6, "CPython 3.16.0 is not one of 3.8 to 3.15"),
        ("030c00b2", 6, "CPython 3.12.0b2 is a pre-release"),
    ],
)
def test_versions_without_offsets(version, status, says):
    with running(FAKE, "zero", version) as process:
        done = dump(process.pid)
    assert done.returncode == status and says in done.stderr
