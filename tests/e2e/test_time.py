"""`leadline time` against ground truth: planted programs, /usr/bin/time and wait4 on the same run."""
import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap

import pytest
from conftest import wait_for_bytes, wait_until
from interpreters import require

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

SHARES = {"cpu", "memory", "system", "io", "waiting", "gil", "gpu", "runnable"}
MANY_CPUS = len(os.sched_getaffinity(0)) >= 2

BUSY_THREADS = textwrap.dedent("""
    import sys, threading, time
    n, seconds = int(sys.argv[1]), float(sys.argv[2])
    def work():
        end = time.monotonic() + seconds
        x = 0
        while time.monotonic() < end:
            for i in range(1000):
                x += i * i
    threads = [threading.Thread(target=work) for _ in range(n)]
    [t.start() for t in threads]
    [t.join() for t in threads]
""")


def bound(result):
    shares = result["bound"]["shares"]
    assert set(shares) == SHARES
    assert sum(v for v in shares.values() if v is not None) == pytest.approx(1, abs=1e-6)
    return result["bound"]["verdict"], shares


def own(shares, name):
    """Of the time in which it did not wait for a CPU."""
    return shares[name] / (1 - shares["runnable"])


# ---- verdicts ------------------------------------------------------------------------------------------------


def test_one_busy_process_is_cpu_bound(draw, tool):
    r = tool.time_json(tool.storm, "busy", 1)
    verdict, shares = bound(r)
    draw.verdict("bound", verdict, "cpu")
    draw.median("cpu", own(shares, "cpu"), low=0.9)
    draw.median("parallelism", r["parallelism_wanted"], low=0.9, high=1.1)


@pytest.mark.skipif(not MANY_CPUS, reason="needs two CPUs")
def test_two_busy_processes_want_two_cpus(draw, tool):
    r = tool.time_json("sh", "-c", f"{tool.storm} busy 1 & {tool.storm} busy 1; wait")
    verdict, shares = bound(r)
    draw.verdict("bound", verdict, "cpu")
    draw.median("cpu", own(shares, "cpu"), low=0.85)
    draw.median("parallelism", r["parallelism_wanted"], low=1.75, high=2.25)
    assert r["processes"] == 3


def test_half_asleep_half_busy_on_two_is_not_all_cpu(draw, tool):
    """P counts only while something runs: two busy processes for half of the time are half of the time."""
    r = tool.time_json("sh", "-c", f"{tool.storm} busy 0.8 & {tool.storm} busy 0.8; wait; sleep 0.8")
    _, shares = bound(r)
    draw.median("cpu", own(shares, "cpu"), low=0.38, high=0.62)
    draw.median("waiting", own(shares, "waiting"), low=0.38, high=0.62)


def test_sleep_is_waiting(draw, tool):
    r = tool.time_json("sleep", 0.5)
    verdict, shares = bound(r)
    draw.verdict("bound", verdict, "waiting")
    draw.median("waiting", shares["waiting"], low=0.95)


def test_fsync_is_io_bound(draw, tool, tmp_path):
    verdict, _ = bound(tool.time_json(tool.storm, "fsync", 1.5, tmp_path))
    draw.verdict("bound", verdict, "io")


def test_direct_reads_are_io_bound(draw, tool, tmp_path):
    r = tool.time_json(tool.storm, "direct", 1.5, tmp_path)
    verdict, shares = bound(r)
    for other in ("cpu", "waiting"):
        draw.median(f"io − {other}", shares["io"] - shares[other], low=0)
    draw.verdict("bound", verdict, "io", "mixed")
    assert r["read_bytes"] > 1 << 20


def test_page_fault_storm_is_system_bound(draw, tool):
    r = tool.time_json(tool.storm, "faults", 1)
    verdict, _ = bound(r)
    draw.verdict("bound", verdict, "system")
    draw.median("minor faults", r["minor_faults"], low=50_000)
    assert verdict != "system" or "page faults" in tool.last.stderr


@pytest.mark.skipif(not MANY_CPUS, reason="needs two CPUs")
@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_threads_that_take_turns_are_gil_limited(draw, tool, label):
    r = tool.time_json(*require(label).command("-c", BUSY_THREADS, "2", "2"))
    verdict, _ = bound(r)
    draw.verdict("bound", verdict, "gil")
    assert verdict != "gil" or r["bound"]["is_estimate"] is True
    assert ("GIL-limited" in tool.last.stderr) == (verdict == "gil")


@pytest.mark.skipif(not MANY_CPUS, reason="needs two CPUs")
def test_free_threaded_python_is_not_gil_limited(draw, tool):
    r = tool.time_json(*require("3.13t").command("-c", BUSY_THREADS, "2", "1.5"))
    verdict, shares = bound(r)
    draw.verdict("bound", verdict, "cpu")
    assert shares["gil"] == 0, shares
    draw.median("parallelism", r["parallelism_wanted"], low=1.5)


def test_one_busy_thread_among_idle_ones_is_not_gil_limited(draw, tool):
    code = BUSY_THREADS + "\n" + "pass"
    idle = "import threading; e = threading.Event()\nfor _ in range(8): threading.Thread(target=e.wait, daemon=True).start()\n"
    r = tool.time_json(*require("3.11").command("-c", idle + code, "1", "1"))
    verdict, shares = bound(r)
    draw.verdict("bound", verdict, "cpu")
    assert shares["gil"] == 0, shares
    assert r["peak_threads"] == 10


@pytest.mark.skipif(not MANY_CPUS, reason="needs two CPUs")
def test_two_threads_of_another_language_are_not_gil_limited(draw, tool, tmp_path):
    """Two processes that share one core's worth of work by taking turns, but map no Python."""
    r = tool.time_json("taskset", "-c", "0", "sh", "-c", f"{tool.storm} busy 1 & {tool.storm} busy 1; wait")
    verdict, shares = bound(r)
    assert shares["gil"] == 0
    draw.verdict("bound", verdict, "cpu")


# ---- verdicts on a busy machine, and of short runs -----------------------------------------------------------


NATIVE_THREADS = textwrap.dedent("""
    import threading, time, zlib
    data = bytes(range(256)) * 4000
    def work():
        end = time.monotonic() + 1.3
        while time.monotonic() < end:
            zlib.compress(data)
    threads = [threading.Thread(target=work) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
""")


@contextlib.contextmanager
def hogs(tool, n):
    """So many other programs that compute all the time."""
    running = [subprocess.Popen([tool.storm, "busy", "600"]) for _ in range(n)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def test_waiting_for_a_cpu_is_no_computing(draw, tool):
    """Most of its CPU time is the kernel's; beside other programs it is no less so."""
    with hogs(tool, 4):
        r = tool.time_json(tool.storm, "faults", 1.5)
    verdict, shares = bound(r)
    draw.verdict("bound", verdict, "system")
    draw.median("runnable", shares["runnable"], low=0.2)
    assert shares["cpu"] <= r["user_s"] / r["wall_s"] + 1e-6, "what it had no CPU for is not user time"
    assert r["bound"]["share"] * (1 - shares["runnable"]) == pytest.approx(max(v for k, v in shares.items() if v is not None and k != "runnable"))
    if verdict == "system":
        assert f"{r['bound']['share']:.0%}".replace("%", " % of the time") in " ".join(tool.last.stderr.split())


@pytest.mark.skipif(not MANY_CPUS, reason="needs two CPUs")
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("n_hogs", [0, 4])
def test_four_threads_that_fight_are_gil_limited_each_time(tool, tmp_path, draw, n_hogs, sampled):
    """Not a matter of luck: of five runs, quiet or not, each says so where a sampler saw the GIL. Without one it is a guess from what the
    threads used, which is right in most runs and says that it is one."""
    command = require("3.11").command("-c", BUSY_THREADS, "4", "1.3")
    said = []
    with hogs(tool, n_hogs):
        for i in range(5):
            if sampled:
                tool("run", "-o", tmp_path / f"{i}.lead", "--", *command)
                said.append(json.loads(tool("report", "--json", tmp_path / f"{i}.lead").stdout)["bound"])
            else:
                said.append(tool.time_json(*command)["bound"])
    verdicts = [b["verdict"] for b in said]
    assert not sampled or set(verdicts) == {"gil"}, said
    draw.share("runs that say it", verdicts.count("gil"), len(verdicts), low=0.5)
    assert [b["is_estimate"] for b in said] == [not sampled and b["verdict"] == "gil" for b in said]


@pytest.mark.skipif(not MANY_CPUS, reason="needs two CPUs")
@pytest.mark.parametrize("sampled", [False, True])
def test_threads_that_release_the_gil_are_not_limited_by_it(tool, tmp_path, sampled):
    command = require("3.11").command("-c", NATIVE_THREADS)
    with hogs(tool, 4):
        if sampled:
            tool("run", "-o", tmp_path / "x.lead", "--", *command)
            b = json.loads(tool("report", "--json", tmp_path / "x.lead").stdout)["bound"]
        else:
            b = tool.time_json(*command)["bound"]
    assert b["verdict"] == "cpu", b


def test_a_few_ticks_are_too_short_to_tell(tool):
    """8 ms are two ticks: they do not tell user from system time."""
    r = tool.time_json(tool.storm, "busy", 0.008)
    assert r["bound"]["verdict"] in ("too_short", "waiting"), r["bound"]
    if r["bound"]["verdict"] == "too_short":
        assert "too short to tell" in tool.last.stderr


def test_the_verdict_says_what_it_cannot_tell(tool):
    tool.time_json(tool.storm, "busy", 0.5)
    words = " ".join(tool.last.stderr.split())
    assert "CPU-bound: it computes" in words and "nearly all" not in words
    assert "Waiting for memory counts as computing here" in words


# ---- numbers -------------------------------------------------------------------------------------------------


def test_numbers_agree_with_usr_bin_time_on_the_same_run(draw, tool, tmp_path):
    out = tmp_path / "gnu"
    program = "x = bytearray(60_000_000)\nfor i in range(3_000_000): pass\nopen('/dev/null').read()"
    r = tool.time_json("/usr/bin/time", "-o", out, "-f", "%e %U %S %M %R %F %w %c %x", sys.executable, "-c", program)
    wall, user, system, rss_kib, minor, major, voluntary, involuntary, status = map(float, out.read_text().split())
    # GNU time rounds down to 10 ms and leaves out itself: a few ms, a few hundred faults.
    for key, theirs, off in (("wall_s", wall, 0.03), ("user_s", user, 0.02), ("system_s", system, 0.02)):
        draw.median(f"{key}, ours − theirs", r[key] - theirs, low=-off, high=off)
    assert r["max_rss_bytes"] == rss_kib * 1024
    for key, theirs, more in (("minor_faults", minor, 400), ("major_faults", major, 20), ("voluntary_switches", voluntary, 20),
                              ("involuntary_switches", involuntary, 20)):
        draw.median(f"{key}, ours − theirs", r[key] - theirs, low=0, high=more)
    assert r["exit_status"] == status == 0


def test_cpu_time_agrees_with_wait4(draw, tool, tmp_path):
    """What wait4 says of leadline and all below it is what it reports plus its own cost."""
    out = tmp_path / "j"
    pid = os.posix_spawn(tool.binary, [tool.binary, "time", f"--json={out}", "--report=/dev/null", "sh", "-c",
                                       f"{tool.storm} busy 0.3; {tool.storm} faults 0.3; {tool.storm} forks 50"], os.environ)
    _, status, usage = os.wait4(pid, 0)
    r = json.loads(out.read_text())
    assert status == 0
    told = r["user_s"] + r["system_s"] + r["own_cpu_s"]
    draw.median("told − wait4's, s", told - usage.ru_utime - usage.ru_stime, low=-0.01, high=0.01)


def test_io_counts_are_those_of_the_program_and_its_children(tool, tmp_path):
    code = "import os; f = os.open({!r}, os.O_CREAT | os.O_WRONLY)\nfor _ in range(100): os.write(f, b'x' * 10_000)".format(str(tmp_path / "f"))
    alone = tool.time_json(sys.executable, "-c", code)
    nested = tool.time_json("sh", "-c", 'for i in 1 2 3; do "$0" -c "$1"; done', sys.executable, code)
    assert 1_000_000 <= alone["write_chars"] < 1_010_000
    assert 100 <= alone["write_calls"] < 110
    assert 3_000_000 <= nested["write_chars"] < 3_030_000
    assert nested["read_chars"] >= 3 * 1000


def test_500_short_children_are_all_counted(tool):
    r = tool.time_json(tool.storm, "forks", 500)
    if os.geteuid() == 0:
        assert r["processes"] == 501 and r["processes_complete"] is True
    else:
        assert 1 <= r["processes"] <= 501


def test_a_pipeline_is_one_tree(tool):
    r = tool.time_json("sh", "-c", "sleep 0.5 | sort -n | tail -1")  # all are there until the first one ends
    names = {p["command"].split()[0] for p in r["process_list"]}
    assert {"sleep", "sort", "tail"} <= {os.path.basename(n) for n in names}
    assert r["processes"] == 4


def test_orphans_that_end_before_the_program_are_counted(draw, tool):
    r = tool.time_json("sh", "-c", f"( {tool.storm} busy 0.4 & ) ; sleep 1")
    draw.median("user, s", r["user_s"], low=0.3, high=0.5)


def test_orphans_that_outlive_the_program_go_on(tool):
    r = tool.time_json("sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $!")
    orphan = int(tool.last.stdout)
    try:
        assert r["wall_s"] < 20  # it was not waited for
        assert [p["is_running"] for p in r["process_list"] if p["pid"] == orphan] == [True]
        os.kill(orphan, 0)
        assert "1 still running" in tool.last.stderr
    finally:
        os.kill(orphan, 9)


BURN = textwrap.dedent("""
    import json, multiprocessing, os, signal, sys, time

    def burn(seconds):
        began = time.process_time()
        while time.process_time() - began < seconds:
            pass
        return time.process_time() - began

    def child(seconds):
        if os.fork() == 0:
            burn(seconds)
            os._exit(0)
""")

FAMILIES = {  # each tells the CPU time that its children took, by their own clocks
    "forkserver": """
        if __name__ == "__main__":
            multiprocessing.set_start_method("forkserver")
            with multiprocessing.Pool(2) as pool:
                print(sum(pool.map(burn, [0.2] * 4, chunksize=1)))
    """,
    "a daemon that runs on": """
        r, w = os.pipe()
        if os.fork() == 0:
            if os.fork() == 0:
                child(0.3)
                os.wait()
                os.write(w, b"x")
                os.close(1)
                os.close(2)
                signal.sigwait([signal.SIGTERM])
            os._exit(0)
        os.wait()
        os.read(r, 1)
        print(0.3)
    """,
    "nobody waits": """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        child(1.0)  # long beside the age of the last reading of its clock
        try:
            os.wait()
        except ChildProcessError:
            pass
        print(1.0)
    """,
    "left behind": """
        child(0.4)
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        print(0.4)
    """,
}


@pytest.mark.parametrize("how", [[], ["--no-connector"]], ids=["connector", "children files"])
@pytest.mark.parametrize("family", FAMILIES)
def test_children_of_every_kind_are_in_the_cpu_time(draw, tool, tmp_path, family, how):
    script = tmp_path / "family.py"
    script.write_text(BURN + textwrap.dedent(FAMILIES[family]))
    r = tool.time_json(*how, sys.executable, script)
    running = [p["pid"] for p in r["process_list"] if p["is_running"]]
    if family == "a daemon that runs on":
        os.kill(running[-1], 9)
    own = sum(p[k] for p in r["process_list"] for k in ("user_s", "system_s") if p["parent"] not in
              {q["pid"] for q in r["process_list"]})
    draw.median("told ÷ true", (r["user_s"] + r["system_s"] - own) / float(tool.last.stdout), low=0.85, high=1.3)
    assert (r["unwaited_cpu_s"] > 0.2) == (family == "nobody waits") or family == "forkserver"
    assert ("nobody waited for" in tool.last.stderr) == (r["unwaited_cpu_s"] > 0)


def test_a_process_that_its_parent_left_behind_is_one(tool):
    r = tool.time_json(sys.executable, "-c", BURN + textwrap.dedent(FAMILIES["left behind"]))
    assert r["processes"] == 2
    assert all(p["is_exact"] for p in r["process_list"])


def test_tree_shows_children_under_their_parents(tool):
    """All of them are there for half a second, so that the busiest machine has the time to see what they are."""
    r = tool("time", "--tree", "sh", "-c", "sleep 0.6 & for i in 1 2 3 4 5 6; do sleep 0.5 & done; wait")
    lines = r.stderr.splitlines()
    assert any(re.match(r"sh -c .* \d+ ", line) for line in lines)
    assert any(line.startswith("  sleep 0.6") for line in lines)
    assert any(line.startswith("  6 × sleep 0.5") for line in lines), r.stderr


def test_growth_is_told_in_words(draw, tool):
    code = ("import time\nx=[]; began = time.monotonic()\nfor i in range(100): x.append(bytearray(1_000_000)); time.sleep(0.02)\n"
            "print(100e6 / 2**20 / (time.monotonic() - began))")
    tool.time_json(sys.executable, "-c", code)
    match = re.search(r"RSS \+(\d+\.?\d*) MiB/s in the last", tool.last.stderr)
    assert match, tool.last.stderr
    draw.median("told / true", float(match.group(1)) / float(tool.last.stdout), low=0.4, high=1.6)


def test_memory_given_back_at_the_end_is_no_shrinking(tool):
    """A child that ends, and an interpreter that frees millions of objects before it ends."""
    code = """
import os, time
x = [[i] for i in range(3_000_000)]
if os.fork() == 0:
    y = bytearray(100_000_000)
    time.sleep(1.5)
    os._exit(0)
os.wait()
time.sleep(0.5)
"""
    r = tool.time_json(sys.executable, "-c", code)
    assert not re.search(r"RSS [−-]", tool.last.stderr), tool.last.stderr
    assert r["rss_growth_bytes_per_s"] is None or r["rss_growth_bytes_per_s"] > -(1 << 20)


# ---- not being there -----------------------------------------------------------------------------------------

LOOK_AROUND = textwrap.dedent("""
    import os, json, sys
    status = {k: v for k, v in (l.split(':', 1) for l in open('/proc/self/status')) if k in
              ('SigBlk', 'SigIgn', 'SigCgt', 'NoNewPrivs', 'Seccomp')}
    fds = sorted(os.listdir('/proc/self/fd'))
    json.dump([status, fds, dict(os.environ), os.getcwd(), os.getpgrp() == int(sys.argv[1]), os.getpriority(0, 0)],
              sys.stdout)
""")


def test_the_program_sees_the_same_world(tool):
    command = [sys.executable, "-c", LOOK_AROUND, str(os.getpgrp())]
    alone = subprocess.run(command, capture_output=True, text=True)
    watched = tool("time", *command)
    assert json.loads(watched.stdout) == json.loads(alone.stdout)


def test_ignored_signals_stay_ignored_and_children_are_still_waited_for(tool):
    code = "import signal,os; os.environ['X']; signal.signal(signal.SIGCHLD, signal.SIG_IGN); signal.signal(signal.SIGPIPE, signal.SIG_IGN); os.execv(os.environ['X'], [os.environ['X'], 'time', 'grep', 'SigIgn', '/proc/self/status'])"
    r = subprocess.run([sys.executable, "-c", code], env={**os.environ, "X": tool.binary}, capture_output=True, text=True)
    assert r.returncode == 0
    ignored = int(r.stdout.split()[1], 16)
    assert ignored & (1 << 12) and ignored & (1 << 16)  # SIGPIPE, SIGCHLD


def test_stdin_stdout_and_stderr_pass_through(tool):
    r = tool("time", "--report=/dev/null", "sh", "-c", "cat; echo oops >&2; exit 3", input="hello")
    assert (r.stdout, r.stderr, r.returncode) == ("hello", "oops\n", 3)


def test_json_on_stdout_moves_the_programs_output(tool):
    r = tool("time", "--json", "echo", "hi")
    assert json.loads(r.stdout)["command"] == ["echo", "hi"]
    assert "hi\n" in r.stderr and "standard output goes to standard error" in r.stderr


def test_posix_output(tool):
    r = tool("time", "-p", "sleep", "0.1")
    assert re.fullmatch(r"real 0\.1\d\nuser 0\.0\d\nsys 0\.0\d\n", r.stderr)


GNU_TIME = "/usr/bin/time"
SAME_EACH_TIME = r"%C|%x|%Z|%W|%k|%r|%s|%D|%K|%X|%p|%t|%%|\\|\t|\n|%q|\q"


@pytest.mark.parametrize("script", ["head -c 300000 /dev/zero > zeros; sync zeros; exit 3", "kill -9 $$", "exit 0"])
@pytest.mark.parametrize("options", [["-f", SAME_EACH_TIME], ["-q", "-f", SAME_EACH_TIME], ["-f", "ends with %"], ["-f", ""]],
                         ids=["format", "quiet", "percent", "empty"])
def test_formats_print_what_gnu_time_prints(tool, tmp_path, options, script):
    command = [*options, "sh", "-c", script]
    theirs = subprocess.run([GNU_TIME, *command], cwd=tmp_path, capture_output=True, text=True)
    ours = tool("time", *command, cwd=tmp_path)
    # GNU time leaves out the end of the line behind a format that ends in %.
    assert ours.stderr.rstrip("\n") == theirs.stderr.rstrip("\n")


def test_measured_sequences_agree_with_gnu_time_on_the_same_run(draw, tool, tmp_path):
    out = tmp_path / "theirs"
    sequences = "%e %U %S %M %R %F %w %c %I %O %x"
    program = "x = [bytes(1000) for _ in range(100_000)]; open('f', 'wb').write(bytes(3_000_000))"
    r = tool("time", "-f", sequences, GNU_TIME, "-o", out, "-f", sequences, sys.executable, "-c", program, cwd=tmp_path)
    ours, theirs = ([float(v) for v in text.split()] for text in (r.stderr, out.read_text()))
    for name, more, a, b in zip(sequences.split(), (0.03, 0.02, 0.02, 0, 400, 20, 20, 20, 800, 32, 0), ours, theirs):
        draw.median(f"{name}, ours − theirs", a - b, low=-0.02, high=more)


def test_elapsed_time_and_share_of_a_cpu_are_written_as_gnu_time_does(tool):
    r = tool("time", "-f", "%E %P", "sleep", "0.2")
    assert re.fullmatch(r"0:00\.2\d \d%\n", r.stderr)


def test_verbose_is_gnu_times_list_in_its_words_and_order(tool):
    def labels(text):
        return [line.rsplit(": ", 1)[0] for line in text.splitlines()]

    theirs = subprocess.run([GNU_TIME, "-v", "false"], capture_output=True, text=True).stderr
    ours = tool("time", "--verbose", "false").stderr
    assert labels(ours) == labels(theirs)
    assert len(labels(ours)) == 24
    assert "\tExit status: 1\n" in ours


def test_reports_can_be_appended(tool, tmp_path):
    log = tmp_path / "log"
    for word in ("one", "two"):
        assert tool("time", "-a", "--report", log, "-f", f"{word} %x", "true").stderr == ""
    assert log.read_text() == "one 0\ntwo 0\n"
    tool("time", "--force", "--report", log, "-f", "three", "true")
    assert log.read_text() == "three\n"


@pytest.mark.parametrize("options, words", [
    (["-v", "-o", "log"], "-o names the recording here (FILE.lead); GNU time's -o log is --report log"),
    (["-a", "-o", "log"], "GNU time's -o log is --report log"),
    (["-v", "-p"], "cannot be combined"),
    (["-f", "%e", "--tree"], "cannot be combined"),
    (["-q"], "-q needs -f or -v"),
    (["-a"], "-a needs --report FILE"),
])
def test_gnu_times_options_that_mean_something_else_here_are_told(tool, tmp_path, options, words):
    r = tool("time", *options, "touch", "ran", cwd=tmp_path)
    assert r.returncode == 125 and words in r.stderr
    assert not list(tmp_path.glob("ran")) + list(tmp_path.glob("log"))


@pytest.mark.parametrize("command, status, words", [
    (["/nonexistent/x"], 127, "command not found"),
    (["no-such-command-here"], 127, "command not found"),
    (["/etc/passwd"], 126, "not executable"),
    (["/tmp"], 126, "is a directory"),
    (["sh", "-c", "kill -9 $$"], 137, "killed by signal 9 (SIGKILL)"),
    (["sh", "-c", "kill -SEGV $$"], 139, "killed by signal 11 (SIGSEGV)"),
    (["sh", "-c", "exit 42"], 42, "exit status 42"),
    ([], 125, "which command?"),
    (["--no-such-option", "true"], 125, "unknown option"),
    (["--jsno", "true"], 125, "did you mean --json?"),
])
def test_exit_statuses_and_words(tool, command, status, words):
    r = tool("time", *command)
    assert r.returncode == status
    assert words in r.stderr


def test_a_script_without_an_interpreter(tool, tmp_path):
    script = tmp_path / "s"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    r = tool("time", script)
    assert r.returncode == 126 and "interpreter" in r.stderr


def test_out_of_file_descriptors(tool):
    r = subprocess.run(["sh", "-c", f"ulimit -n 4; exec {tool.binary} time true"], capture_output=True, text=True)
    assert r.returncode == 125
    assert "Too many open files" in r.stderr
    assert len(r.stderr.strip().splitlines()) <= 2


def test_few_file_descriptors_are_enough(tool):
    r = subprocess.run(["sh", "-c", f"ulimit -n 16; exec {tool.binary} time sh -c 'sleep 0.1; exit 5'"], capture_output=True, text=True)
    assert r.returncode == 5 and "real" in r.stderr


# ---- signals -------------------------------------------------------------------------------------------------


def start_and_wait_for_output(command, **kwargs):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)
    assert p.stdout.readline() == "ready\n"
    return p


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "INT", "QUIT", "USR2"])
def test_signals_sent_to_leadline_reach_the_program(tool, name):
    script = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    p = start_and_wait_for_output([tool.binary, "time", "sh", "-c", script])
    p.send_signal(getattr(__import__("signal"), f"SIG{name}"))
    out, err = p.communicate(timeout=20)
    assert out == "got\n" and p.returncode == 9 and "real" in err


def test_ctrl_c_at_the_terminal_ends_the_program_and_prints_the_report(tool):
    pid, fd = os.forkpty()
    if pid == 0:
        os.execv(tool.binary, [tool.binary, "time", "--color=never", "sh", "-c", "echo ready; exec sleep 30"])
    seen = b""
    while b"ready" not in seen:
        seen += os.read(fd, 1000)
    os.write(fd, b"\x03")
    try:
        while chunk := os.read(fd, 1000):
            seen += chunk
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"killed by signal 2 (SIGINT)" in seen and b"real" in seen


def state_of(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]


def test_job_control_stops_and_continues_both(tool):
    import signal
    p = start_and_wait_for_output([tool.binary, "time", "sh", "-c", "echo ready; read x; echo done"], start_new_session=True, stdin=subprocess.PIPE)
    child = int(open(f"/proc/{p.pid}/task/{p.pid}/children").read())
    os.killpg(p.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
    wait_until(lambda: state_of(p.pid) == "T" and state_of(child) == "T")
    os.killpg(p.pid, signal.SIGCONT)
    out, err = p.communicate("x\n", timeout=20)
    assert out == "done\n" and p.returncode == 0 and "real" in err


def test_killing_leadline_leaves_the_program_running(tool, tmp_path):
    record = tmp_path / "x.lead"
    p = start_and_wait_for_output([tool.binary, "time", "-o", record, "sh", "-c", "echo ready; sleep 30 & wait"])
    child = int(open(f"/proc/{p.pid}/task/{p.pid}/children").read())
    try:
        wait_for_bytes(record, 500)  # the first flush comes after a second
        p.kill()
        p.wait()
        assert state_of(child) in "SR"
        r = tool("report", record)
        assert r.returncode == 0
        assert "the recorder did not finish" in r.stderr
        assert "still running when the recording stops" in r.stdout
    finally:
        subprocess.run(["pkill", "-P", str(child)])


# ---- recordings ----------------------------------------------------------------------------------------------


def test_a_recording_tells_the_same_again(tool, tmp_path):
    record = tmp_path / "x.lead"
    r = tool.time_json("-o", record, tool.storm, "busy", 0.5)
    again = json.loads(tool("report", "--json", record).stdout)
    assert again == r
    assert tool(record).stdout == tool("report", record).stdout
    assert "CPU-bound" in tool(record).stdout


def test_a_recording_is_not_overwritten(tool, tmp_path):
    record = tmp_path / "x.lead"
    record.write_text("mine")
    r = tool("time", "-o", record, "true")
    assert r.returncode == 125 and "already exists" in r.stderr
    assert record.read_text() == "mine"


def test_names_of_recordings(tool, tmp_path):
    assert tool("time", "-o", "%h.%r.lead", "true", cwd=tmp_path, env={**os.environ, "RANK": "3"}).returncode == 0
    assert (tmp_path / f"{os.uname().nodename}.3.lead").exists()
    r = tool("time", "-o", "x.folded", "true", cwd=tmp_path)
    assert r.returncode == 125 and "leadline export converts a recording to it" in r.stderr


def test_no_recording_stays_behind_when_nothing_ran(tool, tmp_path):
    record = tmp_path / "x.lead"
    assert tool("time", "-o", record, "no-such-command").returncode == 127
    assert not record.exists()


def test_a_full_disk_lets_the_program_run_on(tool, tmp_path):
    r = subprocess.run(["sh", "-c", f"ulimit -f 1; exec {tool.binary} time -o {tmp_path}/x.lead sh -c 'sleep 1.3; exit 6'"],
                       capture_output=True, text=True)
    assert r.returncode == 6
    assert "File too large" in r.stderr


def test_as_an_ordinary_user(draw, tool, tmp_path):
    """Older kernels refuse the proc connector then: short children can be missed, their CPU time cannot."""
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    copy = tmp_path / "leadline"
    copy.write_bytes(open(tool.binary, "rb").read())
    copy.chmod(0o755)
    for folder in [tmp_path, *tmp_path.parents][:4]:
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    storm = tmp_path / "storm"
    storm.write_bytes(open(tool.storm, "rb").read())
    storm.chmod(0o755)
    r = subprocess.run([*prefix, str(copy), "time", "--json", "sh", "-c", f"{storm} busy 0.5; {storm} forks 20; sleep 0.2"],
                       capture_output=True, text=True)
    result = json.loads(r.stdout)
    assert r.returncode == 0
    assert result["processes"] == 24 if result["processes_complete"] else result["processes"] >= 3
    draw.median("user, s", result["user_s"], low=0.4, high=0.6)
    assert result["write_chars"] is not None


def test_polling_finds_the_same_processes(tool):
    r = tool.time_json("--no-connector", "sh", "-c", "sleep 0.5 & sleep 0.5; wait")
    assert r["processes"] == 3 and r["processes_complete"] is False
    assert "short-lived ones may be missing" in tool.last.stderr


# ---- bad files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content, status, words", [
    (b"", 6, "the file is empty"),
    (b"{}", 6, "neither a recording nor another profiler's file"),
    (b"\x89LEAD\r\n\x1a", 6, "cut off"),
    (b"\x89LEAD\r\n\x1a\x63\x00\x00\x00" + bytes(44), 6, "format version 99.0"),
    (b"x" * 10_000, 6, "neither a recording nor another profiler's file"),
])
def test_foreign_files_get_one_line_and_a_status(tool, tmp_path, content, status, words):
    path = tmp_path / "f"
    path.write_bytes(content)
    r = tool("report", path)
    assert r.returncode == status and words in r.stderr and str(path) in r.stderr
    assert r.stdout == "" and len(r.stderr.strip().splitlines()) == 2  # the error, and what to do


def test_missing_and_unreadable_files(tool, tmp_path):
    assert tool("report", tmp_path / "none").returncode == 5
    assert tool("report", tmp_path).returncode == 2  # a folder of traces has other commands


def test_every_fuzz_seed_is_survived(tool):
    import conftest
    seeds = sorted((conftest.ROOT / "tests/fuzz/corpus/store").iterdir())
    assert len(seeds) >= 5
    for seed in seeds:
        for binary in (tool.binary, conftest.LEADLINE_ASAN):
            r = subprocess.run([binary, "report", seed], capture_output=True, text=True, timeout=30)
            assert r.returncode in (0, 6), (binary, seed, r.stderr)


def test_a_bomb_of_a_recording_is_refused_in_bounded_memory(tool, tmp_path):
    """Chunks that unpack to thousands of times their size, with right checksums."""
    xxhash = pytest.importorskip("xxhash")
    zstandard = pytest.importorskip("zstandard")
    import struct
    head = b"\x89LEAD\r\n\x1a" + struct.pack("<HHIQQ16s", 1, 0, 0, 1, 1, bytes(16))
    out = head + struct.pack("<Q", xxhash.xxh3_64_intdigest(head))
    for i in range(200):
        text = struct.pack("<I", i) + bytes(15 << 20)
        raw = struct.pack("<III", 2, 4, len(text)) + b"\x84\x80\xc0\x07" + text
        packed = zstandard.compress(raw, 3)
        chunk = struct.pack("<IHBBIIIII", 0x4b43444c, 1, 1, 0, len(packed), len(raw), 1, 1, i + 1)
        chunk += struct.pack("<I", xxhash.xxh3_64_intdigest(chunk) & 0xFFFFFFFF)
        chunk += struct.pack("<Q", xxhash.xxh3_64_intdigest(packed)) + packed
        out += chunk + bytes(-len(packed) % 8)
    path = tmp_path / "bomb.lead"
    path.write_bytes(out)
    r = subprocess.run(["sh", "-c", f"ulimit -v 1500000; exec {tool.binary} report {path}"], capture_output=True, text=True, timeout=60)
    assert r.returncode == 6 and "made to exhaust memory" in r.stderr, r.stderr


# ---- words ---------------------------------------------------------------------------------------------------


def test_help_is_made_from_the_table(tool):
    r = tool("help")
    assert r.returncode == 0
    for name in ("time", "report", "doctor", "help"):
        assert re.search(rf"^  {name} ", r.stdout, re.MULTILINE)
        assert tool("help", name).stdout.startswith(f"leadline {name} ")
        assert tool(name, "--help").stdout == tool("help", name).stdout
    assert tool().stdout == r.stdout == tool("--help").stdout


def test_did_you_mean(tool):
    r = tool("tiem", "true")
    assert r.returncode == 2 and "did you mean 'time'?" in r.stderr
    assert tool("no-such-thing-at-all").returncode == 2
    assert tool("help", "exit").stdout.startswith("Exit statuses")
    assert tool("help", "nonsense").returncode == 2
    assert tool("--version").stdout.startswith("leadline 0.")


def test_colour_only_where_it_is_wanted(tool):
    assert "\033[" not in tool("time", "true").stderr
    assert "\033[" in tool("time", "--color=always", "true").stderr
    assert "\033[" not in tool("time", "--color=never", "true").stderr
