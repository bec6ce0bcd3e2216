"""The one door: a file is opened and read once, whatever it is. A named pipe proves it: whoever opens it a second time waits for ever, and whoever
reads its beginning twice never sees it again."""
import contextlib
import gzip
import json
import os
import subprocess

import conftest
import pytest
from torch_traces import trace

ORDERS = conftest.ROOT / "tests" / "data" / "orders.lead"
STUCK = 60  # seconds; nothing here takes one


@contextlib.contextmanager
def fed(tmp_path, data):
    """The path of a named pipe through which these bytes come once."""
    path, file = tmp_path / "fifo", tmp_path / "bytes"
    os.mkfifo(path)
    file.write_bytes(data)
    feeder = subprocess.Popen(["sh", "-c", 'exec cat "$0" >"$1"', file, path])
    try:
        yield path
    finally:
        feeder.kill()
        feeder.wait()


def run(*command):
    return subprocess.run([conftest.LEADLINE, *map(str, command)], capture_output=True, text=True, timeout=STUCK)


def as_trace(tmp_path):
    path = tmp_path / "orders.trace.json"
    assert run("export", "--force", ORDERS, "-o", path).returncode == 0
    return path.read_bytes()


FILES = {
    "torch": lambda tmp_path: gzip.decompress(trace("mlp_stack").read_bytes()),
    "torch packed": lambda tmp_path: trace("h200_conv").read_bytes(),
    "chrome": as_trace,
    "recording": lambda tmp_path: ORDERS.read_bytes(),
    "recording packed": lambda tmp_path: gzip.compress(ORDERS.read_bytes()),
    "collapsed": lambda tmp_path: b"main;a 3\nmain;b 1\n",
}
COMMANDS = {"functions": ["report", "--functions", "--json"], "collapsed": ["export", "--format", "collapsed"], "speedscope": ["export", "--format", "speedscope"]}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", FILES)
def test_a_pipe_is_read_as_a_file_is(tmp_path, what, command):
    data = FILES[what](tmp_path)
    (tmp_path / "file").write_bytes(data)
    theirs = run(*COMMANDS[command], tmp_path / "file")
    with fed(tmp_path, data) as fifo:
        ours = run(*COMMANDS[command], fifo)
    assert theirs.returncode == 0 and len(theirs.stdout) > 10, theirs.stderr
    assert (ours.returncode, ours.stdout, ours.stderr.replace("/fifo:", "/file:")) == (0, theirs.stdout, theirs.stderr)


@pytest.mark.parametrize("to", ["x.lead", "x.pt.trace.json"])
def test_a_trace_in_a_pipe_becomes_a_recording_and_a_trace(tmp_path, to):
    with fed(tmp_path, trace("conv_full").read_bytes()) as fifo:
        done = run("export", "--force", fifo, "-o", tmp_path / to)
    assert done.returncode == 0, done.stderr
    table = ["report", "--ops", "--torch", "--limit=-1"]
    assert run(*table, tmp_path / to).stdout == run(*table, trace("conv_full")).stdout != ""


def test_what_is_read_of_a_damaged_trace_of_torch_has_stacks_too_and_says_what_is_missing(tmp_path):
    text = gzip.decompress(trace("mlp_plain").read_bytes())
    (tmp_path / "t.json").write_bytes(text[: int(len(text) * 0.7)])
    done = run("report", "--functions", tmp_path / "t.json")
    assert done.returncode == 0 and "the file ends before its events do" in " ".join(done.stdout.split()), done.stderr


def test_stacks_of_a_trace_are_what_its_spans_say(tmp_path):
    """Every nanosecond of a thread that spans cover is counted once: the sum of all is the length of what they cover together."""
    events = [e for e in json.loads(gzip.decompress(trace("conv_full").read_bytes()))["traceEvents"] if e["ph"] == "X"]
    covered, threads = 0, {}
    for e in events:
        begin = round(e["ts"] * 1000)
        threads.setdefault((e["pid"], e["tid"]), []).append((begin, begin + round(e["dur"] * 1000)))
    for spans in threads.values():
        at = min(spans)[0]
        for begin, end in sorted(spans):
            covered += max(0, end - max(at, begin))
            at = max(at, end)
    (tmp_path / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    stacks = json.loads(run("export", "--format", "json", tmp_path / "t.json").stdout)["stacks"]
    assert sum(s["ns"] for s in stacks) == covered


def test_view_tells_what_a_trace_lost_although_its_stacks_are_whole(tmp_path):
    (tmp_path / "cut.pt.trace.json").write_bytes(gzip.decompress(trace("mlp_plain").read_bytes())[:20000])
    done = run("view", "--force", tmp_path / "cut.pt.trace.json", "-o", tmp_path / "x.html")
    assert done.returncode == 0 and done.stderr == f"leadline: {tmp_path}/cut.pt.trace.json: the file ends before its events do\n"
