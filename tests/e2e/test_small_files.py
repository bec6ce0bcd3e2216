"""Small files that claim large costs: each ends within a gigabyte and seconds, with an answer or one clear line.

A reader's budget follows the size of the file (docs/FORMAT.md, "What a file may cost"). Files are made per kind of record and
per format: as many records as fit, more than fit, the largest numbers there are, and whatever could be multiplied by reference.
"""

import gzip
import json
import marshal
import os
import pickle
import resource
import subprocess

import conftest
import crafted
import pytest

MEMORY = 1 << 30
SECONDS = 20  # of CPU, so that others on the machine do not count; what took minutes takes one or two now
WAIT = 600
FLOOR = 64 << 20  # BUDGET_LEAST_BYTES
EACH = 256  # BUDGET_BYTES
MOST = {"u8": 0xFF, "u16": 0xFFFF, "u32": 0xFFFFFFFF, "u64": 0xFFFFFFFFFFFFFFFF}

COMMANDS = (
    ("report",),
    ("report", "--lines"),
    ("report", "--tree"),
    ("export", "--force", "--format", "pprof", "-o", "{out}.pb.gz"),
    ("view", "--force", "-o", "{out}.html"),
)
WITHOUT_PAGE = COMMANDS[:-1]


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def look(path, *command):
    """Runs one command on the file; whatever it is, it must end well. Returns the status and what it said."""
    out = path.parent / "out"
    command = [c.format(out=out) for c in command]
    r = subprocess.run(
        [conftest.LEADLINE, command[0], path, *command[1:]],
        capture_output=True, text=True, errors="replace", timeout=WAIT, preexec_fn=limited, check=False,
    )
    assert r.returncode in (0, 2, 6), (r.returncode, r.stderr[-500:])  # 2: not what this command shows
    if r.returncode:
        lines = [line for line in r.stderr.splitlines() if not line.startswith(" ")]
        assert 1 <= len(lines) <= 2 and len(r.stderr) < 1000, r.stderr[-2000:]
    for made in path.parent.glob("out.*"):
        made.unlink()
    return r.returncode, r.stderr


def look_everywhere(path):
    assert path.stat().st_size < 1 << 20
    return [look(path, *command)[0] for command in COMMANDS]


def is_refused(path, *command):
    status, said = look(path, *(command or ("report",)))
    assert status == 6 and "exhaust" in said, (status, said)


# ---- recordings, by kind of record ---------------------------------------------------------------------------


def base(n=1):
    """A recording of one process that ran, with a row in each table."""
    r = crafted.Recording()
    text = r.row("string", text=b"/app/main.py")
    r.row("string", text=b"main")
    r.row("string", text=b"cpython 3.13.0 x86_64")
    r.row("process", boot=text, pid=7, start_ns=1, command=2)
    r.row("thread", process=1, tid=7, start_ns=1, name=2)
    r.row("mapping", path=1)
    r.row("code", file=1, qualname=2, first_line=1, n_code_bytes=20, interpreter=3)
    r.row("frame", tag=0, code=1)
    r.row("stack", parent=0, frame=1)
    r.add("life", t_ns=10**12, process=1)
    for i in range(n):
        r.add("sample", t_ns=10**12 + i * 10**6, thread=1, stack=1, state=1)
    r.flush()
    return r


def struct_bytes(kind):
    size = 0
    for _, type, _, _ in crafted.kinds()[kind][2]:
        align = min(crafted.WIDTHS[type], 8)
        size = -(-size // align) * align + crafted.WIDTHS[type]
    return -(-size // 8) * 8


def references(kind):
    """Columns that refer to the rows of base()."""
    return {name: 1 for name, _, _, table in crafted.kinds()[kind][2] if table}


KINDS = [kind for kind in crafted.kinds() if kind != "index"]


@pytest.mark.parametrize("kind", KINDS)
def test_more_equal_records_than_any_profile_has_are_refused(kind, tmp_path):
    r = base()
    each = struct_bytes(kind) + 64
    r.columns(kind, crafted.CHUNK_RECORDS, times=8 * FLOOR // each // crafted.CHUNK_RECORDS + 280, **references(kind))
    path = r.save(tmp_path / "x.lead")
    assert path.stat().st_size < 200_000
    is_refused(path)


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_records_as_fit(kind, tmp_path):
    r = base()
    columns = dict(references(kind))
    n = crafted.CHUNK_RECORDS
    for name, type, encoding, table in crafted.kinds()[kind][2]:
        if not table and type in ("u32", "u64") and encoding in ("DELTA", "TIME"):
            columns[name] = range(1, n + 1)
    raw = len(crafted.streams(kind, n, columns))
    r.columns(kind, n, times=FLOOR * 9 // 10 // (raw + n * (struct_bytes(kind) + 64)), **columns)
    look_everywhere(r.save(tmp_path / "x.lead"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_numbers(kind, tmp_path):
    r = base()
    columns = dict(references(kind))
    for name, type, _, table in crafted.kinds()[kind][2]:
        if not table and type in MOST:
            columns[name] = [MOST[type], 1, MOST[type] - 1, MOST[type] >> 1, 0] * 200
        elif type == "f64":
            columns[name] = [1e308, -1e308, float("nan"), float("inf"), 0.0] * 200
        elif type == "bytes":
            columns[name] = [b"\xff" * 40, b"\x7f" * 8, b"\xff" * 9 + b"\x01", b"", b"\0" * 16] * 200
    r.columns(kind, 1000, **columns)
    look_everywhere(r.save(tmp_path / "x.lead"))


# ---- recordings: what can be multiplied ----------------------------------------------------------------------


def test_a_line_number_of_2_32(tmp_path):
    """Pages by line went through four billion of them."""
    r = base()
    for line in (1, 2, 0xFFFFFFFE, 0xFFFFFFFF):
        r.add("line_count", thread=1, code=1, line=line, hits=1, total_ns=10**9)
    path = r.save(tmp_path / "x.lead")
    assert path.stat().st_size < 3000
    assert set(look_everywhere(path)) == {0}
    assert look(path, "report", "--line-profiler")[0] == 0
    assert look(path, "stats", "-c", "lines")[0] == 0
    assert look(path, "export", "--force", "--format", "lprof", "-o", "{out}.lprof")[0] == 0


def test_many_functions_of_one_long_text(tmp_path):
    """Each function is shown with its text: a text of blank lines belongs to all of them."""
    r = base()
    r.add("source", file=1, text=b"x\n" + b"\n" * (8 << 20))
    for i in range(20000):
        r.row("code", file=1, qualname=2, first_line=i + 2, interpreter=3)
        r.add("line_count", thread=1, code=i + 2, line=i + 2, hits=1, total_ns=10**6)
    path = r.save(tmp_path / "x.lead")
    look_everywhere(path)
    look(path, "report", "--line-profiler")


def test_source_text_is_part_of_what_a_file_may_cost(tmp_path):
    r = base()
    r.columns("source", 1, times=170, file=1, text=[b"x = 1\n" * (2 << 20)])
    path = r.save(tmp_path / "x.lead")
    assert path.stat().st_size < 300_000  # and 2 GB of text
    is_refused(path)
    is_refused(path, "view", "--force", "-o", "{out}.html")
    is_refused(path, "export", "--force", "--format", "collapsed", "-o", "{out}.folded")


def many_names(n):
    r = base()
    files = [r.row("string", text=b"f%d.py" % i) for i in range(n)]
    frames = [r.row("frame", tag=5, name=2, file=file, position=1, first_line=1) for file in files]
    stacks = [r.row("stack", parent=0, frame=frame) for frame in frames]
    r.flush()
    for i in range(n):
        r.add("source", file=files[i], text=b"a\n" if i % 2 else b"")
        r.add("sample", t_ns=10**12 + i * 10**6, thread=1, stack=stacks[i], state=1)
    return r


def test_80000_file_names(tmp_path):
    path = many_names(80000).save(tmp_path / "x.lead")
    for command in (*WITHOUT_PAGE, ("report", "--lines", "--limit=-1")):
        assert look(path, *command)[0] == 0


def test_names_that_stand_for_others(tmp_path):
    """meta "file_name" renames a file: each went through all strings."""
    r = many_names(80000)
    key = r.row("string", text=b"file_name")
    for i in range(40000):
        r.add("meta", key=key, value=b"f%d.py\0g%d" % (i, i))
    assert look(r.save(tmp_path / "x.lead"), "report", "--lines")[0] == 0


def test_rows_numbered_so_that_each_takes_a_page(tmp_path):
    r = base()
    for i in range(15000):
        r.chunk(1, 1, crafted.streams("string", 1, {"text": [b"a%d" % i]}), first_row=i * 4096 % 0xFFFFFFFF, segment=i + 1)
    look(r.save(tmp_path / "x.lead"), "report")


@pytest.mark.parametrize("n", [2_000, 100_000])
def test_stacks_of_any_depth(n, tmp_path):
    """Samples at every depth of one chain: depth times samples is far more than the file has bytes."""
    r = base()
    for i in range(0, n, 50_000):
        k = min(n - i, 50_000)
        r.columns("stack", k, parent=range(1 + i, 1 + i + k), frame=1)
    for i in range(0, n, 50_000):
        k = min(n - i, 50_000)
        r.columns("sample", k, t_ns=range(10**12 + i, 10**12 + i + k), thread=1, stack=range(2 + i, 2 + i + k), state=1)
    path = r.save(tmp_path / "x.lead")
    assert look(path, "report")[0] == 0
    assert look(path, "report", "--tree")[0] == 0


def test_chunks_that_lie_in_each_other(tmp_path):
    """An index may name chunks inside other chunks' payloads: each is counted as often as it is named."""
    r = base()
    inner = crafted.Recording()
    inner.columns("string", 60_000, text=b"a")
    body = inner.chunks[0][2]
    for _ in range(6):
        outer = crafted.Recording()
        outer.columns("meta", 1, key=1, value=[b"".join([body] * 8)[: 1 << 22]])
        body = outer.chunks[0][2]
    r.chunks.append((b"", b"", body))
    look(r.save(tmp_path / "x.lead"), "report")


# ---- files of other tools ------------------------------------------------------------------------------------


def gzipped(path, head, piece, times, tail):
    """The piece again and again. Members of a gzip file may be joined, so one of a megabyte is made once."""
    each = (1 << 20) // len(piece)
    path.write_bytes(gzip.compress(head) + gzip.compress(piece * each, 9) * (times // each) + gzip.compress(tail))
    assert path.stat().st_size < 3 << 20, path.stat().st_size
    return path


BOMBS = {
    "torch": ("x.pt.trace.json.gz", b'{"schemaVersion":1,"deviceProperties":[],"traceEvents":[',
              b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},', b'{"ph":"X","ts":1}]}'),
    "chrome": ("x.json.gz", b'{"traceEvents":[', b'{"ph":"X","ts":1,"dur":1,"name":"a","pid":1},', b'{"ph":"X","ts":1}]}'),
    "speedscope": ("x.speedscope.json.gz",
                   b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"}]},'
                   b'"profiles":[{"type":"sampled","name":"x","unit":"none","startValue":0,"endValue":1,"weights":[1],"samples":[',
                   b"[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],", b"[0]]}]}"),
    "collapsed": ("x.folded.gz", b"main;a 1\n", b"a;b;c;d;e;f;g;h 1\n", b"a 1\n"),
    "perf script": ("x.perf.gz", b"", b"python 1 1.0: 1 cycles:\n\t1 f (a.so)\n\t2 g (b.so)\n\n", b""),
    "callgrind": ("callgrind.out.1.gz", b"# callgrind format\nevents: Instructions\nfl=a.py\nfn=main\n", b"16 20\n", b""),
    "firefox": ("x.json.gz", b'{"meta":{"version":27,"product":"x","interval":1},"libs":[],"threads":[{"name":"x","samples":{"stack":[', b"0,", b"0]}}]}"),
    "dat": ("x.dat.gz", b"CMDLINE python\n", b"MEM 1.0 1.0\n", b""),
    "pyperf": ("x.json.gz", b'{"version":"1.0","benchmarks":[{"runs":[', b'{"values":[1,1,1,1]},', b'{"values":[1]}]}]}'),
}


@pytest.mark.parametrize("format", BOMBS)
def test_gzip_of_the_same_again_and_again(format, tmp_path):
    name, head, piece, tail = BOMBS[format]
    path = gzipped(tmp_path / name, head, piece, (700 << 20) // len(piece), tail)
    status, said = look(path, "report")
    assert status == 6, (status, said)


def test_marshal_that_refers_to_the_same_text(tmp_path):
    """Each function is named by one text of half a megabyte: to go over it for each of them would be 12 GB."""
    name = "n" * 400_000
    stats = {(name, i, name): (1, 1, 0.0, 0.0, {}) for i in range(15_000)}
    path = tmp_path / "x.prof"
    path.write_bytes(marshal.dumps(stats))
    assert path.stat().st_size < 1 << 20
    look_everywhere(path)
    look(path, "stats", "-c", "stats", "-c", "callers")


def test_marshal_with_callers_that_are_shared(tmp_path):
    callers = {("a", i, "b"): (1, 1, 0.0, 0.0) for i in range(2000)}
    path = tmp_path / "x.prof"
    path.write_bytes(marshal.dumps({("f", i, "g"): (1, 1, 0.0, 0.0, callers) for i in range(2000)}))
    look_everywhere(path)


def test_marshal_with_large_line_numbers(tmp_path):
    path = tmp_path / "x.prof"
    path.write_bytes(marshal.dumps({("a.py", 0xFFFFFFFF, "f"): (1, 1, 1.0, 1.0, {}), ("a.py", 2**31, "f"): (2**59, 2**59, 1e308, 1e308, {})}))
    look_everywhere(path)
    assert look(path, "stats", "-c", "stats", "-c", "callees")[0] == 0


@pytest.mark.skipif(not os.access(conftest.LEADLINE_ASAN, os.X_OK), reason="make asan first")
def test_stats_of_a_function_without_angle_brackets(tmp_path):
    """The label of ("~", 0, "len") was the file's own text, which is gone when it is printed."""
    path = tmp_path / "x.prof"
    path.write_bytes(marshal.dumps({("~", 0, "len"): (1, 1, 0.5, 0.5, {("~", 0, "x" * 200): (1, 1, 0.5, 0.5)})}))
    r = subprocess.run([conftest.LEADLINE_ASAN, "stats", path, "-c", "stats", "-c", "callers", "-c", "strip", "-c", "stats"],
                       capture_output=True, text=True, timeout=WAIT, check=False)
    assert r.returncode == 0, r.stderr
    assert r.stdout.count(" len\n") >= 2 and "x" * 200 in r.stdout


class LineStats:
    __module__ = "line_profiler.line_profiler"

    def __init__(self, timings):
        self.timings, self.unit = timings, 1e-6


def lprof(path, timings, monkeypatch):
    import sys
    import types

    module = types.ModuleType(LineStats.__module__)
    module.LineStats = LineStats
    monkeypatch.setitem(sys.modules, "line_profiler", types.ModuleType("line_profiler"))
    monkeypatch.setitem(sys.modules, LineStats.__module__, module)
    path.write_bytes(pickle.dumps(LineStats(timings), protocol=4))
    return path


def test_lprof_with_a_line_number_of_2_32(tmp_path, monkeypatch):
    path = lprof(tmp_path / "x.lprof", {("a.py", 1, "f"): [(1, 1, 1), (0xFFFFFFFF, 1, 1)]}, monkeypatch)
    assert path.stat().st_size < 3000
    look_everywhere(path)
    assert look(path, "report", "--line-profiler")[0] == 0
    assert look(path, "stats", "-c", "lines")[0] == 0


def test_lprof_that_names_a_file_in_many_ways(tmp_path, monkeypatch):
    """Sources are looked for on the disk: a large one under thousands of names is read a few times only."""
    source = tmp_path / "large.py"
    source.write_text("x = 1\n" * (2 << 20))
    timings = {(f"{tmp_path}{'/' * i}large.py", 1, "f"): [(1, 1, 1)] for i in range(1, 600)}
    look(lprof(tmp_path / "x.lprof", timings, monkeypatch), "report")


def test_lprof_with_lists_that_are_shared(tmp_path, monkeypatch):
    lines = [(i, 1, 1) for i in range(1, 3000)]
    look_everywhere(lprof(tmp_path / "x.lprof", {("a.py", i, "f"): lines for i in range(3000)}, monkeypatch))


def pb(number, value):
    if isinstance(value, int):
        return crafted.varint(number << 3) + crafted.varint(value)
    return crafted.varint(number << 3 | 2) + crafted.varint(len(value)) + value


def test_pprof_whose_locations_are_inlined(tmp_path):
    """A sample names a location with a byte, and each location stands for a hundred frames."""
    function = pb(5, pb(1, 1) + pb(2, 1) + pb(5, 0xFFFFFFFF))
    location = pb(4, pb(1, 1) + pb(4, pb(1, 1) + pb(2, 0xFFFFFFFF)) * 100)
    sample = pb(2, pb(1, b"\x01" * 10_000) + pb(2, b"\x01"))
    head = pb(1, pb(1, 0) + pb(2, 0)) + pb(6, b"") + pb(6, b"f") + function + location
    path = tmp_path / "x.pb.gz"
    path.write_bytes(gzip.compress(head + sample * 20_000, 9))
    assert path.stat().st_size < 1 << 20
    look_everywhere(path)


MANY = 60_000


def many_of(format):
    """As many different names, files and threads as a small file has room for."""
    n = range(MANY)
    if format == "collapsed":
        return "x.folded", "".join(f"t{i};f{i} 1\n" for i in n)
    if format == "chrome":
        return "x.json", json.dumps({"traceEvents": [{"ph": "X", "name": f"{i}", "pid": i, "tid": i, "ts": i, "dur": 1} for i in n]})
    if format == "speedscope":
        return "x.speedscope.json", json.dumps(
            {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": f"{i}", "file": f"{i}.py", "line": 4294967295} for i in n]},
             "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1, "samples": [[i] for i in n], "weights": [1 for _ in n]}]})
    if format == "speedscope threads":
        return "x.speedscope.json", json.dumps(
            {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
             "profiles": [{"type": "sampled", "name": f"{i}", "unit": "none", "startValue": 0, "endValue": 1, "samples": [[0]], "weights": [1]} for i in range(10_000)]})
    if format == "callgrind":
        return "callgrind.out.1", "# callgrind format\nevents: Instructions\n" + "".join(f"fl=f{i}.py\nfn=f{i}\n4294967295 1\n" for i in n)
    if format == "perf script":
        return "x.perf", "".join(f"p{i} {i} 1.0: 1 cycles:\n\t{i:x} f{i} (l{i}.so)\n\n" for i in n)
    if format == "pprof":
        functions = b"".join(pb(4, pb(1, i + 1) + pb(4, pb(1, i + 1) + pb(2, 0xFFFFFFFF))) + pb(5, pb(1, i + 1) + pb(2, i + 1) + pb(4, i + 1)) + pb(6, b"f%d" % i) for i in n)
        samples = b"".join(pb(2, pb(1, i + 1) + pb(2, 1)) for i in n)
        return "x.pb", pb(1, pb(1, 0) + pb(2, 0)) + pb(6, b"") + functions + samples
    if format == "pstats":
        return "x.prof", marshal.dumps({(f"f{i}.py", 0xFFFFFFFF, f"f{i}"): (1, 1, 0.0, 0.0, {(f"f{i + 1}.py", 0xFFFFFFFF, f"f{i + 1}"): (1, 1, 0.0, 0.0)}) for i in n})
    assert format == "torch"
    return "x.pt.trace.json", json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": f"{i}", "pid": 1, "tid": i, "ts": i, "dur": 1, "args": {"External id": i, "Input Dims": [[i]]}} for i in n]})


@pytest.mark.parametrize("format", ["collapsed", "chrome", "speedscope", "speedscope threads", "callgrind", "perf script", "pprof", "pstats", "torch"])
def test_many_names_files_and_threads(format, tmp_path):
    name, text = many_of(format)
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for command in WITHOUT_PAGE:
        look(path, *command)
    if format == "pstats":
        look(path, "stats", "-c", "sort name", "-c", "callers")
    if format == "torch":
        look(path, "report", "--ops")


def test_an_ordinary_trace_that_packs_well_is_read(tmp_path):
    """gzip makes 1/16 of torch's traces; one that repeats itself eighty times over is still nobody's attack."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5, "args": {"External id": i}} for i in range(200_000)]
    path = tmp_path / "x.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}).encode(), 9))
    assert look(path, "report", "--ops")[0] == 0
    assert look(path, "export", "--force", "-o", "{out}.lead")[0] == 0
