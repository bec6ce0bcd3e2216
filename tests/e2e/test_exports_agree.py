"""What is exported is what `report` shows: for every recording, filter and format the same total, and of each function the same
self and total time; what one of them refuses, the other refuses, too."""
import collections
import csv
import gzip
import io
import json
import marshal
import pickle
import re
import subprocess
import sys

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data"

# Two processes; in each a thread that works, one that waits for work and one that sleeps in code of its own.
PROGRAM = """
import json, os, queue, sys, threading, time

def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        encode(list(range(200)))

def encode(items):
    return json.dumps({str(i): i for i in items}, indent=1)

def nap(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(0.01)
        encode(list(range(2000)))

def work():
    inbox = queue.Queue()
    threading.Thread(target=inbox.get, daemon=True, name="Waiting").start()
    sleeper = threading.Thread(target=nap, args=(0.7,), name="Sleeper")
    sleeper.start()
    spin(0.6)
    sleeper.join()

child = os.fork()
work()
if child:
    os.waitpid(child, 0)
"""

CALLS = """
import json, threading

def leaf(n):
    return json.dumps(list(range(n)))

def branch(n):
    return [leaf(n) for _ in range(50)]

def other(n):
    return sorted(range(n), key=lambda x: -x)

def main():
    for _ in range(5):
        branch(300)
        other(1000)

t = threading.Thread(target=main, name="Second")
t.start()
main()
t.join()
"""


def record(folder, name, text, *options):
    script, path = folder / f"{name}.py", folder / f"{name}.lead"
    script.write_text(text)
    done = subprocess.run([conftest.LEADLINE, "run", "--force", "-o", path, *options, "--report", folder / "report", "--python",
                           "/usr/bin/python3", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("agree")


@pytest.fixture(scope="module")
def files(folder):
    """By name: recordings of ours, sampled and traced, and files of other tools."""
    def convert(name, format, *options):
        path = folder / name
        r = subprocess.run([conftest.LEADLINE, "export", "--force", DATA / "orders.lead", "-f", format, "-o", path, "--idle", *options],
                           capture_output=True, text=True, timeout=60)
        assert r.returncode == 0, r.stderr
        return path

    return {"orders": DATA / "orders.lead", "crash": DATA / "crash.lead", "windows": DATA / "windows-3.13.lead",
            "windows-old": DATA / "windows-3.9.lead", "two": record(folder, "two", PROGRAM),
            "traced": DATA / "traced.lead", "calls": record(folder, "calls", CALLS, "--trace"),
            "timeline": record(folder, "timeline", CALLS, "--trace=timeline"),
            "pprof": convert("other.pb.gz", "pprof"), "collapsed": convert("other.folded", "collapsed"),
            "speedscope": convert("other.speedscope.json", "speedscope"), "firefox": convert("other.firefox.json", "firefox"),
            "chrome": convert("other.trace.json", "chrome")}


SAMPLED = ["orders", "crash", "windows", "windows-old", "two"]
TRACED = ["traced", "calls", "timeline"]
FOREIGN = ["pprof", "collapsed", "speedscope", "firefox", "chrome"]
FILES = SAMPLED + TRACED + FOREIGN

FILTERS = {
    "none": [], "cpu": ["--state", "cpu"], "gil": ["--state", "gil"], "wait": ["--state", "wait"], "runnable": ["--state", "runnable"],
    "thread": ["--thread", "#1"],
    "process": ["--process", "LAST"], "from": ["--from", "300ms"], "to": ["--to", "400ms"], "only-mine": ["--only-mine"],
    "idle": ["--idle"], "filter": ["--filter", "json"], "imports": ["--imports"], "imports-mine": ["--imports", "--only-mine", "--idle"],
    "cpu-mine": ["--state", "cpu", "--only-mine"], "thread-range": ["--thread", "#1", "--from", "100ms", "--to", "700ms"],
    "mine-filter": ["--only-mine", "--filter", r"[a-e]\w* \("], "idle-process": ["--idle", "--process", "LAST"],
    "wait-filter": ["--state", "wait", "--filter", "thread"], "range-cpu": ["--from", "200ms", "--to", "900ms", "--state", "cpu"],
}


# ---- what report says ----------------------------------------------------------------------------------------


Figures = collections.namedtuple("Figures", "total functions samples names is_traced unit seen")


def read_report(text):
    """The figures of `report --json`: all that is known here of its keys. What was lost is nobody's time in a report; files tell of
    what was seen."""
    r = json.loads(text)
    is_traced = "trace" in r
    rows = [(f, f["self"], f["total"]) for f in r["functions"]]
    total = r["trace"]["self"] if is_traced else r.get("total")
    functions, samples = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    for f, own, whole in rows:
        functions[f["name"]][0] += own or 0
        functions[f["name"]][1] += whole or 0
        samples[f["name"]] += f.get("self_samples") or 0
    return Figures(sum(own or 0 for _, own, _ in rows) if total is None else total,
                   {name: tuple(x) for name, x in functions.items()}, samples,
                   collections.Counter(f["name"] for f, _, _ in rows), is_traced, r.get("unit", "s"), 1)


def run(*args):
    return subprocess.run([conftest.LEADLINE, *map(str, args)], capture_output=True, text=True, timeout=120)


def pids_of(files, name):
    threads = json.loads(run("report", files[name], "--idle", "--threads", "--json").stdout).get("threads") or [{"pid": 1}]
    return list(dict.fromkeys(str(t["pid"]) for t in threads))


def options_of(files, name, filter):
    """LAST: the last process of the recording."""
    options = FILTERS[filter]
    return [pids_of(files, name)[-1] if o == "LAST" else o for o in options]


REPORTS = {}


def report(files, name, options):
    """(status, figures); times as seen."""
    key = name, tuple(options)
    if key not in REPORTS:
        r = run("report", files[name], "--json", *options)
        if r.returncode:
            REPORTS[key] = r.returncode, r.stderr
        else:
            figures = read_report(r.stdout)
            rest = [o for i, o in enumerate(options) if "--filter" not in options[max(0, i - 1):i + 1]]
            whole = figures if rest == options else report(files, name, rest)[1]
            own = sum(x for x, _ in whole.functions.values())
            seen = whole.seen if whole is not figures else whole.total / own if own and not figures.is_traced else 1
            functions = {n: (a * seen, b * seen) for n, (a, b) in figures.functions.items()}
            REPORTS[key] = 0, figures._replace(functions=functions, total=whole.total, names=whole.names, seen=seen)
    return REPORTS[key]


# ---- what files say ------------------------------------------------------------------------------------------
# Each gives stacks as ([names from the root on], value) where the format has them, else functions with their own time.


def stacks_of_json(data):
    d = json.loads(data)
    names = [f["name"] for f in d["functions"]]
    for s in d["stacks"]:
        value = s["ns"] / 1e9 if "ns" in s else s.get("bytes", s.get("count"))
        yield [names[i] for i in s["functions"]], value


def stacks_of_collapsed(data):
    """Counts, of traced calls µs."""
    for line in data.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        yield [re.sub(r" \([^()]*\)$", "", f) for f in stack.split(";")], int(count)


def stacks_of_speedscope(data):
    d = json.loads(data)
    names = [f["name"] for f in d["shared"]["frames"]]
    for p in d["profiles"]:
        scale = 1e9 if p["unit"] == "nanoseconds" else 1
        if p["type"] == "sampled":
            for stack, weight in zip(p["samples"], p["weights"], strict=True):
                yield [names[i] for i in stack], weight / scale
        else:
            yield from replayed(((e["type"] == "O", names[e["frame"]], e["at"]) for e in p["events"]), scale)


def replayed(events, scale):
    """Opens and closes as the stacks between them."""
    stack, last = [], None
    for is_open, name, at in events:
        if stack and at > last:
            yield list(stack), (at - last) / scale
        assert last is None or at >= last
        last = at
        if is_open:
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack


def stacks_of_chrome(data):
    threads = collections.defaultdict(list)
    for e in json.loads(data)["traceEvents"]:
        if e["ph"] != "M":
            threads[e["pid"], e["tid"]].append((e["ph"] == "B", e["name"], round(e["ts"] * 1e3)))
    for events in threads.values():
        yield from replayed(events, 1e9)


def stacks_of_firefox(data):
    d = json.loads(data)
    shared = d["shared"]
    names = [shared["stringArray"][i] for i in shared["funcTable"]["name"]]
    stacks = []
    for frame, back in zip(shared["stackTable"]["frame"], shared["stackTable"]["prefixOffset"]):
        stacks.append((stacks[len(stacks) - back] if back else []) + [names[frame]])
    for t in d["threads"]:
        scale = 1e3 if t["samples"]["weightType"] == "tracing-ms" else 1
        for stack, weight in zip(t["samples"]["stack"], t["samples"]["weight"], strict=True):
            yield [] if stack is None else stacks[stack], weight / scale


def stacks_of_cpuprofile(data):
    d = json.loads(data)
    parents = {c: n["id"] for n in d.get("nodes", []) for c in n.get("children", [])}
    names = {n["id"]: n["callFrame"]["functionName"] for n in d.get("nodes", [])}
    at, times = 0, []
    for delta in d.get("timeDeltas", []):
        at += delta
        times.append(at)
    times.append(d.get("endTime", 0))
    for i, node in enumerate(d.get("samples", [])):
        stack = []
        while node in parents:
            stack.insert(0, names[node])
            node = parents[node]
        if stack:
            yield stack, (times[i + 1] - times[i]) / 1e6


def fields(data):
    """Of a protobuf message: (number, value); lengths as bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        assert key & 7 in (0, 2)
        value = varint()
        if key & 7 == 2:
            at, value = at + value, data[at:at + value]
        yield key >> 3, value


def numbers(data):
    return [v for _, v in fields(b"".join(b"\x08" + bytes(chunk) for chunk in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data)))]


def stacks_of_pprof(data, of=None):
    """Of the value that is shown first, or of one by its name."""
    strings, functions, locations, types, samples, shown = [], {}, {}, [], [], 0
    for number, value in fields(gzip.decompress(data)):
        if number == 1:
            types.append(dict(fields(value)).get(1, 0))
        elif number == 2:
            parts = dict(fields(value))
            samples.append((numbers(parts.get(1, b"")), numbers(parts[2])))
        elif number == 4:
            parts = dict(fields(value))
            locations[parts[1]] = dict(fields(parts[4]))[1]
        elif number == 5:
            parts = dict(fields(value))
            functions[parts[1]] = parts.get(2, 0)
        elif number == 6:
            strings.append(value.decode(errors="replace"))
        elif number == 14:
            shown = value
    words = [strings[t] for t in types]
    index = words.index(of) if of else types.index(shown) if shown else len(types) - 1
    scale = 1e9 if words[index] in ("wall", "cpu", "gil", "wait", "runnable", "time") else 1
    for where, values in samples:
        yield [strings[functions[locations[l]]] for l in reversed(where)], values[index] / scale


def stacks_of_perfetto(data):
    names, threads = {}, collections.defaultdict(list)
    for _, packet in fields(data):
        parts = dict(fields(packet))
        for number, value in fields(parts.get(12, b"")):
            if number == 2:
                name = dict(fields(value))
                names[name[1]] = name[2].decode(errors="replace")
        if 11 in parts:
            event = dict(fields(parts[11]))
            threads[event[11]].append((event[9] == 1, names.get(event.get(10)), parts.get(8, 0)))
    for events in threads.values():
        stack, told = [], []
        for is_open, name, at in events:  # an end has no name
            told.append((is_open, name if is_open else stack.pop(), at))
            if is_open:
                stack.append(name)
        yield from replayed(told, 1e9)


def functions_of_callgrind(data):
    own, names, at, scale = collections.Counter(), {}, None, 1
    lines = iter(data.decode(errors="replace").splitlines())
    for line in lines:
        found = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
        if found:
            if found.group(2) is not None:
                names[found.group(1)] = re.sub(r"'2$", "", found.group(2))
            if line.startswith("fn="):
                at = names[found.group(1)]
        elif line.startswith("events:"):
            scale = 1e9 if line.split()[1] == "ns" else 1
        elif line.startswith("calls="):
            next(lines)
        elif re.match(r"\d+ \d+", line):
            own[at] += int(line.split()[1]) / scale
    return {name: (value, None) for name, value in own.items()}


def functions_of_csv(data):
    functions = collections.defaultdict(lambda: [0, 0])
    for row in csv.reader(io.StringIO(data.decode(errors="replace"), newline="")):
        if row[0] != "function":
            functions[row[0].removeprefix("'")][0] += float(row[3])
            functions[row[0].removeprefix("'")][1] += float(row[4])
    return {name: tuple(x) for name, x in functions.items()}


def functions_of_pstats(data):
    return {f"{file}:{line}:{name}": (own, total) for (file, line, name), (_, _, own, total, _) in marshal.loads(data).items()}


def shares_of_dot(data):
    """Shares of all: self and total, by gprof2dot's name."""
    found = re.findall(r'label="((?:[^"\\]|\\.)*?)\\n([\d.]+)%\\n\(([\d.]+)%\)', data.decode(errors="replace"))
    return {name: (float(own) / 100, float(total) / 100) for name, total, own in found}


STACKS = {"json": stacks_of_json, "collapsed": stacks_of_collapsed, "speedscope": stacks_of_speedscope,
          "speedscope-evented": stacks_of_speedscope, "chrome": stacks_of_chrome, "firefox": stacks_of_firefox,
          "cpuprofile": stacks_of_cpuprofile, "pprof": stacks_of_pprof, "perfetto": stacks_of_perfetto}
ROWS = {"callgrind": functions_of_callgrind, "csv": functions_of_csv}
# How far a function's time may be off: times of these are whole µs, of the others ns, for each of many spans.
WITHIN = {"cpuprofile": 5e-3, "chrome": 2e-5}


def exported(files, name, format, options, *more):
    r = subprocess.run([conftest.LEADLINE, "export", files[name], "-f", format, *options, *more], capture_output=True, timeout=120)
    return r.returncode, r.stdout, r.stderr.decode()


def added_up(stacks):
    """Total, and self and total of each function."""
    own, whole, total = collections.Counter(), collections.Counter(), 0
    for stack, value in stacks:
        total += value
        if stack:
            own[stack[-1]] += value
        for name in set(stack):
            whole[name] += value
    return total, {name: (own[name], whole[name]) for name in whole}


# Of traced calls a time line tells when they were, with what tracing cost; a report takes that off.
AS_STAMPED = {"speedscope", "speedscope-evented", "chrome", "perfetto"}


def skips(name, format, figures):
    if format == "cpuprofile" and name not in ("collapsed",):
        return "of several threads the busiest is written"
    if format == "collapsed" and figures.unit == "s" and not figures.is_traced:
        return "counts samples, of waits those they stand for: test_collapsed_counts_samples"
    if name == "timeline" and format in AS_STAMPED:
        return "times as stamped: test_time_lines_of_traced_calls"
    return None


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("name", FILES)
def test_stacks(files, name, filter):
    """Self and total of every function, and the sum of all, in every format of stacks."""
    options = options_of(files, name, filter)
    status, figures = report(files, name, options)
    for format, parse in STACKS.items():
        code, data, errors = exported(files, name, format, options)
        if status:
            assert code == status == 2 and len(errors.splitlines()) == 2, (format, errors)
            continue
        if code == 2 and figures.unit != "s" and format in ("chrome", "perfetto", "cpuprofile"):
            assert "a timeline needs times" in errors
            continue
        assert code == 0, (format, errors)
        if skips(name, format, figures):
            continue
        total, functions = added_up(parse(data))
        within = WITHIN.get(format, 2e-6) if figures.unit == "s" else 1e-9
        if format == "collapsed" and figures.is_traced:
            total, within = total / 1e6, 5e-5  # of each context whole µs
            functions = {n: (own / 1e6, whole / 1e6) for n, (own, whole) in functions.items()}
        if "--filter" in options:
            for function, row in figures.functions.items():
                if figures.names[function] > 1:  # of several with a name the filter may be for some
                    continue
                if figures.is_traced:  # inclusive times of recursive calls are another's matter there
                    assert functions[function][0] == pytest.approx(row[0], abs=within), (format, function)
                else:
                    assert functions[function] == pytest.approx(row, abs=within), (format, function)
            assert not figures.functions or total > 0
            continue
        assert total == pytest.approx(figures.total, abs=within * 5), format
        for function, row in figures.functions.items():
            own = functions.get(function, (0, 0))[0]
            assert own == pytest.approx(row[0], abs=within), (format, function)
        for function in functions.keys() - figures.functions.keys():
            assert functions[function] == pytest.approx((0, 0), abs=within), (format, function)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("name", FILES)
def test_rows(files, name, filter):
    """Tables have report's rows and no others; callgrind's functions their own time; the call graph their shares."""
    options = options_of(files, name, filter)
    status, figures = report(files, name, options)
    for format, parse in ROWS.items():
        code, data, errors = exported(files, name, format, options)
        if status:
            assert code == status == 2, (format, errors)
            continue
        assert code == 0, (format, errors)
        functions = parse(data)
        within = 2e-6 if figures.unit == "s" else 1e-9
        whole = report(files, name, [o for o in options if o not in FILTERS["filter"]])[1] if format == "callgrind" else figures
        if format == "csv":
            assert functions.keys() == figures.functions.keys()
            lost = 1 if figures.is_traced else None
            for function, row in figures.functions.items():
                if lost is None:  # rows as report prints them: with what was lost left out
                    lost = row[1] / functions[function][1] if functions[function][1] else 1
                assert [x * lost for x in functions[function]] == pytest.approx(row, abs=within, rel=1e-6), function
        elif "--filter" not in options:
            assert sum(own for own, _ in functions.values()) == pytest.approx(whole.total, abs=within * 5)
            for function, row in figures.functions.items():
                assert functions.get(function, (0,))[0] == pytest.approx(row[0], abs=within), function
        else:
            for function, row in figures.functions.items():
                assert figures.names[function] > 1 or functions.get(function, (0,))[0] == pytest.approx(row[0], abs=within), function


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("name", FILES)
def test_call_graphs(files, name, filter):
    """Shares of all time; the two pictures have as many boxes, and the flame graph the same time in its head."""
    options = options_of(files, name, filter)
    status, figures = report(files, name, options)
    code, data, errors = exported(files, name, "dot", options, "-n", "0", "-e", "0")
    if status:
        assert code == status == 2, errors
        assert exported(files, name, "svg", options)[0] == exported(files, name, "callgraph", options)[0] == 2
        return
    assert code == 0, errors
    shares = shares_of_dot(data)
    if "--filter" not in options and figures.total:
        assert sum(own for own, _ in shares.values()) == pytest.approx(1, abs=1e-4 * (len(shares) + 1))
        top = sorted(figures.functions.items(), key=lambda x: -x[1][0])[:5]
        for function, (own, _) in top:
            assert any(x.endswith(function.replace('"', '\\"')) and s == pytest.approx(own / figures.total, abs=1e-4)
                       for x, (s, _) in shares.items()) or figures.names[function] != 1, function
    heads = {f: re.search(r'class="d" x="\d+" y="40">([^;]*?)(?: in .*?samples)?;', exported(files, name, f, options)[1].decode())
             .group(1) for f in ("svg", "callgraph")}
    assert heads["svg"] == heads["callgraph"]
    if "--filter" not in options and figures.unit == "s" and figures.total > 1:
        number, unit = heads["svg"].split()
        assert unit == "s" and float(number) == pytest.approx(figures.total, rel=0.01)


MEMORY_FILTERS = {"none": [], "thread": ["--thread", "#2"], "process": ["--process", "101"], "from": ["--from", "500ms"], "to": ["--to", "1.2s"],
                  "only-mine": ["--only-mine"], "filter": ["--filter", "parse"], "range": ["--from", "300ms", "--to", "1.5s", "--only-mine"],
                  "state": ["--state", "cpu"], "idle": ["--idle"]}


@pytest.mark.parametrize("filter", MEMORY_FILTERS)
@pytest.mark.parametrize("view", ["peak", "growth", "leaks", "churn"])
def test_memory(view, filter):
    """In bytes: every view, whole bytes for each stack."""
    options = [f"--memory={view}", *MEMORY_FILTERS[filter]]
    r = run("report", DATA / "memory.lead", "--json", *options)
    figures = None
    if r.returncode == 0:
        told = json.loads(r.stdout)["allocations"]["views"][0]
        figures = read_report(json.dumps(told))
        if "--filter" not in options:
            assert sum(own for own, _ in figures.functions.values()) == pytest.approx(told["total"]) and told["view"] == view
            assert sum(x["self"] for x in told["lines"]) == pytest.approx(told["total"])
        assert told["total_low"] <= told["total"] <= told["total_high"]
    for format in [*STACKS, *ROWS]:
        done = subprocess.run([conftest.LEADLINE, "export", DATA / "memory.lead", "-f", format, *options], capture_output=True, timeout=120)
        if not figures:
            assert done.returncode == r.returncode == 2, format
            continue
        if format in ("chrome", "perfetto", "cpuprofile"):
            assert done.returncode == 2 and b"a timeline needs times" in done.stderr
            continue
        assert done.returncode == 0, (format, done.stderr)
        functions = ROWS[format](done.stdout) if format in ROWS else added_up(STACKS[format](done.stdout))[1]
        for function, row in figures.functions.items():
            assert functions.get(function, (0,))[0] == pytest.approx(row[0], abs=8, rel=1e-6), (format, function)
        if "--filter" not in options:
            assert sum(own for own, *_ in functions.values()) == pytest.approx(figures.total, abs=50, rel=1e-6), format


@pytest.mark.parametrize("view", ["peak", "leaks", "churn"])
def test_memory_compared(view):
    told = json.loads(run("report", DATA / "memory.lead", "--json", f"--memory={view}").stdout)["allocations"]["views"][0]
    diff = json.loads(run("diff", "--json", f"--memory={view}", DATA / "memory.lead", DATA / "memory.lead").stdout)
    assert diff["unit"] == "bytes"
    assert {row["name"]: row["self"]["a"] for row in diff["functions"]} == pytest.approx({row["name"]: row["self"] for row in told["functions"]})
    assert all(row["self"]["change"] == 0 for row in diff["functions"])


def test_memory_that_was_not_recorded():
    for command in (["report"], ["export", "-f", "collapsed"], ["diff", DATA / "busy.lead"]):
        done = run(*command, DATA / "busy.lead", "--memory=peak")
        assert done.returncode == 2 and "leadline run --memory" in done.stderr and done.stdout == "", command


# ---- what is told apart above --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["--state", "cpu"], ["--state", "gil"], ["--state", "cpu", "--thread", "#1"],
                                     ["--state", "cpu", "--from", "300ms"], ["--state", "gil", "--only-mine"]])
@pytest.mark.parametrize("name", SAMPLED)
def test_collapsed_counts_samples(files, name, options):
    """On a CPU each sample is one; where the sampler was late there is none, and its time is told in looks."""
    status, figures = report(files, name, options)
    code, data, errors = exported(files, name, "collapsed", options)
    assert code == status == 0, errors
    _, functions = added_up(stacks_of_collapsed(data))
    assert {n: own for n, (own, _) in functions.items() if own and n != "[sampler late]"} == {n: c for n, c in figures.samples.items() if c}


@pytest.mark.parametrize("options", [[], ["--idle"], ["--thread", "#1"], ["--filter", "json"], ["--only-mine"]])
@pytest.mark.parametrize("name", SAMPLED)
def test_collapsed_has_the_stacks_of_json(files, name, options):
    """Of waits a line counts the samples it stands for: no fewer than there are."""
    samples = collections.Counter()
    d = json.loads(exported(files, name, "json", options)[1])
    for s in d["stacks"]:
        samples[tuple(d["functions"][i]["name"] for i in s["functions"])] += s.get("samples", 0)  # none where nobody looked
    got = collections.Counter()
    for stack, count in stacks_of_collapsed(exported(files, name, "collapsed", options)[1]):
        got[tuple(stack)] += count
    assert got.keys() == samples.keys() and all(got[stack] >= n for stack, n in samples.items())


@pytest.mark.parametrize("name", SAMPLED)
def test_cpuprofile_is_the_busiest_thread(files, name):
    threads = json.loads(run("report", files[name], "--idle", "--threads", "--json").stdout)["threads"]
    tid = str(max(threads, key=lambda t: t["on_cpu_s"])["tid"])
    for options in ([], ["--from", "200ms"], ["--only-mine"], ["--state", "cpu"]):
        figures = report(files, name, ["--thread", tid, *options])[1]
        total, functions = added_up(stacks_of_cpuprofile(exported(files, name, "cpuprofile", ["--thread", tid, *options])[1]))
        assert total == pytest.approx(figures.total, abs=WITHIN["cpuprofile"])
        for function, row in figures.functions.items():
            assert functions.get(function, (0, 0))[0] == pytest.approx(row[0], abs=WITHIN["cpuprofile"]), function


@pytest.mark.parametrize("state", ["cpu", "gil", "wait", "runnable"])
def test_pprof_of_one_state_has_only_that(files, state):
    code, data, errors = exported(files, "orders", "pprof", ["--state", state])
    total, _ = added_up(stacks_of_pprof(data, state))
    assert code == 0 and total == pytest.approx(report(files, "orders", ["--state", state])[1].total, abs=1e-5), errors
    for other in {"wall", "cpu", "gil", "wait", "runnable"} - {state}:
        with pytest.raises(ValueError):
            list(stacks_of_pprof(data, other))


def test_time_lines_of_traced_calls(files):
    """A call is as long as it was; library code and stacks without what is asked for go as they go in a report."""
    for format in sorted(AS_STAMPED):
        parse = STACKS[format]
        all_of_it, functions = added_up(parse(exported(files, "timeline", format, [])[1]))
        assert {"leaf", "branch", "other"} <= functions.keys()
        mine, own = added_up(parse(exported(files, "timeline", format, ["--only-mine"])[1]))
        assert mine == pytest.approx(all_of_it, rel=1e-6) and "dumps" not in own and own["leaf"][0] > functions["leaf"][0]
        assert own["leaf"][1] == pytest.approx(functions["leaf"][1], rel=1e-6)
        some, kept = added_up(parse(exported(files, "timeline", format, ["--filter", r"leaf \("])[1]))
        assert some == pytest.approx(functions["leaf"][1], rel=1e-6) and "other" not in kept
        assert kept["leaf"] == pytest.approx(functions["leaf"], rel=1e-6)
        one, _ = added_up(parse(exported(files, "timeline", format, ["--thread", "#2"])[1]))
        assert 0 < one < all_of_it


@pytest.mark.parametrize("options", [[], ["--thread", "#1"], ["--only-mine"], ["--filter", r"leaf|branch"], ["--idle"]])
def test_pstats(files, options):
    status, figures = report(files, "calls", options)
    code, data, errors = exported(files, "calls", "pstats", options)
    assert code == status == 0, errors
    got = collections.Counter()
    for name, (own, _) in functions_of_pstats(data).items():
        got[name.split(":")[-1].strip("<>{}")] += own
    expected = collections.Counter()
    for name, (own, _) in figures.functions.items():
        expected[name.split(".")[-1].strip("<>{}") if not name.startswith("{") else name.strip("{}")] += own
    assert got.keys() == expected.keys()
    assert all(got[n] == pytest.approx(expected[n], abs=1e-6) for n in got)


class Stats:
    pass


class Lines(pickle.Unpickler):
    def find_class(self, module, name):
        return Stats


def test_lprof(files):
    whole = Lines(io.BytesIO(exported(files, "traced", "lprof", [])[1])).load().timings
    names = sorted(name for _, _, name in whole)
    one = Lines(io.BytesIO(exported(files, "traced", "lprof", ["--filter", names[0] + r" \("])[1])).load().timings
    assert one == {key: lines for key, lines in whole.items() if key[2] == names[0]}
    same = Lines(io.BytesIO(exported(files, "traced", "lprof", ["--thread", "#1"])[1])).load().timings
    assert same == whole


# ---- refusals, and that filters filter -----------------------------------------------------------------------

# What is no time of stacks or functions: memory over time of the whole run, operators, lines.
WITHOUT = [("dat", o) for o in (["--state", "cpu"], ["--thread", "#1"], ["--process", "1"], ["--from", "1ms"], ["--to", "1s"],
                                ["--only-mine"], ["--idle"], ["--imports"], ["--filter", "x"])]
WITHOUT += [(f, o) for f in ("torch-trace", "torch-trace-gz") for _, o in WITHOUT[:9]]
WITHOUT += [("lprof", o) for o in (["--state", "cpu"], ["--from", "1ms"], ["--to", "1s"], ["--only-mine"], ["--idle"], ["--imports"])]


@pytest.mark.parametrize("format, options", WITHOUT)
def test_what_has_no_meaning_is_refused(files, format, options):
    code, data, errors = exported(files, "traced" if format == "lprof" else "orders", format, options)
    assert code == 2 and not data and options[0] in errors and len(errors.splitlines()) == 2, errors


@pytest.mark.parametrize("options, words", [
    (["-f", "collapsed", "--node-thres", "1"], "draws no call graph"), (["-o", "x.lead", "--only-mine"], "written whole"),
    (["-o", "x.lead", "--root", "f"], "written whole"), (["-f", "collapsed", "--filter", "("], "filter"),
    (["-f", "csv", "--filter", "("], "filter"), (["-f", "collapsed", "--thread", "nobody"], "nobody"),
    (["-f", "collapsed", "--from", "2s", "--to", "1s"], "--to must be later than --from")])
def test_other_refusals(files, tmp_path, options, words):
    r = subprocess.run([conftest.LEADLINE, "export", files["orders"], *options], capture_output=True, text=True, cwd=tmp_path)
    assert r.returncode == 2 and words in r.stderr and not r.stdout and not list(tmp_path.iterdir()), r.stderr


# A .cpuprofile is of the busiest thread, which is not idle.
PAIRS = [(format, filter) for format in [*STACKS, *ROWS] for filter in FILTERS if filter != "none" and (format, filter) != ("cpuprofile", "idle")]


@pytest.mark.parametrize("format, filter", PAIRS)
def test_a_filter_changes_what_is_written(files, format, filter):
    """Else all of the above would hold of a file that takes no notice of it."""
    changed = []
    for name in ("orders", "two", "calls"):
        for pid in pids_of(files, name):
            options = [pid if o == "LAST" else o.replace("#1", "#2") for o in FILTERS[filter]]
            code, data, _ = exported(files, name, format, options)
            changed.append(code == 0 and data != exported(files, name, format, [])[1])
    assert any(changed), changed


def test_idle_threads_are_told(files):
    """As report tells them, in the file where it has a place for that; and nobody is told who asked for them."""
    words = re.search(r"Left out: (.*?; --idle counts them)", " ".join(run("report", files["orders"]).stdout.split())).group(1)
    for format in [*STACKS, *ROWS, "dot", "svg", "callgraph", "markdown"]:
        assert exported(files, "orders", format, [])[2].splitlines()[0] == f"leadline: {files['orders']}: left out: {words}"
        assert exported(files, "orders", format, ["--idle", "--imports"])[2] == ""
    told = words.removesuffix("; --idle counts them")
    for format in ("json", "callgrind", "dot", "svg", "callgraph", "chrome", "speedscope"):
        assert told in exported(files, "orders", format, [])[1].decode(), format
    assert told in gzip.decompress(exported(files, "orders", "pprof", [])[1]).decode(errors="replace")
    assert "on a CPU, only mine" in exported(files, "orders", "json", ["--state", "cpu", "--only-mine"])[1].decode()
