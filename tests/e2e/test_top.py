"""`leadline top`: the live view in a pseudo terminal."""
import os
import signal
import subprocess

import conftest
import pytest
from conftest import running
from interpreters import EXPECTED, inside, require
from screen import Terminal

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

PROGRAM = """
import sys, threading, time
def alpha():
    t = 0
    for i in range(4000): t += i * i
    return t
def beta():
    return alpha()
def sleeper():
    while True: time.sleep(0.2)
threading.Thread(target=sleeper, daemon=True).start()
print("ready", flush=True)
end = time.time() + float(sys.argv[1])
while time.time() < end:
    beta()
    for i in range(1000): pass
print("the program's last words", flush=True)
sys.exit(3)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "greek.py"
    path.write_text(PROGRAM)
    return path


def top(*args, cwd, **kwargs):
    return Terminal([conftest.LEADLINE, "top", *map(str, args)], cwd=cwd, **kwargs)


def row_of(text, name):
    """The numbers of the row with that name."""
    (row,) = [r for r in text.splitlines() if f"  {name} " in r + " "]
    return [float(x) for x in row.split()[:4]]


# ---- what is shown --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", EXPECTED)
def test_a_running_program_is_shown_and_goes_on(draw, label, script, tmp_path):
    python = require(label)
    with inside(label, script) as path, running(*python.command(path, 120)) as p, top(p.pid, cwd=tmp_path) as t:
        text = t.wait(lambda s: " alpha " in s and row_of(s, "alpha")[2] >= 0.4, "some of alpha")
        assert f"CPython {python.version}" in text and str(p.pid) in text
        self_now, total_now, self_s, total_s = row_of(text, "alpha")
        assert total_s >= self_s
        draw.median("alpha now, %", self_now, low=25)
        draw.median("beta − alpha now, %", row_of(text, "beta")[1] - self_now, low=0)
        draw.median("sleeper now, %", row_of(text, "sleeper")[0] if " sleeper " in text else 0, high=20)  # it waits: no time on a CPU
        t.keys("w")
        t.wait(lambda s: "wall time" in s and row_of(s, "sleeper")[0] > 80, "waiting counts")
        t.keys("q")
        t.wait_for("Save the recording as greek.lead?")
        t.keys("n")
        assert t.wait_exit() == 0
        assert p.poll() is None
        assert not (tmp_path / "greek.lead").exists()


def test_keys_sort_filter_lines_threads_and_help(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait(lambda s: " alpha " in s and row_of(s, "alpha")[2] >= 1, "a second of alpha")
        t.keys("4")
        text = t.wait_for("▾total s")
        assert text.splitlines()[4].split()[4] == "<module>", "the largest total comes first"
        t.keys("/ALP")
        t.wait_for("/ALP")
        t.wait_gone("<module>")
        t.keys("\r")
        assert " beta " not in t.wait_for("on CPU, /ALP")
        t.keys("\x1b")
        t.wait_for("<module>")
        t.keys("l")
        t.wait_for("greek.py:5")
        t.keys("l")
        t.wait_gone("greek.py:5 ")
        t.keys("t")
        t.wait_for("thread", "GIL%", f"{p.pid}")
        t.keys("\r")
        t.wait_for(f", thread {p.pid}", "alpha")
        t.keys("a?")
        t.wait_for("sort by a column")
        t.keys("?p")
        t.wait_for("PAUSED")
        t.keys("p")
        t.wait_gone("PAUSED")
        t.keys("qq")
        assert t.wait_exit() == 0


def test_it_follows_the_size_of_the_terminal(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait_for("alpha", "c w g state")
        t.set_size(12, 60)
        text = t.wait_for("alpha", "t threads")
        assert "c w g state" not in text and all(len(r) <= 60 for r in text.splitlines())
        t.set_size(45, 140)
        t.wait_for("alpha", str(script), "o output")
        t.keys("qq")
        assert t.wait_exit() == 0


def test_sums_begin_anew(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait(lambda s: " alpha " in s and row_of(s, "alpha")[2] >= 2, "two seconds of alpha")
        t.keys("r")
        t.wait(lambda s: " alpha " in s and row_of(s, "alpha")[2] < 2, "new sums")
        t.keys("qq")
        assert t.wait_exit() == 0


def test_names_cannot_reach_the_terminal(tmp_path):
    script = tmp_path / "evil.py"
    script.write_text("import time\ndef f():\n    t = 0\n    for i in range(10**5): t += i\n"
                      "n = '\\x1b[31mE\\u202eVIL\\u6f22'\n"
                      "f.__code__ = f.__code__.replace(co_name=n, co_qualname=n)\n"
                      "print('ready', flush=True)\nwhile True: f()\n")
    with running(require("3.12").exe, script) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait_for("\\x1b[31mE")
        assert b"\x1b[31mE" not in t.raw and "\u202e" not in t.text()
        t.keys("qq")
        assert t.wait_exit() == 0


# ---- programs it starts ---------------------------------------------------------------------------------------


def test_a_program_of_ours_its_output_and_its_end(tool, script, tmp_path):
    (tmp_path / "greek.rank3.lead").write_text("mine")
    with top("--python", require("3.12").exe, script, "2", cwd=tmp_path, env={"RANK": "3"}) as t:
        t.wait_for("alpha")
        t.keys("o")
        t.wait_for("ready")
        text = t.wait_for("ended with status 3", "OVER", "the program's last words")
        assert "alpha" not in text
        t.keys("oq")
        t.wait_for("Save the recording as greek.rank3.2.lead?")
        t.keys("y")
        assert t.wait_exit() == 0
        assert t.is_restored()
        text = t.text()
        assert "alpha" in text, "the last screen stays"
        assert "the program's last words" in text and "Recording: greek.rank3.2.lead" in text
    r = tool("report", tmp_path / "greek.rank3.2.lead")
    assert r.returncode == 0 and "alpha" in r.stdout


def test_quitting_asks_what_becomes_of_the_program(script, tmp_path):
    with top("-o", tmp_path / "x.%r.lead", "--python", require("3.12").exe, script, "120", cwd=tmp_path) as t:
        pid = int(t.wait_for("alpha").split()[2 + t.text().split().index("leadline")])
        t.keys("q")
        t.wait_for("The program is still running")
        t.keys("\x1b")
        t.wait_for("q quit")
        t.keys("qn")
        assert t.wait_exit() == 0
        assert f"{pid} keeps running" in t.text()
        os.kill(pid, signal.SIGKILL)  # it did
    assert (tmp_path / "x.0.lead").stat().st_size > 1000
    with top("--python", require("3.12").exe, script, "120", cwd=tmp_path) as t:
        t.wait_for("alpha")
        t.keys("q")
        t.wait_for("The program is still running")
        t.keys("y")
        t.wait_for("Save the recording")
        t.keys("n")
        assert t.wait_exit() == 0
        assert "killed by signal 15" in t.text(), "the last screen stays, all of it"


def test_a_program_that_cannot_be_started(tmp_path):
    with top("--", "no-such-program", cwd=tmp_path) as t:
        assert t.wait_exit() == 127
        assert "no-such-program: command not found" in t.text()
        assert b"\x1b[?1049h" not in t.raw, "the screen was not taken"
    assert list(tmp_path.iterdir()) == []


# ---- ends -----------------------------------------------------------------------------------------------------


def test_the_end_of_the_target_keeps_the_last_screen(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait_for("alpha")
        p.kill()
        p.wait()
        t.wait_for("OVER", "alpha")
        t.keys("qq")
        assert t.wait_exit() == 0 and t.is_restored()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_restore_the_terminal(number, script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait_for("alpha")
        t.process.send_signal(number)
        assert t.wait_exit() == 0
        assert t.is_restored() and "alpha" in t.text()
        assert p.poll() is None


def test_a_crash_restores_the_terminal(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path) as t:
        t.wait_for("alpha")
        t.process.send_signal(signal.SIGSEGV)
        assert t.wait_exit() == -signal.SIGSEGV
        assert t.is_restored()
        assert p.poll() is None


def test_killing_leadline_leaves_target_and_named_recording(tool, script, tmp_path):
    saved = tmp_path / "x.lead"
    with running(require("3.12").exe, script, 120) as p, top("-o", saved, p.pid, cwd=tmp_path) as t:
        t.wait_for("alpha")
        t.process.kill()
        t.process.wait()
        assert p.poll() is None
    assert "alpha" in tool("report", saved).stdout


# ---- choosing, refusing ---------------------------------------------------------------------------------------


def test_without_a_word_a_process_is_chosen(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(cwd=tmp_path, rows=50, columns=160) as t:
        t.wait_for("Which Python process?", str(p.pid))
        rows = [r for r in t.text().splitlines()[3:-1] if r.strip()]
        at = next(i for i, r in enumerate(rows) if r.split()[0] == str(p.pid))
        assert "greek.py" in rows[at]
        t.keys("\x1b[B" * at + "\r")
        t.wait_for("alpha", "CPython", f"leadline top {p.pid}")
        t.keys("qq")
        assert t.wait_exit() == 0


def test_a_process_by_its_name(script, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with running(require("3.12").exe, script, 120) as p, top("greek.py", cwd=other) as t:
        t.wait_for("alpha", f"leadline top {p.pid}")
        t.keys("qq")
        assert t.wait_exit() == 0


@pytest.mark.parametrize("args, status, words", [
    (["999999999"], 5, "there is no process 999999999"),
    (["no-such-name-at-all"], 5, "leadline top -- no-such-name-at-all"),
    (["--rate", "fast", "1"], 2, "--rate expects a number"),
    (["--"], 2, "which program?"),
    (["--pid", "1", "x.py"], 2, "cannot be combined"),
    (["-o", "x.folded", "--", "true"], 2, "leadline export converts a recording to it"),
])
def test_bad_words_get_one_line(args, status, words, tmp_path):
    with top(*args, cwd=tmp_path, columns=200) as t:
        assert t.wait_exit() == status
        assert words in t.text()


def test_what_is_not_python_is_said(tmp_path):
    p = subprocess.Popen(["sleep", "100"])
    try:
        with top(p.pid, cwd=tmp_path, columns=200) as t:
            assert t.wait_exit() == 6
            assert "not Python" in t.text() or "no Python" in t.text()
    finally:
        p.kill()
        p.wait()


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_a_cursor_is_refused(term, tmp_path):
    with top("1", cwd=tmp_path, env={"TERM": term}, columns=200) as t:
        assert t.wait_exit() == 2
        assert "needs a terminal that can place a cursor" in t.text()


def test_no_terminal_is_refused(tool):
    r = tool("top", "1")
    assert r.returncode == 2 and "needs a terminal" in r.stderr and "attach" in r.stderr


def test_no_colour_when_asked(script, tmp_path):
    with running(require("3.12").exe, script, 120) as p, top(p.pid, cwd=tmp_path, env={"NO_COLOR": "1"}) as t:
        t.wait_for("alpha")
        t.keys("qq")
        assert t.wait_exit() == 0
        assert b"\x1b[36m" not in t.raw and b"\x1b[33m" not in t.raw and b"\x1b[7m" in t.raw
