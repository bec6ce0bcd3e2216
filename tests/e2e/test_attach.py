"""`leadline attach`: recording programs that run already, and everything that is not one."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import conftest
import pytest
from conftest import running, wait_for_bytes, wait_until
from interpreters import EXPECTED, inside, require

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

SPIN = ("import sys, time\ndef spin(n):\n    for i in range(n): i * i\n"
        "print('ready', flush=True)\nend = time.time() + float(sys.argv[1])\n"
        "while time.time() < end: spin(20000)\n")


@pytest.fixture
def python():
    return require("3.12").exe


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "spin_around.py"
    path.write_text(SPIN)
    return path


def report(tool, record):
    return json.loads(tool("report", "--json", record).stdout)


def names(result):
    return {f["name"] for f in result.get("functions", [])}


# ---- what it records ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EXPECTED)
def test_a_running_program_is_recorded_and_goes_on(tool, label, script, tmp_path):
    with inside(label, script) as path, running(*require(label).command(path, 30)) as p:
        r = tool("attach", "-d", "0.5", p.pid, cwd=tmp_path)
        assert r.returncode == 0, r.stderr
        assert p.poll() is None
    for words in ("still running", "Functions", "spin", "spin_around.py:3", "Recording: spin_around.lead"):
        assert words in r.stderr, r.stderr
    result = report(tool, tmp_path / "spin_around.lead")
    assert "spin" in names(result)
    assert result["wall_s"] > 0.4
    assert result["fidelity"]["samples"] > 50  # of 500
    assert result["exit_status"] is None


FAMILY = """
import os, signal, sys, time
def burn(seconds):
    began = time.process_time()
    while time.process_time() - began < seconds: pass
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
r, w = os.pipe()
old = os.fork()
if old == 0:
    burn(1)
    os.write(w, b"x")
    signal.sigwait([signal.SIGUSR1])
    os._exit(0)
os.read(r, 1)
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
os.kill(old, signal.SIGUSR1)
os.waitpid(old, 0)
for _ in range(40):
    if os.fork() == 0:
        burn(0.01)
        os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize("how, low, high", [([], 0.32, 0.8), (["--single"], 0, 0.2)], ids=["all", "single"])
def test_children_that_were_waited_for_count_from_the_beginning_of_the_recording(draw, tool, python, tmp_path, how, low, high):
    """A child that took a second before, and forty short ones of 10 ms."""
    with running(python, "-c", FAMILY) as p:
        attach = subprocess.Popen([tool.binary, "attach", *how, "-o", tmp_path / "x.lead", str(p.pid)], stderr=subprocess.DEVNULL)
        wait_until(lambda: (tmp_path / "x.lead").exists() and (tmp_path / "x.lead").stat().st_size > 1000)
        p.send_signal(signal.SIGUSR1)
        assert attach.wait(timeout=60) == 0
    result = report(tool, tmp_path / "x.lead")
    draw.median("CPU time, s", result["user_s"] + result["system_s"], low=low, high=high)


def test_figures_count_from_the_beginning_of_the_recording(draw, tool, python, script, tmp_path):
    with running(python, "-c", "import time\nt = time.process_time()\nwhile time.process_time() - t < 2: pass\n"
                 "print('ready', flush=True)\ntime.sleep(60)") as p:
        r = tool("attach", "-d", "0.5", f"--json={tmp_path / 'a.json'}", "-o", tmp_path / "a.lead", p.pid)
    assert r.returncode == 0, r.stderr
    result = json.loads((tmp_path / "a.json").read_text())
    assert result["user_s"] + result["system_s"] < 0.3  # of the 2 s it has used
    draw.verdict("bound", result["bound"]["verdict"], "waiting")


def test_it_ends_with_the_program(tool, python, script, tmp_path):
    with running(python, script, 1) as p:
        r = tool("attach", "-o", tmp_path / "a.lead", p.pid)
        assert r.returncode == 0, r.stderr
    assert "spin" in names(report(tool, tmp_path / "a.lead"))
    assert ("exit status 0" if os.geteuid() == 0 else "ended") in r.stderr


def test_a_program_that_is_killed(tool, python, script, tmp_path):
    with running(python, script, 30) as p:
        q = subprocess.Popen([tool.binary, "attach", "-o", tmp_path / "a.lead", str(p.pid)], stderr=subprocess.PIPE, text=True)
        wait_for_bytes(tmp_path / "a.lead", 3000)
        p.send_signal(signal.SIGKILL)
        assert q.wait(timeout=30) == 0
    text = q.stderr.read()
    assert "spin" in text
    assert os.geteuid() != 0 or "killed by signal 9 (SIGKILL)" in text


FORKER = ("import os, sys, time\ndef child_work(n):\n    for i in range(n): i * i\n"
          "print('ready', flush=True)\nend = time.time() + 30\nwhile time.time() < end:\n"
          "    pid = os.fork()\n    if pid == 0:\n        t = time.time() + 0.15\n        while time.time() < t: child_work(9000)\n"
          "        os._exit(0)\n    os.waitpid(pid, 0)\n")


def test_children_are_recorded_or_left_out(tool, python, tmp_path):
    with running(python, "-c", FORKER) as p:
        assert tool("attach", "-d", "1.5", "-o", tmp_path / "t.lead", p.pid).returncode == 0
        assert tool("attach", "-d", "0.7", "--single", "-o", tmp_path / "s.lead", p.pid).returncode == 0
        assert tool("attach", "-d", "0.7", "--subprocesses", "-o", tmp_path / "p.lead", p.pid).returncode == 0
    tree, single = report(tool, tmp_path / "t.lead"), report(tool, tmp_path / "s.lead")
    assert "child_work" in names(tree) and tree["processes"] >= 3
    assert "child_work" not in names(single) and single["processes"] == 1
    assert "child_work" in names(report(tool, tmp_path / "p.lead"))


def test_a_shell_that_runs_python(tool, python, script, tmp_path):
    with running("sh", "-c", f"{python} {script} 30; true") as p:
        assert tool("attach", "-d", "0.5", "-o", tmp_path / "a.lead", p.pid).returncode == 0
        r = tool("attach", "-d", "0.5", "--single", p.pid)
        assert r.returncode == 6 and "it is not Python: it runs /" in r.stderr
        for child in open(f"/proc/{p.pid}/task/{p.pid}/children").read().split():
            os.kill(int(child), signal.SIGKILL)
    assert "spin" in names(report(tool, tmp_path / "a.lead"))


# ---- whom it means --------------------------------------------------------------------------------------------


def test_names(tool, python, tmp_path):
    script = tmp_path / "quite_a_name.py"
    script.write_text(SPIN)
    with running(python, script, 30):
        assert tool("attach", "-d", "0.2", "quite_a_name.py", "-o", tmp_path / "1.lead").returncode == 0
        assert tool("attach", "-d", "0.2", "quite_a_name", "-o", tmp_path / "2.lead").returncode == 0
        with running(python, script, 30) as other:
            r = tool("attach", "-d", "0.2", "quite_a_name.py", cwd=tmp_path)
            assert r.returncode == 2 and "2 processes are called quite_a_name.py" in r.stderr
            assert str(other.pid) in r.stderr
            assert tool("attach", "-d", "0.2", "--pid", other.pid, "-o", tmp_path / "3.lead").returncode == 0
    r = tool("attach", "quite_a_name.py")
    assert r.returncode == 5 and "there is no process called 'quite_a_name.py'" in r.stderr


def test_the_parent_of_all_that_have_the_name(tool, python, tmp_path):
    script = tmp_path / "many_of_a_name.py"
    script.write_text(FORKER)
    with running(python, script):
        assert tool("attach", "-d", "0.5", "many_of_a_name", "-o", tmp_path / "1.lead").returncode == 0


@pytest.mark.parametrize("args, status, words", [
    ([], 2, "which process?"),
    (["1", "2"], 2, "one process at a time"),
    (["0"], 5, "there is no process 0"),
    (["999999999"], 5, "there is no process 999999999"),
    (["99999999999999999999"], 5, "there is no process"),
    (["--rate=0", "1"], 2, "--rate expects"),
    (["--single", "--tree", "1"], 2, "cannot be combined"),
    (["--duration", "soon", "1"], 2, "--duration expects"),
])
def test_mistakes_get_one_clear_line(tool, args, status, words, tmp_path):
    r = tool("attach", *args, cwd=tmp_path)
    assert r.returncode == status and words in r.stderr, r.stderr
    assert not list(tmp_path.glob("*.lead"))


TWO_THREADS = '''
import threading, time
def spin():
    while True:
        sum(range(1000))
def doze():
    print("ready", flush=True)
    while True:
        time.sleep(0.01)
threading.Thread(target=spin, daemon=True).start()
doze()
'''


def shares_of(path):
    told = json.loads(path.read_text())
    return {f["name"]: f["self"] / told["total"] for f in told["functions"]}


def test_record_takes_a_pid_as_py_spy_does(tool, python, tmp_path):
    with running(python, "-c", TWO_THREADS) as p:
        r = tool("record", "-o", tmp_path / "p.lead", "--pid", p.pid, "-d", "0.5", "--nonblocking")
        assert r.returncode == 0 and "spin" in r.stderr
        assert p.poll() is None


@pytest.mark.parametrize("how", [["record", "--pid"], ["attach", "--pid"]], ids=["record", "attach"])
def test_gil_counts_only_samples_that_hold_it(tool, python, tmp_path, how):
    with running(python, "-c", TWO_THREADS) as p:
        out = tmp_path / "g.json"
        assert tool(*how, p.pid, "-d", "0.7", "--gil", "-o", tmp_path / "g.lead", f"--json={out}").returncode == 0
    assert shares_of(out)["spin"] > 0.9, shares_of(out)


def test_gil_and_idle_apply_to_programs_that_are_run(tool, python, tmp_path):
    script = tmp_path / "both.py"
    script.write_text(TWO_THREADS.replace("while True:\n        time.sleep(0.01)", "time.sleep(0.7)"))
    shares = {}
    for option in ("--gil", "--idle"):
        out = tmp_path / f"{option}.json"
        tool("run", option, "--python", python, "-o", tmp_path / f"{option}.lead", f"--json={out}", script)
        shares[option] = shares_of(out)
    assert shares["--gil"]["spin"] > 0.9 > shares["--idle"]["spin"], shares
    r = tool("run", "--gil", "--trace", script)
    assert r.returncode == 125 and "--gil counts samples: leave out --trace" in r.stderr


@pytest.mark.parametrize("args, status, words", [
    (["attach", "--native", 1], 1, "--native: C stacks are not recorded yet"),
    (["dump", "--native", 1], 1, "py-spy record --native, or perf record -g"),
    (["top", "--native", 1], 1, "are not recorded yet"),
    (["run", "--native", "x.py"], 125, "are not recorded yet"),
    (["record", "--pid", 1, "--trace"], 2, "attach: unknown option --trace"),
    (["dump", "--gil", 1], 2, "the thread that holds the GIL is marked"),
    (["report", "--gil", "x.lead"], 2, "use --state gil"),
    (["export", "--gil", "x.lead"], 2, "use --state gil"),
    (["lines", "--pid", 1], 125, "to record a running one: leadline attach --pid PID"),
    (["time", "--pid", 1], 125, "to record a running one: leadline attach --pid PID"),
    (["attach", "--interval=0.001", 1], 2, "use --rate: 1000 is every ms"),
    (["run", "--function", "x.py"], 125, "leadline report --functions FILE"),
    (["attach", "--nativ3", 1], 2, "unknown option --nativ3"),
])
def test_options_of_other_profilers_are_answered(tool, args, status, words, tmp_path):
    r = tool(*args, cwd=tmp_path)
    assert (r.returncode, r.stdout) == (status, "") and words in r.stderr, r.stderr
    assert not any(tmp_path.glob("*.lead"))


@pytest.mark.parametrize("command", ["run", "attach", "top", "dump", "report", "export", "lines", "time"])
def test_they_are_no_part_of_the_help(tool, command):
    r = tool("help", command).stdout
    assert "--native" not in r and "--nonblocking" not in r and "use --state gil" not in r


def test_formats(tool, python, script, tmp_path):
    with running(python, script, 30) as p:
        for args, words in ((["--format", "nosuch"], "unknown format"),
                            (["-o", "x.html"], "leadline cannot write this format yet")):
            r = tool("attach", *args, p.pid, cwd=tmp_path)
            assert r.returncode == 2 and words in r.stderr
        assert [f.name for f in tmp_path.iterdir()] == [script.name]
        assert tool("attach", "-d", "0.3", "-f", "raw", "-o", "out.txt", p.pid, cwd=tmp_path).returncode == 0
        assert tool("attach", "-d", "0.3", "-o", "b.folded", p.pid, cwd=tmp_path).returncode == 0
        assert tool("attach", "-d", "0.3", "-f", "collapsed", "-o", "c.lead", p.pid, cwd=tmp_path).returncode == 0
        gil = tool("attach", "-d", "0.3", "--gil", "-o", "gil.lead", p.pid, cwd=tmp_path)
        assert gil.returncode == 0 and "spin" in gil.stderr
    for name in ("out", "b", "c"):
        assert (tmp_path / f"{name}.lead").exists()
    for name in ("out.txt", "b.folded", "c.folded"):
        assert "spin (" in (tmp_path / name).read_text()


# ---- signals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_recording_and_the_program_goes_on(tool, python, script, tmp_path, number):
    with running(python, script, 30) as p:
        q = subprocess.Popen([tool.binary, "attach", "-o", tmp_path / "a.lead", str(p.pid)], stderr=subprocess.PIPE, text=True)
        wait_for_bytes(tmp_path / "a.lead", 3000)
        q.send_signal(number)
        assert q.wait(timeout=30) == 0
        assert p.poll() is None
    text = q.stderr.read()
    assert "spin" in text and "Recording:" in text


def test_sigusr1_writes_what_was_recorded(tool, python, script, tmp_path):
    record = tmp_path / "a.lead"
    with running(python, script, 30) as p:
        q = subprocess.Popen([tool.binary, "attach", "-o", record, str(p.pid)], stderr=subprocess.DEVNULL)
        wait_for_bytes(record, 3000)
        before = record.stat().st_size
        q.send_signal(signal.SIGUSR1)
        wait_for_bytes(record, before + 1)
        assert q.poll() is None and "spin" in names(report(tool, record))
        q.send_signal(signal.SIGINT)
        assert q.wait(timeout=30) == 0 and p.poll() is None


def test_what_nohup_ignores_is_ignored(tool, python, script, tmp_path):
    with running(python, script, 30) as p:
        q = subprocess.Popen(["nohup", tool.binary, "attach", "-d", "2.5", "-o", tmp_path / "a.lead", str(p.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_bytes(tmp_path / "a.lead", 3000)
        q.send_signal(signal.SIGHUP)
        assert q.wait(timeout=30) == 0
    assert report(tool, tmp_path / "a.lead")["wall_s"] > 2.4


def test_killing_leadline(tool, python, script, tmp_path):
    record = tmp_path / "a.lead"
    with running(python, script, 30) as p:
        q = subprocess.Popen([tool.binary, "attach", "-o", record, str(p.pid)], stderr=subprocess.DEVNULL)
        wait_for_bytes(record, 3000)
        q.kill()
        q.wait()
        assert p.poll() is None
        assert "spin" in names(report(tool, record))


def test_a_full_disk(tool, python, script, tmp_path):
    with running(python, script, 30) as p:
        r = subprocess.run(["sh", "-c", 'ulimit -f 128; exec "$@"', "-", tool.binary, "attach", "-d", "60", "--rate", "20k",
                            "-o", tmp_path / "a.lead", str(p.pid)], capture_output=True, text=True, timeout=50)
        assert p.poll() is None
    assert r.returncode == 7 and "writing the recording" in r.stderr, r.stderr
    assert "spin" in r.stderr  # what was written before is shown


# ---- who cannot be recorded -----------------------------------------------------------------------------------


def test_what_is_not_python(tool, tmp_path):
    with running("sh", "-c", "echo ready; sleep 30; true") as p:
        r = tool("attach", p.pid, cwd=tmp_path)
        assert r.returncode == 6 and "it is not Python: it runs /" in r.stderr, r.stderr


def test_pypy_is_named(tool, tmp_path):
    fake = tmp_path / "pypy3"
    shutil.copy(shutil.which("sleep"), fake)
    p = subprocess.Popen([fake, "30"])
    r = tool("attach", p.pid, cwd=tmp_path)
    p.kill()
    p.wait()
    assert r.returncode == 6 and "it is PyPy" in r.stderr, r.stderr


def test_threads_zombies_and_kernel_threads(tool, python, tmp_path):
    with running(python, "-c", "import threading, time, os\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
                 "if os.fork() == 0: os._exit(0)\nprint('ready', flush=True)\ntime.sleep(30)") as p:
        thread = next(t for t in os.listdir(f"/proc/{p.pid}/task") if int(t) != p.pid)
        r = tool("attach", thread)
        assert r.returncode == 2 and f"{thread} is a thread; its process is {p.pid}" in r.stderr
        zombie = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()[0]
        wait_until(lambda: ") Z " in open(f"/proc/{zombie}/stat").read(), "the child's end")
        r = tool("attach", zombie)
        assert r.returncode == 5 and "has ended" in r.stderr


@pytest.fixture
def nobody(tool, tmp_path):
    """A user without rights: the words before a command, and a leadline and a folder of theirs."""
    if os.geteuid() != 0:
        pytest.skip("needs root to be somebody else")
    shutil.copy(tool.binary, tmp_path / "leadline")
    for folder in [tmp_path, *tmp_path.parents]:
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o777 if folder == tmp_path else 0o755)  # what others could write to is trusted by nobody
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def test_an_ordinary_user_and_children_that_nobody_tells_of(tool, python, nobody, tmp_path):
    with running(*nobody, python, "-c", FORKER) as p:  # the kernel tells of processes in the first net namespace only
        r = subprocess.run(["unshare", "--net", *nobody, tmp_path / "leadline", "attach", "-d", "1.5", "-o", "a.lead", str(p.pid)], cwd=tmp_path,
                           capture_output=True, text=True)
    if r.returncode:
        assert r.returncode == 4 and "kernel.yama.ptrace_scope" in r.stderr, r.stderr
    else:
        assert "child_work" in names(report(tool, tmp_path / "a.lead")) and "children files" in tool("report", "--host", tmp_path / "a.lead").stdout


def test_no_permission_names_what_is_missing(python, script, nobody, tmp_path):
    copy = tmp_path / "leadline"
    with running(python, script, 30) as p:
        r = subprocess.run([*nobody, copy, "attach", "-d", "0.2", str(p.pid)], cwd=tmp_path, capture_output=True, text=True)
        assert r.returncode == 4 and "it belongs to uid 0, leadline runs as uid 65534" in r.stderr, r.stderr
    code = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('ready', flush=True); import time; time.sleep(30)"
    with running(*nobody, python, "-c", code) as p:
        r = subprocess.run([*nobody, copy, "attach", "-d", "0.2", str(p.pid)], cwd=tmp_path, capture_output=True, text=True)
        assert r.returncode == 4 and "may not be dumped" in r.stderr, r.stderr


@pytest.mark.parametrize("args", [["random", "1"], ["pointers", "2"], ["cookie", "030d00f0", "3"], ["zero", "03100000"]])
def test_what_only_claims_to_be_python(tool, args, tmp_path):
    with running(conftest.pathlib.Path(tool.storm).parent / "fake_python", *args) as p:
        r = tool("attach", "-d", "0.5", "-o", tmp_path / "a.lead", p.pid)
        assert p.poll() is None
    # It may pass for one that still starts; then nothing is recorded, and it is said why.
    assert r.returncode == 6 or (r.returncode == 0 and "No Python stacks were seen: process" in r.stderr), r.stderr


FORBID = """
import ctypes, os, struct, sys
def op(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
# Loads the number of the system call; process_vm_readv (310 on x86-64) gets EPERM.
program = op(0x20, 0, 0, 0) + op(0x15, 0, 1, 310) + op(0x06, 0, 0, 0x00050001) + op(0x06, 0, 0, 0x7FFF0000)
code = ctypes.create_string_buffer(program)
filter = struct.pack("HxxxxxxQ", 4, ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(filter), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter knows x86-64's numbers only")
def test_where_the_system_call_is_forbidden_the_file_serves(tool, python, script, tmp_path):
    with running(python, script, 30) as p:
        r = subprocess.run([python, "-c", FORBID, tool.binary, "attach", "-d", "0.5", "-o", tmp_path / "a.lead", str(p.pid)],
                           capture_output=True, text=True, timeout=30)
    assert r.returncode == 0 and "spin" in names(report(tool, tmp_path / "a.lead")), r.stderr


# ---- where they live ------------------------------------------------------------------------------------------


def test_a_deleted_interpreter(tool, tmp_path):
    exe = tmp_path / "python-gone"
    home = require("3.12").exe.rpartition("/bin/")[0]
    shutil.copy(os.path.realpath(require("3.12").exe), exe)
    with running(exe, "-c", SPIN, 30, env={**os.environ, "PYTHONHOME": home, "LD_LIBRARY_PATH": f"{home}/lib"}) as p:
        exe.unlink()
        r = tool("attach", "-d", "0.5", "-o", tmp_path / "a.lead", p.pid)
    assert r.returncode == 0 and "spin" in names(report(tool, tmp_path / "a.lead")), r.stderr


def test_a_virtual_environment(tool, python, script, tmp_path):
    subprocess.run([python, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    with running(tmp_path / "v" / "bin" / "python", script, 30) as p:
        r = tool("attach", "-d", "0.5", "-o", tmp_path / "a.lead", p.pid)
    assert r.returncode == 0 and "spin" in names(report(tool, tmp_path / "a.lead")), r.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a namespace")
def test_a_pid_namespace(draw, tool, python, tmp_path):
    """Its threads have other numbers for themselves than the kernel has for us: states are found all the same."""
    script = tmp_path / "two.py"
    script.write_text("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n" + SPIN)
    with running("unshare", "-p", "-f", "--mount-proc", "--kill-child", python, script, 30) as p:
        inner = int(open(f"/proc/{p.pid}/task/{p.pid}/children").read())
        tids = {int(t) for t in os.listdir(f"/proc/{inner}/task")}
        r = tool("attach", "-d", "0.7", "-o", tmp_path / "a.lead", p.pid)
        assert r.returncode == 0, r.stderr
    assert "spin" in names(report(tool, tmp_path / "a.lead"))
    threads = {t["tid"]: t for t in json.loads(tool("report", "--threads", "--json", tmp_path / "a.lead").stdout)["threads"]}
    assert set(threads) == tids and len(tids) == 2
    busy = threads.pop(inner)
    (idle,) = threads.values()
    assert idle["is_idle"]
    draw.share("busy one on CPU", busy["on_cpu_s"], busy["all"], low=0.5)
    draw.share("busy one with the GIL", busy["gil_s"], busy["all"], low=0.5)
    draw.share("idle one on CPU", idle["on_cpu_s"], idle["all"], high=0.2)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a namespace")
def test_events_of_another_pid_namespace_are_not_taken_for_ours(tool, tmp_path):
    """Whoever listens outside switches them on for all, and their pids are those outside."""
    with running(tool.binary, "time", "sh", "-c", "echo ready; read x"):
        r = subprocess.run(["unshare", "-p", "-f", "--mount-proc", tool.binary, "time", "-o", tmp_path / "a.lead", "true"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    assert "children files" in tool("report", "--host", tmp_path / "a.lead").stdout


# ---- the beginning and the end of an interpreter ------------------------------------------------------------------


@pytest.mark.parametrize("label", EXPECTED)
def test_attaching_at_any_moment_of_a_short_life(tool, label, tmp_path):
    """Whatever it meets is a recording, or one line that says that there is no such process, or no Python (yet)."""
    interpreter = require(label)
    chance = random.Random(label)
    for i in range(12):
        p = subprocess.Popen(interpreter.command("-c", "import json, logging, threading"), stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.06))
        r = tool("attach", "-d", "0.1", "-o", tmp_path / f"{i}.lead", p.pid, timeout=20)
        assert p.wait() == 0
        assert r.returncode in (0, 5, 6), r.stderr
        if r.returncode == 6:  # before chroot has become Python
            assert interpreter.root != "/" and "it is not Python" in r.stderr, r.stderr


def test_a_target_that_execs_and_forks_while_it_is_recorded(tool, python, tmp_path):
    code = ("import os, sys, time\nprint('ready', flush=True) if len(sys.argv) < 2 else None\nn = int(sys.argv[1]) if len(sys.argv) > 1 else 0\n"
            "t = time.time() + 0.05\nwhile time.time() < t: sum(range(1000))\n"
            "if os.fork() == 0: os._exit(0)\n"
            "if n < 20: os.execv(sys.executable, [sys.executable, __file__, str(n + 1)])\n")
    script = tmp_path / "changing.py"
    script.write_text(code)
    with running(python, script) as p:
        r = tool("attach", "-o", tmp_path / "a.lead", p.pid)
    assert r.returncode == 0, r.stderr
    assert report(tool, tmp_path / "a.lead")["fidelity"]["samples"] > 100  # of 1 000
