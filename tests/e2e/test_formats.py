"""Files of other tools: what we write is read by the tool it is for, and says what `report` says; what others
write is read by us, and says what they say."""
import csv
import gzip
import json
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree

import conftest
import consumers
import pytest

ORDERS = conftest.ROOT / "tests" / "data" / "orders.lead"
LEFT_OUT = f"leadline: {ORDERS}: left out: 1 idle thread and waits for work, 63.7 % of all sampled time; --idle counts them\nleadline: {ORDERS}: imports are in one row; --imports opens it\n"


@pytest.fixture
def truth(tool):
    """report --json of the recording: the functions by name, self and total in seconds."""
    r = json.loads(tool("report", ORDERS, "--threads", "--json").stdout)
    # What was lost is nobody's time in a report; files tell of what was seen.
    seen = r["total"] / sum(f["self"] for f in r["functions"])
    functions = {}
    for f in r["functions"]:
        own, total = functions.get(f["name"], (0, 0))
        functions[f["name"]] = (own + f["self"] * seen, total + f["total"] * seen)
    names = [f["name"] for f in r["functions"]]
    return {"functions": functions, "seconds": r["total"], "ambiguous": {n for n in names if names.count(n) > 1}}


def written(tool, format, path, source=ORDERS):
    r = tool("export", "--force", source, "--format", format, "-o", path)
    assert r.returncode == 0 and not r.stdout, r.stderr
    assert source != ORDERS or format == "dat" or r.stderr == LEFT_OUT
    return path


def read_back(tool, path):
    r = tool("report", path, "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def same_functions(tool, truth, path, within=1e-6):
    got = {}
    for f in read_back(tool, path)["functions"]:
        own, total = got.get(f["name"], (0, 0))
        got[f["name"]] = (own + f["self"], total + f["total"])
    assert got.keys() == truth["functions"].keys()
    for name, (own, total) in truth["functions"].items():
        assert got[name] == pytest.approx((own, total), abs=within), name


# ---- speedscope ----------------------------------------------------------------------------------------------


def replayed(profile):
    """Self time by frame of an evented profile, checked as speedscope itself does."""
    own, stack, last = {}, [], profile["startValue"]
    for event in profile["events"]:
        assert event["at"] >= last
        if stack:
            own[stack[-1]] = own.get(stack[-1], 0) + event["at"] - last
        last = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert not stack and last <= profile["endValue"]
    return own


def sampled(profile):
    assert len(profile["samples"]) == len(profile["weights"])
    assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
    own = {}
    for stack, weight in zip(profile["samples"], profile["weights"]):
        own[stack[-1]] = own.get(stack[-1], 0) + weight
    return own


@pytest.mark.parametrize("format, self_of", [("speedscope", sampled), ("speedscope-evented", replayed)])
def test_speedscope(tool, truth, tmp_path, format, self_of):
    path = written(tool, format, tmp_path / "x.speedscope.json")
    consumers.python("import json, sys, jsonschema; jsonschema.validate(json.load(open(sys.argv[1])),"
                     "json.load(open(sys.argv[2])))", path, consumers.data("speedscope.schema.json"))
    file = json.loads(path.read_text())
    frames = file["shared"]["frames"]
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    assert all(isinstance(p["endValue"], int) and p["unit"] == "nanoseconds" for p in file["profiles"])
    own = {}
    for profile in file["profiles"]:
        for frame, ns in self_of(profile).items():
            own[frames[frame]["name"]] = own.get(frames[frame]["name"], 0) + ns / 1e9
    for name, seconds in own.items():
        assert seconds == pytest.approx(truth["functions"][name][0], abs=1e-6), name
    assert sum(own.values()) == pytest.approx(truth["seconds"], abs=1e-5)
    same_functions(tool, truth, path)


@pytest.mark.parametrize("format", ["speedscope", "speedscope-evented"])
def test_speedscope_itself(tool, tmp_path, format):
    """The app in Chromium: of the thread it opens with, its table of functions has our self and total times."""
    if not (conftest.ROOT / "ui" / "node_modules" / "playwright-core").exists() or not shutil.which("chromium"):
        pytest.skip("no npm packages or no Chromium: tools/setup test")
    path = written(tool, format, tmp_path / "x.speedscope.json")
    done = subprocess.run(["node", conftest.ROOT / "tests" / "e2e" / "speedscope.mjs", consumers.data("speedscope"), path, "120"],
                          capture_output=True, text=True, timeout=300, check=True)
    shown = json.loads(done.stdout)
    assert "failed" not in shown and not shown["errors"], shown
    assert shown["title"].startswith("python3.12 orders.py")
    rows = {name: (seconds(total), seconds(own)) for total, own, name in shown["rows"]}
    truth = main_thread(tool)
    assert len(rows) > 15
    for name in rows.keys() & truth.keys():
        own, total = truth[name]
        assert rows[name] == pytest.approx((total, own), rel=0.006, abs=6e-6), name


def seconds(words):
    """"857.83ms (69%)" as speedscope writes it."""
    number, unit = re.match(r"([\d.]+)(ns|µs|ms|s)", words).groups()
    return float(number) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]


def test_speedscope_frames_behind_profiles_as_py_spy_writes_them(tool, tmp_path):
    file = {"$schema": "https://www.speedscope.app/file-format-schema.json",
            "profiles": [{"type": "sampled", "name": "MainThread", "unit": "seconds", "startValue": 0, "endValue": 3,
                          "samples": [[0, 1], [0], [0, 1, 1]], "weights": [1, 0.5, 1.5]},
                         {"type": "sampled", "name": "bytes", "unit": "bytes", "startValue": 0, "endValue": 3,
                          "samples": [[0]], "weights": [3]}],
            "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3},
                                  {"name": "work", "file": "a.py", "line": 9, "col": None}]}}
    path = tmp_path / "spy.json"
    path.write_text(json.dumps(file))
    r = read_back(tool, path)
    assert {f["name"]: (f["self"], f["total"]) for f in r["functions"]} == {"work": (2.5, 2.5), "main": (0.5, 3.0)}
    assert r["bound"]["verdict"] is None and r["wall_s"] is None
    text = tool("report", path).stdout
    assert "1 profiles in other units were left out" in text and "a.py:9" in text


# ---- pprof ---------------------------------------------------------------------------------------------------


def ms(word):
    return float(re.fullmatch(r"([\d.]+)ms|0", word).group(1) or 0)


def top(path, *options):
    """Rows of pprof -top in ms: name → (flat, cum)."""
    text = consumers.output("pprof", "-top", "-unit=ms", "-nodefraction=0", "-nodecount=100000", *options, path)
    rows = {}
    for line in text.split("cum%\n")[1].splitlines():
        flat, _, _, cum, _, name = line.split(None, 5)
        old = rows.get(name, (0, 0))
        rows[name] = (old[0] + ms(flat), old[1] + ms(cum))
    return rows, text


def test_pprof(tool, truth, tmp_path):
    path = written(tool, "pprof", tmp_path / "x.pb.gz")
    rows, text = top(path)
    assert "Type: wall" in text and "Main binary" not in text
    assert set(rows) == set(truth["functions"])
    for name, (own, total) in truth["functions"].items():
        assert rows[name][0] == pytest.approx(own * 1e3, abs=0.011), name
        if name not in truth["ambiguous"]:  # pprof counts a stack with two of a name once
            assert rows[name][1] == pytest.approx(total * 1e3, abs=0.011), name
    assert "orders.py:" in consumers.output("pprof", "-top", "-lines", path)
    cpu, _ = top(path, "-sample_index=cpu")
    on_cpu = json.loads(tool("report", ORDERS, "--state", "cpu", "--json").stdout)
    assert sum(own for own, _ in cpu.values()) == pytest.approx(on_cpu["total"] * 1e3, rel=1e-3)
    raw = consumers.output("pprof", "-raw", path)
    assert "samples/count wall/nanoseconds[dflt] cpu/nanoseconds" in raw and "thread_id:[" in raw
    same = consumers.output("pprof", "-top", f"-diff_base={path}", path)
    assert re.search(r"accounting for 0(ns)?,", same)
    same_functions(tool, truth, path)


def test_pprof_as_go_writes_it_again(tool, truth, tmp_path):
    """pprof's own encoder: its ids and order of fields are others than ours."""
    path = written(tool, "pprof", tmp_path / "x.pb.gz")
    again = tmp_path / "again.pb.gz"
    consumers.output("pprof", "-proto", f"-output={again}", path)
    assert gzip.decompress(again.read_bytes()) != gzip.decompress(path.read_bytes())
    same_functions(tool, truth, again)


@pytest.mark.parametrize("lines", [[], ["-lines"]])
def test_report_as_pprof_text(tool, tmp_path, lines):
    """The same page to the letter as Go's pprof makes of the exported file."""
    path = written(tool, "pprof", tmp_path / "x.pb.gz")
    for few, ours in (([], []), (["-nodecount=7"], ["--limit", "7"])):
        theirs = consumers.output("pprof", "-text", *lines, *few, path, env={"TZ": "UTC", "HOME": str(tmp_path)})
        r = tool("report", ORDERS, "--pprof-text", *ours, *(["--lines"] if lines else []), env={"TZ": "UTC"})
        assert r.stdout == theirs


def test_gperftools(tool, tmp_path):
    """The old CPU profile, which Go's pprof still reads: the same stacks and times."""
    words = [0, 3, 0, 10000, 0, 5, 2, 0x401010, 0x402021, 7, 3, 0x7f0000000100, 0x401050, 0x402021, 0, 1, 0]
    path = tmp_path / "old.prof"
    path.write_bytes(struct.pack(f"<{len(words)}Q", *words) +
                     b"00400000-00500000 r-xp 00000000 08:01 12 /usr/bin/python3.11\n"
                     b"7f0000000000-7f0000100000 r-xp 00001000 08:01 13 /lib/libc.so.6\n")
    r = read_back(tool, path)
    assert {f["name"]: (f["self"], f["total"], f["self_samples"]) for f in r["functions"]} == {
        "libc.so.6+0x1100": (0.07, 0.07, 7), "python3.11+0x1010": (0.05, 0.05, 5),
        "python3.11+0x104f": (0, 0.07, 0), "python3.11+0x2020": (0, pytest.approx(0.12), 0)}
    raw = consumers.output("pprof", "-raw", path)
    for words in ("5   50000000: 1 2", "7   70000000: 3 4 2", "0x402020 M=1", "0x40104f M=1"):
        assert words in raw


# ---- the Firefox Profiler, and what it imports ---------------------------------------------------------------


def main_thread(tool):
    """Self and total seconds of the busiest thread's functions, as report has them."""
    threads = json.loads(tool("report", ORDERS, "--idle", "--threads", "--json").stdout)["threads"]
    tid = max(threads, key=lambda t: t["on_cpu_s"])["tid"]
    r = json.loads(tool("report", ORDERS, "--thread", tid, "--json").stdout)
    seen = r["total"] / sum(f["self"] for f in r["functions"])
    names = [f["name"] for f in r["functions"]]
    return {f["name"]: (f["self"] * seen, f["total"] * seen) for f in r["functions"] if names.count(f["name"]) == 1}


def test_firefox(tool, tmp_path):
    path = written(tool, "firefox", tmp_path / "x.firefox.json")
    with consumers.Firefox(path, tmp_path) as firefox:
        got = firefox.ask("thread", "functions", "--include-idle")
        threads = firefox.ask("profile", "info", "--all")
    assert got["weightType"] == "tracing-ms"
    truth = main_thread(tool)
    got = {f["name"]: (f["selfSamples"] / 1e3, f["totalSamples"] / 1e3) for f in got["functions"]}
    assert all(got[name] == pytest.approx(figures, abs=1e-6) for name, figures in truth.items())
    assert len([t for p in threads["processes"] for t in p["threads"]]) == 2


def test_firefox_is_read(tool, truth, tmp_path):
    same_functions(tool, truth, written(tool, "firefox", tmp_path / "x.firefox.json"))


def test_firefox_of_cpythons_sampler(tool):
    """What `python3.15 -m profiling.sampling run --gecko` wrote: tables in each thread, strings behind them."""
    path = conftest.ROOT / "tests" / "data" / "sampling-3.15.firefox.json"
    profile = json.loads(path.read_text())
    own, total = {}, {}
    for thread in profile["threads"]:
        stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
        for stack in thread["samples"]["stack"]:
            names = []
            while stack is not None:
                names.append(profile["shared"]["stringArray"][functions["name"][frames["func"][stacks["frame"][stack]]]])
                stack = stacks["prefix"][stack]
            own[names[0]] = own.get(names[0], 0) + 1
            for name in set(names):
                total[name] = total.get(name, 0) + 1
    got = {f["name"]: (f["self"], f["total"]) for f in read_back(tool, path)["functions"]}
    assert got == {name: (own.get(name, 0), total[name]) for name in total}
    assert got["inner"][0] > 500


def test_cpuprofile(tool, tmp_path):
    path = written(tool, "cpuprofile", tmp_path / "x.cpuprofile")
    profile, truth = json.loads(path.read_text()), main_thread(tool)
    own = {}
    times = [sum(profile["timeDeltas"][:i + 1]) for i in range(len(profile["timeDeltas"]))] + [profile["endTime"]]
    nodes = {n["id"]: n for n in profile["nodes"]}
    for i, sample in enumerate(profile["samples"]):
        name = nodes[sample]["callFrame"]["functionName"]
        own[name] = own.get(name, 0) + (times[i + 1] - times[i]) / 1e6
    assert all(own.get(name, 0) == pytest.approx(seconds, abs=3e-3) for name, (seconds, _) in truth.items())
    assert sum(n["hitCount"] for n in nodes.values()) == len([s for s in profile["samples"] if s != 1])
    assert {c for n in nodes.values() for c in n.get("children", [])} == nodes.keys() - {1}
    with consumers.Firefox(path, tmp_path) as firefox:
        got = firefox.ask("thread", "functions", "--include-idle")
    counted = {f["name"].rpartition("!")[2]: f["selfSamples"] for f in got["functions"]}
    top = max(truth, key=lambda name: truth[name][0])
    assert max(counted, key=counted.get) == top and counted.keys() <= {n["callFrame"]["functionName"] for n in nodes.values()}


def test_chrome(tool, truth, tmp_path):
    """Events nest, times add up to what report says; the Firefox Profiler finds them all."""
    path = written(tool, "chrome", tmp_path / "x.trace.json")
    trace = json.loads(path.read_text())
    own, total, stacks, last, n_calls = {}, {}, {}, {}, {}
    for e in (e for e in trace["traceEvents"] if e["ph"] != "M"):
        tid, at = e["tid"], round(e["ts"] * 1e3)
        stack = stacks.setdefault(tid, [])
        assert at >= last.get(tid, 0), e
        if stack:
            name = stack[-1][0]
            own[name] = own.get(name, 0) + at - last[tid]
        if e["ph"] == "B":
            stack.append((e["name"], at))
            n_calls[tid] = n_calls.get(tid, 0) + 1
        else:
            name, begun = stack.pop()
            if name not in [n for n, _ in stack]:
                total[name] = total.get(name, 0) + at - begun
        last[tid] = at
    assert not any(stacks.values())
    for name in truth["functions"].keys() - truth["ambiguous"]:
        assert (own.get(name, 0) / 1e9, total[name] / 1e9) == pytest.approx(truth["functions"][name], abs=2e-6), name
    with consumers.Firefox(path, tmp_path) as firefox:
        got = firefox.ask("thread", "markers")
    assert got["totalMarkerCount"] in n_calls.values()


def test_chrome_is_read(tool, truth, tmp_path):
    same_functions(tool, truth, written(tool, "chrome", tmp_path / "x.trace.json"), within=2e-6)


def test_chrome_of_others(tool, tmp_path):
    """As torch writes it: complete events in any order, ids that are words, an overlap, what is no span."""
    path = tmp_path / "trace.json"
    span = {"ph": "X", "cat": "cpu_op", "pid": 7, "tid": 8}
    events = [{**span, "name": "aten::mm", "ts": 1000.5, "dur": 300}, {**span, "name": "step", "ts": 1000, "dur": 1000},
              {**span, "name": "aten::add", "ts": 1900, "dur": 500},  # reaches beyond step
              {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "worker"}},
              {"ph": "X", "name": "kernel", "pid": "GPU 0", "tid": "stream 7", "ts": "1100", "dur": 50, "args": {"grid": [1]}},
              {"ph": "i", "name": "instant", "pid": 7, "tid": 8, "ts": 1}, {"ph": "s", "id": 1, "pid": 7, "tid": 8, "ts": 2},
              {"ph": "B", "name": "open", "pid": 9, "tid": 9, "ts": 1500}, {"ph": "B", "name": "in", "pid": 9, "tid": 9, "ts": 1600},
              {"ph": "E", "pid": 9, "tid": 9, "ts": 1700}]
    for text in (json.dumps({"schemaVersion": 1, "traceEvents": events}), json.dumps(events)):
        path.write_text(text)
        r = json.loads(tool("report", "--functions", "--json", path).stdout)
        got = {f["name"]: (f["self"] * 1e6, f["total"] * 1e6) for f in r["functions"]}
        assert got == {"step": pytest.approx((600, 1000)), "aten::mm": pytest.approx((300, 300)),
                       "aten::add": pytest.approx((100, 100)), "kernel": pytest.approx((50, 50)),
                       "open": pytest.approx((800, 900)), "in": pytest.approx((100, 100))}
        assert "1 events reach beyond" in " ".join(tool("report", "--functions", path).stdout.split())


def test_perf_script(tool, tmp_path):
    path = tmp_path / "perf.txt"
    path.write_text("# captured by perf\n"
                    "python3 -m x  12/13 [001] 100.000000:     250000 cpu-clock:u: \n"
                    "\t    7f12 leaf+0x10 (/usr/lib/libx.so)\n\t    55aa operator()(int) (/usr/bin/python3)\n"
                    "\t       0 [unknown] ([unknown])\n\n"
                    "python3 -m x  12/13 [001] 100.250000:     750000 cpu-clock:u: \n"
                    "\t    55aa operator()(int) (/usr/bin/python3)\n\n"
                    "swapper     0 [000] 100.300000:     1 faults: \n\t 1 page_fault+0x1 ([kernel])\n\n")
    r = read_back(tool, path)
    got = {(f["name"], f["file"]): (f["self"], f["total"]) for f in r["functions"]}
    assert got == {("leaf", "/usr/lib/libx.so"): pytest.approx((0.00025, 0.00025)),
                   ("operator()(int)", "/usr/bin/python3"): pytest.approx((0.00075, 0.001)),
                   ("[unknown]", "[unknown]"): pytest.approx((0, 0.00025))}
    page = " ".join(tool("report", path, "--threads").stdout.split())
    assert "python3 -m x" in page and "1 samples of other events were left out" in page


@pytest.mark.parametrize("text, words", [
    ('{"traceEvents": [{"ph": "X", "ts": 1', "read as a chrome file: byte"), ('{"traceEvents": 5}', "traceEvents is not an array"),
    ('{"traceEvents": []}', "it holds no spans"), ('{"traceEvents": [7]}', "an event is not an object"),
    ("# callgrind format\nfn=(1)\n", "line 2: a name's number was not defined"),
    ("# callgrind format\nevents: Ir\n", "it holds no functions"),
    ("# callgrind format\nevents: Ir\nfn=f\nwhat\n", "line 4: neither a cost nor"),
    ("# callgrind format\nevents: Ir\nfn=f\ncfn=g\ncalls=1 2\n", "it ends within a call"),
    ("MEM 1 2\nMEM 1\n", "line 2: expected MEM, MiB and seconds"), ("MEM 1 2\nwhat\n", "line 2: neither MEM"),
    ('{"meta": {"processType": 0}, "threads": []}', "it is not processed"),
    ('{"meta": {"preprocessedProfileVersion": 57}, "threads": []}', "it holds no samples"),
    ('{"meta": {"preprocessedProfileVersion": 57}, "threads": [{"samples": {"stack": [0]}}]}', "no tables of stacks"),
    ('{"meta": {"preprocessedProfileVersion": 57}, "threads": [{"samples": {"sta', "read as a firefox file: byte"),
    ("x 1 2.000000: 1 cycles:\n\tzz what\n", "line 2: expected an address and a symbol"),
    ("x 1 2.000000: 1 cycles:\n\t12 f (x)\n\nwhat\n", "line 4: neither a sample nor a frame")])
def test_damaged_files_of_these(tool, tmp_path, text, words):
    path = tmp_path / "damaged"
    path.write_text(text)
    r = tool("report", path)
    assert r.returncode == 6 and words in r.stderr.splitlines()[0], r.stderr


# ---- others --------------------------------------------------------------------------------------------------


def test_json(tool, truth, tmp_path):
    d = json.loads(written(tool, "json", tmp_path / "x.json").read_text())
    own, total = {}, {}
    for s in d["stacks"]:
        names = [d["functions"][f]["name"] for f in s["functions"]]
        own[names[-1]] = own.get(names[-1], 0) + s["ns"] / 1e9
        for f in set(s["functions"]):
            total[d["functions"][f]["name"]] = total.get(d["functions"][f]["name"], 0) + s["ns"] / 1e9
        assert len(s["lines"]) == len(s["functions"])
    for name, (self_s, total_s) in truth["functions"].items():
        assert (own.get(name, 0), total[name]) == pytest.approx((self_s, total_s), abs=1e-6), name


def test_png(tool, tmp_path):
    path = written(tool, "png", tmp_path / "x.png")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.read_bytes()[-8:-4] == b"IEND"
    r = tool("export", "--force", ORDERS, "-o", tmp_path / "y.png", env={"PATH": str(tmp_path)})
    assert r.returncode == 127 and "Graphviz' dot, which is not installed" in r.stderr


def test_dat(tool, tmp_path):
    path = written(tool, "dat", tmp_path / "x.dat")
    lines = path.read_text().splitlines()
    assert lines[0] == "CMDLINE python3.12 orders.py"
    peak = json.loads(tool("report", ORDERS, "--json").stdout)["peak_tree_rss_bytes"]
    assert max(float(l.split()[1]) for l in lines[1:]) == pytest.approx(peak / 2**20, abs=1e-6)
    assert consumers.output("mprof", "peak", path).split()[1:] == [f"{peak / 2**20:.3f}", "MiB"]
    folded = tmp_path / "x.folded"
    folded.write_text("a;b 1\n")
    r = tool("export", "--force", folded, "-o", tmp_path / "y.dat")
    assert r.returncode == 2 and "no memory over time" in r.stderr


def test_dat_is_read(tool, tmp_path):
    path = written(tool, "dat", tmp_path / "x.dat")
    r = read_back(tool, path)
    whole = json.loads(tool("report", ORDERS, "--json").stdout)
    assert r["peak_tree_rss_bytes"] == pytest.approx(whole["peak_tree_rss_bytes"], abs=1)
    assert r["command"] == whole["command"] and r["user_s"] is None and r["bound"]["verdict"] is None
    looks = [line.split()[1] for line in path.read_text().splitlines()[1:]]
    again = tool("export", path, "--format", "dat").stdout.splitlines()
    assert [line.split()[1] for line in again[1:]] == looks


def test_dat_of_mprof(tool, tmp_path):
    """A program that memory_profiler watched: its peak is mprof's own; calls are regions, children processes."""
    script, path = tmp_path / "x.py", tmp_path / "x.dat"
    script.write_text("import time\nx = bytearray(20 << 20)\ntime.sleep(0.3)\n")
    consumers.output("mprof", "run", "-T", "0.02", "-o", path, "--python", script, cwd=tmp_path)
    peak = float(consumers.output("mprof", "peak", path).split()[-2])
    assert read_back(tool, path)["peak_tree_rss_bytes"] / 2**20 == pytest.approx(peak, abs=0.001)
    with path.open("a") as file:
        start = float(path.read_text().splitlines()[1].split()[2])
        file.write(f"FUNC load all 1.0 {start + 0.1} 2.0 {start + 0.35} 0\nCHLD 0 3.5 {start + 100}\n")
    r = tool("report", path, "--processes")
    assert "load all" in r.stdout and "250 ms" in r.stdout and "at most 3.50 MiB" not in r.stdout, r.stdout


# ---- perfetto ------------------------------------------------------------------------------------------------

REPLAY = """
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
trace = pb.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
names, tracks, stacks, own, last = {}, {}, {}, {}, {}
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id == 1
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if not packet.HasField("track_event"):
        continue
    event, at = packet.track_event, packet.timestamp
    assert tracks[event.track_uuid].thread.tid and tracks[tracks[event.track_uuid].parent_uuid].process.pid
    stack = stacks.setdefault(event.track_uuid, [])
    if stack:
        own[stack[-1]] = own.get(stack[-1], 0) + at - last[event.track_uuid]
    assert at >= last.get(event.track_uuid, 0)
    last[event.track_uuid] = at
    if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
        stack.append(names[event.name_iid])
    else:
        assert event.type == pb.TrackEvent.TYPE_SLICE_END and stack.pop()
assert not any(stacks.values())
print(json.dumps(own))
"""


def test_perfetto(tool, truth, tmp_path):
    """Perfetto's own classes read it; slices nest, and self times are the report's."""
    path = written(tool, "perfetto", tmp_path / "x.pftrace")
    own = json.loads(consumers.python(REPLAY, path))
    for name, ns in own.items():
        assert ns / 1e9 == pytest.approx(truth["functions"][name][0], abs=1e-6), name
    assert sum(own.values()) / 1e9 == pytest.approx(truth["seconds"], abs=1e-5)


# ---- tables --------------------------------------------------------------------------------------------------


def test_tables(tool, tmp_path):
    functions = json.loads(tool("report", ORDERS, "--json").stdout)["functions"]
    path = tmp_path / "x.csv"
    assert tool("export", "--force", ORDERS, "-o", path).returncode == 0
    rows = list(csv.DictReader(path.open(newline="")))
    assert [(r["function"], r["file"], int(r["line"]), r["calls"]) for r in rows] == [
        (f["name"], f["file"], f["line"], "") for f in functions]
    for row, f in zip(rows, functions):
        assert float(row["self_s"]) == pytest.approx(f["self"], abs=1e-8)
        assert float(row["total_s"]) == pytest.approx(f["total"], abs=1e-8)
    assert tool("export", "--force", ORDERS, "-o", tmp_path / "x.md").returncode == 0
    lines = (tmp_path / "x.md").read_text().splitlines()
    assert lines[2].endswith("| `json/encoder.py:278` |") and len({line.count("|") for line in lines[:42]}) == 1
    calls = tool("export", profiled(tmp_path / "x.prof"), "--format", "csv").stdout
    fib = next(r for r in csv.DictReader(calls.splitlines()) if r["function"] == "fib")
    assert int(fib["calls"]) == sum(2 * f - 1 for f in [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610])


# ---- call graphs ---------------------------------------------------------------------------------------------


@pytest.fixture
def folded(tool, tmp_path):
    """Plain names, one thread, no recursion (gprof2dot only estimates its totals): what both understand alike."""
    file = json.loads(written(tool, "speedscope", tmp_path / "plain.json").read_text())
    names = [f"{f['name']} {i}" for i, f in enumerate(file["shared"]["frames"])]
    stacks = {}
    for stack, weight in zip(file["profiles"][0]["samples"], file["profiles"][0]["weights"]):
        key = ";".join(names[i] for i in dict.fromkeys(stack))
        if "[imports]" not in key:  # a root of its own, too: gprof2dot gives the other one 100 % all the same
            stacks[key] = stacks.get(key, 0) + weight
    path = tmp_path / "plain.folded"
    path.write_text("".join(f"{stack} {weight}\n" for stack, weight in stacks.items()))
    return path


def graph(text):
    """Nodes and edges of dot's language by name, with their attributes."""
    line = r'^\t("[^"]*"|\w+)(?: -> ("[^"]*"|\w+))? \[((?:color|arrowsize)=.*)\];$'
    rows = [(r.group(1), r.group(2), dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', r.group(3))))
            for r in re.finditer(line, text, re.MULTILINE)]
    names = {source: attributes["label"].split("\\n")[0] for source, target, attributes in rows if not target}
    nodes = {names[source]: attributes for source, target, attributes in rows if not target}
    edges = {(names[s], names[t]): attributes for s, t, attributes in rows if t}
    for (source, target), attributes in edges.items():
        if source == target:
            del attributes["label"]  # gprof2dot has none there
    return nodes, edges


@pytest.mark.parametrize("options", [[], ["-n", "2", "-e", "1.5"], ["-c", "pink", "--skew", "0.3"],
                                     ["--color-nodes-by-selftime", "-c", "gray"], ["-c", "bw", "-n", "0", "-e", "0"],
                                     ["-c", "print"]])
def test_dot_is_what_gprof2dot_draws(tool, folded, options):
    theirs = graph(consumers.output("gprof2dot", "-f", "collapse", *options, folded))
    ours = graph(tool("export", folded, "--format", "dot", *options).stdout)
    assert len(theirs[0]) > 5 and len(theirs[1]) > 4
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]


def profiled(path):
    """A cProfile file with recursion, C functions and generators."""
    code = ("def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
            "def work(): return sorted(str(fib(i)) for i in range(15))\n"
            "import cProfile; p = cProfile.Profile(); p.runcall(work); p.dump_stats(__import__('sys').argv[1])\n")
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    return path


def test_dot_of_a_cprofile_file_is_what_gprof2dot_draws(tool, tmp_path):
    path = profiled(tmp_path / "x.prof")
    nodes, edges = graph(consumers.output("gprof2dot", "-f", "pstats", "-n", "0", "-e", "0", path))
    ours = graph(tool("export", path, "--format", "dot", "-n", "0", "-e", "0").stdout)
    # gprof2dot writes C functions as "~:0:<…>", we as pstats prints them.
    renamed = {name: re.sub(r"^~:0:<(.*)>$", r"{\1}", name) for name in nodes}
    for name, attributes in nodes.items():
        attributes["label"] = attributes["label"].replace(name, renamed[name])
        if name != renamed[name]:
            del attributes["tooltip"]
    assert ours[0] == {renamed[name]: attributes for name, attributes in nodes.items()}
    assert {e: a["penwidth"] for e, a in ours[1].items()} == {
        (renamed[s], renamed[t]): a["penwidth"] for (s, t), a in edges.items()}
    r = tool("export", path, "--format", "collapsed")
    assert r.returncode == 2 and "needs stacks" in r.stderr


def test_dot_of_a_part(tool, tmp_path):
    path = tmp_path / "x.dot"
    assert tool("export", "--force", ORDERS, "-o", path, "--root", "Book.save").returncode == 0
    assert "Book.save" in path.read_text() and "main" not in path.read_text()
    assert tool("export", "--force", ORDERS, "-o", path, "--leaf", "*.encode").returncode == 0
    assert "JSONEncoder.encode" in path.read_text() and "_iterencode" not in path.read_text()
    assert consumers.output("dot", "-Tplain", path).startswith("graph ")
    assert "expects a number" in tool("export", "--force", ORDERS, "-o", path, "-n", "x").stderr


# ---- callgrind -----------------------------------------------------------------------------------------------


def annotated(path, *options):
    """callgrind_annotate's table: function → ns."""
    rows = {}
    for line in consumers.output("callgrind_annotate", "--threshold=100", "--auto=no", *options, path).splitlines():
        found = re.match(r" *([\d,]+) \([ \d.]+%\) +[\d,]+ \([ \d.]+%\)  (\S.*):(.*)$", line)
        if found:
            rows[found.group(2), found.group(3)] = int(found.group(1).replace(",", ""))
    return rows


def test_callgrind(tool, tmp_path):
    path = written(tool, "callgrind", tmp_path / "x.callgrind")
    functions = json.loads(tool("report", ORDERS, "--json").stdout)
    seen = functions["total"] / sum(f["self"] for f in functions["functions"])
    own, total = annotated(path), annotated(path, "--inclusive=yes")
    assert len(own) > 15
    for f in functions["functions"]:
        key = (f["file"] or "???", f["name"])
        again = own.get((key[0], key[1] + "'2"), 0)
        assert (own.get(key, 0) + again) / 1e9 == pytest.approx(f["self"] * seen, abs=2e-6), key
        assert total.get(key, 0) / 1e9 == pytest.approx(f["total"] * seen, abs=2e-6), key
    assert "calls=" in path.read_text()
    gprof2dot = consumers.output("gprof2dot", "-f", "callgrind", path)
    assert "Book.save" in gprof2dot


def test_callgrind_is_read(tool, truth, tmp_path):
    path = written(tool, "callgrind", tmp_path / "x.callgrind")
    r = read_back(tool, path)
    got = {f["name"]: (f["self"], f["total"]) for f in r["functions"] if f["file"] or f["name"].startswith("[")}
    for name, (own, total) in truth["functions"].items():
        if name not in truth["ambiguous"]:
            assert got[name] == pytest.approx((own, total), abs=1e-6), name
    assert r["trace"]["self"] == pytest.approx(truth["seconds"], abs=1e-5)
    page = " ".join(tool("report", path).stdout.split())
    assert "events left out: Samples" in page and "callgrind file" in page


def test_callgrind_of_valgrind(tool, tmp_path):
    """What callgrind itself wrote of a program with recursion: the counts that callgrind_annotate shows of it."""
    source, program, path = tmp_path / "c.c", tmp_path / "c", tmp_path / "callgrind.out"
    source.write_text("int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
                      "int main(void) { int s = 0; for (int i = 0; i < 12; i++) s += fib(i); return s & 1; }\n")
    subprocess.run(["cc", "-g", "-O0", source, "-o", program], check=True)
    subprocess.run([consumers.program("valgrind"), "--tool=callgrind", f"--callgrind-out-file={path}", program],
                   capture_output=True)
    own, total = counted(path), counted(path, "--inclusive=yes")
    r = read_back(tool, path)
    functions = {f["name"]: f for f in r["functions"]}
    assert functions["fib"]["self"] == own["fib"] + own.get("fib'2", 0) and functions["fib"]["total"] == total["fib"]
    assert functions["main"]["self"] == own["main"] and functions["main"]["total"] == total["main"]
    assert functions["fib"]["primitive_calls"] == 12 and r["unit"] == "count"
    assert functions["fib"]["calls"] == sum(2 * f - 1 for f in [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])
    assert functions["fib"]["line"] == 1 and "Events are Ir" in tool("report", path).stdout


def counted(path, *options):
    """callgrind_annotate's counts by the name of a function."""
    text = consumers.output("callgrind_annotate", "--threshold=100", "--auto=no", *options, path)
    return {m.group(2): int(m.group(1).replace(",", ""))
            for m in re.finditer(r"^ *([\d,]+) \([ \d.]+%\)  [^\n]*?:(\S+)(?: \[|$)", text, re.MULTILINE)}


# ---- pictures ------------------------------------------------------------------------------------------------


def test_flame_graph(tool, tmp_path):
    """Boxes of one row touch no other, and their widths are shares of the whole."""
    path = tmp_path / "x.svg"
    assert tool("export", "--force", ORDERS, "-o", path).returncode == 0
    svg = xml.etree.ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    rows = {}
    for box in svg.findall(f"{space}g"):
        rect, title = box.find(f"{space}rect"), box.find(f"{space}title").text
        x, width = float(rect.get("x")), float(rect.get("width"))
        share = float(re.search(r", ([\d.]+) %; self", title).group(1))
        assert width / 11.80 == pytest.approx(share, abs=0.1), title
        rows.setdefault(rect.get("y"), []).append((x, x + width))
    for boxes in rows.values():
        boxes.sort()
        assert all(end <= begin + 0.02 for (_, end), (begin, _) in zip(boxes, boxes[1:]))
    labels = [t.text for t in svg.iter(f"{space}text")]
    assert "main" in labels and any(t.startswith("↻ ") for t in labels)
    assert "Book.save (/srv/app/orders.py:25)" in path.read_text()


def test_call_graph_picture(tool, tmp_path):
    """The boxes and arrows of dot's language, drawn by us: same functions, same shares, no box on another."""
    path = tmp_path / "x.callgraph.svg"
    options = ["-n", "1.6", "-e", "1"]
    assert tool("export", "--force", ORDERS, "-o", path, *options).returncode == 0
    nodes, edges = graph(tool("export", ORDERS, "-f", "dot", *options).stdout)
    space = "{http://www.w3.org/2000/svg}"
    groups = xml.etree.ElementTree.parse(path).getroot().findall(f"{space}g")
    boxes = [g for g in groups if g.find(f"{space}rect") is not None]
    assert len(boxes) == len(nodes) and len(groups) - len(boxes) == len(edges)
    shares = sorted(g.findall(f"{space}text")[2].text for g in boxes)
    assert shares == sorted(a["label"].split("\\n")[1].replace("%", " %") for a in nodes.values())
    places = [[float(g.find(f"{space}rect").get(k)) for k in ("x", "y", "width", "height")] for g in boxes]
    for i, (x, y, w, h) in enumerate(places):
        for other_x, other_y, other_w, other_h in places[:i]:
            assert x >= other_x + other_w or other_x >= x + w or y >= other_y + other_h or other_y >= y + h


def test_names_cannot_break_out_of_a_picture(tool, tmp_path):
    path = tmp_path / "evil.folded"
    path.write_bytes(b'<script>alert(1)</script>;"]];x & \xff\x01 10\n'.replace(b"\x01", b"") + b"a;b 5\n")
    for name in ("x.svg", "x.dot", "x.callgraph.svg"):
        assert tool("export", "--force", path, "-o", tmp_path / name).returncode == 0
    for name in ("x.svg", "x.callgraph.svg"):
        svg = (tmp_path / name).read_text()
        assert "<script" not in svg and xml.etree.ElementTree.fromstring(svg.encode()) is not None
    consumers.output("dot", "-Tplain", tmp_path / "x.dot")


# ---- what is refused -----------------------------------------------------------------------------------------


def test_damaged_files_get_one_line(tool, tmp_path):
    whole = gzip.decompress(written(tool, "pprof", tmp_path / "x.pb.gz").read_bytes())
    speedscope = written(tool, "speedscope", tmp_path / "x.speedscope.json").read_bytes()
    for name, content, words in (("cut.pb", whole[:-9], "read as a pprof file: it is cut off"),
                                 ("cut.gz", gzip.compress(whole)[:-20], "gzip data ends early"),
                                 ("cut.json", speedscope[:-40], "read as a speedscope file: byte"),
                                 ("empty", b"", "the file is empty"),
                                 ("noise", bytes(range(256)) * 20, "neither a recording nor")):
        path = tmp_path / name
        path.write_bytes(content)
        r = tool("report", path)
        assert r.returncode == 6 and words in r.stderr and not r.stdout, (name, r.stderr)
        assert r.stderr.count("\n") == 2  # the line and the advice
