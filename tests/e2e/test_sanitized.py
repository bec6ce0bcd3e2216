"""The commands under AddressSanitizer and UBSan, on live programs: no report, same results."""
import os
import subprocess

import conftest
import pytest
from interpreters import require

BIAS = conftest.ROOT / "tests" / "targets" / "bias.py"
ENVIRONMENT = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", "ASAN_OPTIONS": "detect_leaks=1"}


def sanitized(*args, **kwargs):
    r = subprocess.run([conftest.LEADLINE_ASAN, *map(str, args)], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, **kwargs)
    assert "runtime error" not in r.stderr and "Sanitizer" not in r.stderr, r.stderr
    return r


@pytest.mark.parametrize("label", ["3.11", "3.12", "3.13", "3.13t", "3.8", "3.15"])
@pytest.mark.parametrize("kind", ["plain", "generator", "exception", "deep"])
def test_run(tmp_path, label, kind):
    python = require(label)
    script = BIAS
    if python.root != "/":
        script = "/tmp/leadline-bias.py"
        open(python.root + script, "w").write(BIAS.read_text())
    r = sanitized("run", "-o", tmp_path / "x.lead", "--rate=10k", *python.command(str(script), "0.5", kind))
    assert r.returncode == 0, r.stderr
    assert sanitized("report", tmp_path / "x.lead").returncode == 0
    assert sanitized("export", tmp_path / "x.lead", "--format", "collapsed").returncode == 0


def test_time_with_children_threads_and_orphans(tmp_path):
    storm = conftest.STORM
    r = sanitized("time", "--tree", "-o", tmp_path / "x.lead", "sh", "-c",
                  f"{storm} forks 100; ({storm} busy 0.2 &); {storm} faults 0.2; sleep 0.5; kill -9 $$")
    assert r.returncode == 137 and "SIGKILL" in r.stderr
    assert sanitized("report", "--json", tmp_path / "x.lead").returncode == 0


@pytest.mark.alone  # doctor asks interpreters, with a time limit
@pytest.mark.parametrize("args", [["doctor"], ["help"], ["help", "bound"], ["time", "no-such-command"], ["report", "/etc/passwd"]])
def test_others(args):
    assert sanitized(*args).returncode in (0, 6, 127)


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.12", "3.13t", "3.15"])
def test_attach(tmp_path, label):
    with subprocess.Popen(require(label).command("-c", "import time\nprint('ready', flush=True)\nwhile True: sum(range(1000))"),
                          stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        r = sanitized("attach", "-d", "0.7", "-o", tmp_path / "x.lead", p.pid)
        p.kill()
    assert r.returncode == 0, r.stderr
    assert sanitized("report", "--processes", tmp_path / "x.lead").returncode == 0


@pytest.mark.parametrize("args, status", [(["no-such-name"], 5), (["999999999"], 5), (["--format=x", "1"], None), ([], 2)])
def test_attach_to_nothing(args, status):
    r = sanitized("attach", *args)
    assert r.returncode == status or (status is None and r.returncode in (2, 4, 6))


def test_threads_come_and_go(tmp_path):
    code = ("import threading\ndef w():\n    for i in range(20000): pass\n"
            "for _ in range(60):\n    ts = [threading.Thread(target=w) for _ in range(8)]\n    [t.start() for t in ts]; [t.join() for t in ts]\n")
    r = sanitized("run", "-o", tmp_path / "x.lead", "--rate=5k", *require("3.12").command("-c", code))
    assert r.returncode == 0, r.stderr


def test_programs_that_exec_fork_and_die(tmp_path):
    code = ("import os, sys\nfor i in range(20):\n    pid = os.fork()\n    if pid == 0:\n        if i % 3 == 0: os.execv(sys.executable, [sys.executable, '-c', 'sum(range(200000))'])\n"
            "        if i % 3 == 1: os._exit(0)\n        os.kill(os.getpid(), 9)\n    os.waitpid(pid, 0)\n")
    r = sanitized("run", "-o", tmp_path / "x.lead", "--rate=max", *require("3.13").command("-c", code))
    assert r.returncode == 0, r.stderr
