"""Calls in the order of time: what `run --trace=timeline` keeps, on every interpreter, against the call tree's counts."""

import collections
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 60
UNITS = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1}  # of speedscope

PROGRAM = """
import os, signal, sys, threading

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def numbers(n):
    for i in range(n):
        yield abs(-i)

def fails(n):
    if n == 0:
        raise KeyError(n)
    fails(n - 1)

def deep(n):
    return deep(n - 1) if n else 0

def work():
    fib(12)
    total = sum(numbers(300))
    try:
        fails(5)
    except KeyError:
        pass
    left = numbers(3)
    next(left)
    sorted(range(20), key=lambda x: -x)
    deep(300)
    return total

def thread():
    for i in range(4):
        work()

def main():
    threads = [threading.Thread(target=thread) for _ in range(4)]
    for t in threads:
        t.start()
    work()
    for t in threads:
        t.join()
    if "fork" in sys.argv:
        child = os.fork()
        fib(10)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    if "kill" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)

main()
"""


class Timeline:
    """A recording's spans by thread, as speedscope gets them, and the counts of its call tree."""

    def __init__(self, recording, folder):
        said = subprocess.run([LEADLINE, "report", recording, "--json"], check=True, stdout=subprocess.PIPE, timeout=SECONDS)
        self.report = json.loads(said.stdout)
        self.calls = {(f["name"], f["file"], f["line"]): f["calls"] + int(f["resumes"]) for f in self.report["functions"]}
        path = f"{folder}/x.speedscope.json"
        subprocess.run([LEADLINE, "export", "--force", "--format", "speedscope-evented", "-o", path, recording], check=True, timeout=SECONDS)
        file = json.loads(Path(path).read_text())
        frames = [(f["name"], f.get("file", ""), f.get("line", 0)) for f in file["shared"]["frames"]]
        self.begins, self.spans = collections.Counter(), []
        for profile in file["profiles"]:
            self._take([(e["type"], frames[e["frame"]], e["at"] * UNITS[profile["unit"]]) for e in profile["events"]])

    def _take(self, events):
        stack, last = [], 0
        for what, frame, at in events:
            assert at >= last
            last = at
            if what == "O":
                self.begins[frame] += 1
                stack.append((frame, at))
            else:
                begun, since = stack.pop()
                assert begun == frame
                self.spans.append((frame, since, at, [f for f, _ in stack]))
        assert not stack


def timeline(label, *options, arguments=(), check=True, source=PROGRAM, then=None):
    """then: what else to find out of the recording, while it is there."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        script = Path(folder) / "program.py"
        script.write_text(source)
        result = subprocess.run(
            [LEADLINE, "run", "--trace=timeline", "-o", f"{own}/x.lead", *options, "--",
             *require(label).command(str(script), *arguments)],
            env={**os.environ, "TMPDIR": shared_folder(label)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=SECONDS)
        assert not check or result.returncode == 0, result.stderr
        found = Timeline(f"{own}/x.lead", own)
        found.result = result
        if then:
            then(found, f"{own}/x.lead", own)
        return found


@pytest.mark.parametrize("label", EXPECTED)
def test_every_call_is_there(label):
    """Spans nest, and there are as many of each function as the call tree counted calls and resumptions."""
    t = timeline(label)
    assert t.begins == {frame: n for frame, n in t.calls.items() if n}
    assert sum(t.begins.values()) > 10000
    fidelity = t.report["fidelity"]
    assert fidelity["timeline_lost"] == 0
    assert fidelity["timeline_events"] <= 2 * sum(t.begins.values())
    assert fidelity["timeline_bytes"] / fidelity["timeline_events"] <= 6
    callers = {tuple(f[0] for f in stack[-1:]) for (name, _, _), _, _, stack in t.spans if name == "fib"}
    assert callers == {("work",), ("fib",)}


def by_function(spans, begin, end):
    """{function: [begins, own seconds, seconds with what it calls]} in a window, added up from spans."""
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for frame, since, at, callers in spans:
        inside = max(0.0, min(at, end) - max(since, begin))
        sums[frame][0] += begin <= since < end
        sums[frame][1] += inside
        sums[frame][2] += inside if frame not in callers else 0
        if callers:
            sums[callers[-1]][1] -= inside
    return sums


@pytest.mark.parametrize("label", ["3.9", "3.11", "3.13", "3.13t"])
def test_a_window_is_what_was_in_it(label):
    """By the spans of the whole, and windows that touch one another add up to it."""
    def look_into_windows(t, recording, folder):
        def functions(*window):
            said = subprocess.run([LEADLINE, "report", recording, "--json", *window], check=True, stdout=subprocess.PIPE, timeout=SECONDS)
            return {(f["name"], f["file"], f["line"]): f for f in json.loads(said.stdout)["functions"]}

        times = sorted(at for _, since, at, _ in t.spans)
        first, second = (f"{times[len(times) * part // 3]:.9f}s" for part in (1, 2))
        windows = [functions("--to", first), functions("--from", first, "--to", second), functions("--from", second)]
        whole, true = functions(), by_function(t.spans, float(first[:-1]), float(second[:-1]))
        for frame, f in whole.items():
            for key in ("calls", "resumes", "raw_self"):
                assert sum(w[frame][key] for w in windows if frame in w) == pytest.approx(f[key], abs=0 if key != "raw_self" else 1e-5), (frame, key)
        assert set(windows[1]) == {frame for frame, (n, own, total) in true.items() if n or total > 0}
        for frame, f in windows[1].items():
            assert f["calls"] + f["resumes"] == true[frame][0], frame
            assert [f["raw_self"], f["raw_total"]] == pytest.approx(true[frame][1:], abs=1e-5), frame
        path = f"{folder}/part.speedscope.json"
        subprocess.run([LEADLINE, "export", "--from", first, "--to", second, "--format", "speedscope-evented", "-o", path, recording], check=True, timeout=SECONDS)
        at = [e["at"] * UNITS[profile["unit"]] for profile in json.loads(Path(path).read_text())["profiles"] for e in profile["events"]]
        assert float(first[:-1]) - 1e-9 <= min(at) and max(at) <= float(second[:-1]) + 1e-9

    timeline(label, then=look_into_windows)


@pytest.mark.parametrize("options", [["--trace"], ["--trace=timeline", "--min-duration", "1us"]])
def test_without_all_calls_in_time_there_are_no_windows(options, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    subprocess.run([LEADLINE, "run", *options, "-o", tmp_path / "x.lead", tmp_path / "p.py"], check=True, capture_output=True, timeout=SECONDS)
    done = subprocess.run([LEADLINE, "report", "--from", "1ms", tmp_path / "x.lead"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode and "run --trace=timeline" in done.stderr and len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("label", ("3.11", "3.12"))
def test_fork(label):
    """A child has a timeline of its own, below the calls that were open when it was made, and os._exit loses none of it."""
    t = timeline(label, arguments=("fork",))
    fib = next(frame for frame in t.calls if frame[0] == "fib")
    below = collections.Counter(frame for frame, _, _, stack in t.spans if [f[0] for f in stack[:2]] == ["<module>", "main"])
    assert t.begins[fib] == t.calls[fib] == below[fib] + 16 * 465
    assert below[fib] == 465 + 2 * 177


@pytest.mark.parametrize("label", ("3.10", "3.13"))
def test_killed(label):
    """What was complete when the program was killed is there: SIGKILL leaves it no moment to send anything."""
    t = timeline(label, arguments=("kill",), check=False)
    assert t.result.returncode == 128 + 9
    own = {frame: n for frame, n in t.calls.items() if frame[0] in ("fib", "numbers", "fails", "deep", "work", "thread")}
    assert len(own) == 6
    assert {frame: t.begins[frame] for frame in own} == own


def test_min_duration():
    """Short calls leave nothing, long ones are there with all their callers."""
    source = """
import time
def short():
    return 1
def long():
    for i in range(1000):
        short()
    time.sleep(0.06)
def main():
    for i in range(3):
        long()
        short()
main()
"""
    t = timeline("3.13", "--min-duration", "50ms", source=source)
    names = collections.Counter(frame[0] for frame, _, _, _ in t.spans)
    assert names["long"] == 3 and names["main"] == 1 and "short" not in names
    assert all(end - begin >= 0.05 - 1e-9 for _, begin, end, _ in t.spans)
    assert {tuple(f[0] for f in stack) for frame, _, _, stack in t.spans if frame[0] == "long"} == {("<module>", "main")}


@pytest.mark.parametrize("words, said", [
    (("--trace=tree",), "--trace takes no value or =timeline"),
    (("--trace", "--min-duration", "1ms"), "--trace=timeline"),
    (("--trace=timeline", "--min-duration", "5"), "at most 4 s"),
])
def test_usage(words, said, tmp_path):
    result = subprocess.run([LEADLINE, "run", *words, "x.py"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 125 and said in result.stderr and not list(tmp_path.iterdir())
