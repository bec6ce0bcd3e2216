"""Traces of running jobs of PyTorch: leadline attach --torch, against torch itself."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile

import pytest
from conftest import LEADLINE, ROOT, wait_until

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

TRAIN = """
import time, torch
net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print("ready", flush=True)
while True:
    net(torch.randn(8, 20)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.005)
"""
LAUNCH = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, "train.py"], env={**os.environ, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True) for rank in range(int(sys.argv[1]))]
for rank in ranks:
    assert rank.stdout.readline() == "ready\\n"
print("ready", flush=True)
sys.stdin.read()
for rank in ranks:
    rank.kill()
    rank.wait()
"""


@contextlib.contextmanager
def job(folder, n_ranks, *command, **environment):
    (folder / "tmp").mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "launch.py").write_text(LAUNCH)
    (folder / "kineto.conf").write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")  # else 5: what a busy machine lets them miss comes sooner
    env = {**os.environ, "KINETO_USE_DAEMON": "1", "KINETO_CONFIG": str(folder / "kineto.conf"), "OMP_NUM_THREADS": "1", "TMPDIR": str(folder / "tmp"), **environment}
    p = subprocess.Popen([*command, sys.executable, "launch.py", str(n_ranks)], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield p
    finally:
        p.stdin.close()  # the launcher ends its ranks
        p.wait()
        p.stdout.close()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """One whose daemon is a file, and one in a network of its own, where it is an abstract name: both start at once."""
    pytest.importorskip("torch")
    named, own = tmp_path_factory.mktemp("named"), tmp_path_factory.mktemp("own")
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else []
    with job(named, 2, KINETO_IPC_SOCKET_DIR=str(named)) as first, job(own, 1, *unshare) as second:
        for p in (first, second):
            assert p.stdout.readline() == "ready\n"
        yield (named, first.pid), (own, second.pid)


@pytest.fixture(scope="module")
def asked(jobs):
    """Both are asked at the same time: what was printed, as CompletedProcess."""
    (named, first), (own, second) = jobs
    words = [("--seconds=1", "-o", "out", "--limit=3", f"--json={named}/out.json"), ("--steps=3",)]
    both = [subprocess.Popen([LEADLINE, "attach", "--torch", *w, str(pid)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for w, (folder, pid) in zip(words, jobs)]
    done = [subprocess.CompletedProcess(p.args, None, *p.communicate(timeout=250)) for p in both]
    for p, d in zip(both, done):
        d.returncode = p.returncode
    return done


def traces(folder):
    for path in sorted(folder.glob("*.pt.trace.json")):
        yield json.loads(path.read_text()), path


def text_of(done, folder):
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert not list((folder / "tmp").glob("leadline*"))
    return done.stdout


def test_all_ranks_are_traced_from_one_moment_on(tool, jobs, asked):
    folder, text = jobs[0][0], text_of(asked[0], jobs[0][0])
    found = list(traces(folder / "out"))
    assert len(found) == 2 and all(str(path.relative_to(folder)) in text for _, path in found)
    assert "Compare ranks: leadline report --distributed out\n" in text
    assert ", rank 0: " in text and ", rank 1: " in text and text.count("Overview") == 2 and text.count("Operators of") == 1
    begins = []
    for trace, path in found:
        window = next(e for e in trace["traceEvents"] if e.get("cat") == "Trace")
        rows = {r["name"]: r for r in json.loads(tool("report", "--ops", "--json", "--limit=0", path).stdout)["operators"]}
        assert rows["aten::addmm"]["calls"] >= 1 and rows["aten::addmm"]["flops"] > 0 and window["dur"] >= 0.9e6
        begins.append(trace["baseTimeNanoseconds"] / 1e9 + window["ts"] / 1e6)
    assert abs(begins[0] - begins[1]) < 10  # who hears of it late may begin so much later


def test_json_has_what_report_has_of_each_trace(tool, jobs, asked):
    folder = jobs[0][0]
    processes = json.loads((folder / "out.json").read_text())["processes"]
    assert sorted(p["rank"] for p in processes) == ["0", "1"] and asked[0].returncode == 0
    for process in processes:
        shown = json.loads(tool("report", "--overview", "--ops", "--json", "--limit=3", folder / process["trace"]).stdout)
        assert process == {"pid": process["pid"], "rank": process["rank"], "trace": f"out/trace_{process['pid']}.pt.trace.json", **shown}


def test_steps_are_counted_by_the_optimizer(tool, jobs, asked):
    folder, text = jobs[1][0], text_of(asked[1], jobs[1][0])
    ((_, path),) = traces(folder / "launch.torch")
    assert f"launch.torch/{path.name}" in text
    rows = {r["name"]: r["calls"] for r in json.loads(tool("report", "--ops", "--json", "--limit=0", path).stdout)["operators"]}
    assert rows["Optimizer.step#SGD.step"] == 3


# ---- what stands in for torch, and for a dynolog


STANDIN = ROOT / "tests" / "targets" / "kineto_standin.py"


@contextlib.contextmanager
def standin(folder, what, *roles, prefix=(), **environment):
    """The job's process and those of the roles, once all have asked for work."""
    (folder / "tmp").mkdir()
    env = {**os.environ, "KINETO_USE_DAEMON": "1", "TMPDIR": str(folder / "tmp"), **environment}
    p = subprocess.Popen([*prefix, sys.executable, STANDIN, what, folder, *roles], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield [p.pid, *map(int, p.stdout.readline().split()[1:])]
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()


def test_who_hears_late_is_waited_for_and_who_makes_no_steps_is_named(tool, tmp_path):
    with tempfile.TemporaryDirectory() as short, standin(tmp_path, "job", "late", "idle", KINETO_IPC_SOCKET_DIR=short) as (pid, late, idle):
        done = tool("attach", "--torch", "--steps=3", "--json", "-o", "out", pid, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == (f"leadline: process {idle} had not made an optimizer step yet, so its trace does not cover 3 steps; "
                                                    "try again once it trains, or use --seconds\n")
    rows = {p["pid"]: {r["name"]: r["calls"] for r in p["operators"]} for p in json.loads(done.stdout)["processes"]}
    assert rows == {late: {"aten::add": 4, "Optimizer.step#SGD.step": 3}, idle: {"aten::add": 4}}


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own, with dynolog's port free in it, needs root")
def test_a_dynolog_that_has_the_jobs_is_asked(tool, tmp_path):
    with standin(tmp_path, "dynolog", "plain", "plain", "silent", prefix=["unshare", "--net"], SLURM_JOB_ID="77") as (pid, first, second, silent):
        done = tool("attach", "--torch", "--steps=3", "--json", "-o", "out", pid, cwd=tmp_path)
        alone = tool("attach", "--torch", "--seconds=0.1", "--json", "-o", "alone", second, cwd=tmp_path)
        unheard = tool("attach", "--torch", "--single", silent, cwd=tmp_path)
    assert (done.returncode, done.stderr, alone.returncode, alone.stderr) == (0, "", 0, "")
    rows = {p["pid"]: {r["name"]: r["calls"] for r in p["operators"]} for p in json.loads(done.stdout)["processes"]}
    assert rows == {p: {"aten::add": 4, "Optimizer.step#SGD.step": 3} for p in (first, second)}
    assert [p["pid"] for p in json.loads(alone.stdout)["processes"]] == [second]
    assert unheard.returncode == 6 and f"has not heard from process {silent} yet; it asks every 5 s" in unheard.stderr and unheard.stderr.count("\n") == 1
    questions = [json.loads(line) for line in (tmp_path / "questions").read_text().splitlines()]
    assert [(q["fn"], q["job_id"]) for q in questions] == [("setKinetOnDemandRequest", 77)] * 3
    assert {pid, first, second} < set(questions[0]["pids"]) and questions[1]["pids"] == [second]
    assert not list((tmp_path / "tmp").iterdir())


def blocked(pid):
    """The signals it has blocked, as bits."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("SigBlk")).split()[1], 16)


def test_an_interrupt_leaves_nothing_behind(jobs):
    folder, pid = jobs[0]
    p = subprocess.Popen([LEADLINE, "attach", "--torch", "--steps=1", str(pid)], cwd=folder, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: list((folder / "tmp").glob("leadline*")), "the folder for traces")
    wait_until(lambda: blocked(p.pid) & 1 << signal.SIGINT - 1, "the signal to be taken")
    p.send_signal(signal.SIGINT)
    error = p.communicate(timeout=60)[1]
    assert (p.returncode, error) == (6, "leadline: attach: interrupted before any process looked for requests\n") or (p.returncode == 1 and "wrote no trace" in error)
    assert not list((folder / "tmp").glob("leadline*")) and not (folder / "dynolog").exists()


@pytest.mark.parametrize("prepared, words", [({}, "was not started for traces on demand: set KINETO_USE_DAEMON=1 before it starts"),
                                             ({"KINETO_USE_DAEMON": "1"}, "has not loaded torch, nor has any process it started; try again once it has")])
def test_a_process_that_cannot_be_asked_is_told_why(tool, prepared, words):
    p = subprocess.Popen(["sleep", "100"], env={**os.environ, **prepared})
    try:
        done = tool("attach", "--torch", p.pid)
    finally:
        p.kill()
        p.wait()
    assert done.returncode == 6 and f"leadline: attach: process {p.pid} {words}" in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize("options, words", [
    (["--steps", "3"], "--steps and --seconds need --torch"),
    (["--torch", "--steps", "3", "--seconds", "1"], "--steps and --seconds cannot be combined"),
    (["--torch", "--seconds", "2h"], "--seconds must be between 1 ms and 10 min"),
    (["--torch", "--steps", "1000000"], "--steps can be at most 100000"),
    (["--torch", "--rate", "10"], "only --seconds, --steps, -o, --limit, --json, --single and --color work with --torch")])
def test_options_that_do_not_fit(tool, options, words):
    done = tool("attach", *options, os.getpid())
    assert done.returncode == 2 and words in done.stderr


def test_the_variable_for_job_scripts_and_for_run(tool, tmp_path):
    done = tool("env", "--torch")
    assert done.returncode == 0
    assert subprocess.run(["sh", "-c", done.stdout + "\necho $KINETO_USE_DAEMON"], capture_output=True, text=True, check=True).stdout == "1\n"
    assert tool("env").returncode == 2 and tool("env", "--torch", "x").returncode == 2
    script = tmp_path / "x.py"
    script.write_text("import os\nprint(os.environ.get('KINETO_USE_DAEMON'))\n")
    for options, value in ([["--torch-daemon"], "1\n"], [[], "None\n"]):
        env = {k: v for k, v in os.environ.items() if k != "KINETO_USE_DAEMON"}
        assert tool("run", *options, "-o", tmp_path / f"{len(options)}.lead", "--python", sys.executable, script, env=env).stdout == value
