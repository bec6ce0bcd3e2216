"""Recordings that former versions made still open, and say what they said: tests/data/old, whose README tells how they came about.

What each of them must give is in tests/data/old/expected.json, in words that no format and no option has:
`python3 tests/e2e/test_old_recordings.py` adds the recordings that are not in there yet, as build/leadline shows them, and changes no other.
"""
import json
import re

import conftest
import pytest

OLD = conftest.ROOT / "tests" / "data" / "old"
EXPECTED = OLD / "expected.json"
TOP = 5  # functions, lines and operators that are compared one by one

# What is said of a recording that is not whole (src/store/damage.c), or that its readers give up on.
DAMAGE = re.compile(r"damage|could not be read|cut off|did not finish|what is missing|unknown kind")

# Options of report whose views a kind has.
HOST = ["--host", "--processes"]
SAMPLED = [*HOST, "--functions", "--lines", "--tree", "--threads", "--functions --ci --idle", "--functions --state=cpu", "--lines --only-mine", "--functions --from=10ms --to=80ms"]
TRACED = [*HOST, "--functions", "--tree", "--threads", "--functions --sort=ncalls", "--functions --only-mine", "--functions --filter=py"]
CALLS = [*TRACED, "--callers=fib", "--callees=work"]
LINES = ["--lines", "--line-profiler"]
OPS = ["--ops", "--ops --group-by-shape", "--overview", "--steps", "--compile", "--kernels"]
ALL_OPS = [*OPS, "--modules", "--memory", "--streams"]
COUNTED = {"--tasks", "--threads", "--ops", "--steps"}  # whose figures are compared, beside those of a plain report

# Formats it can be written in.
TABLES = ["callgraph", "csv", "dot", "markdown"]
STACKS = [*TABLES, "callgrind", "collapsed", "firefox", "json", "pprof", "speedscope", "speedscope-evented", "svg"]
TIMED = [*STACKS, "chrome", "cpuprofile", "perfetto"]
SAMPLED_AS = [*TIMED, "dat"]
TRACED_AS = [*SAMPLED_AS, "pstats"]
RESULTS_AS = ["csv", "hyperfine", "markdown", "pyperf", "pytest-benchmark"]

# kind → its views and formats
KINDS = {
    "time": (HOST, ["dat"]),
    "unsampled": (HOST, ["dat"]),  # run, on an interpreter that this version did not know
    "sampled": (SAMPLED, SAMPLED_AS),
    "sampled-3.9": (SAMPLED, SAMPLED_AS),
    "attach": (SAMPLED, SAMPLED_AS),
    "top": (SAMPLED, SAMPLED_AS),
    "inside-sample": (SAMPLED, SAMPLED_AS),
    "tasks": ([*SAMPLED, "--tasks"], SAMPLED_AS),
    "regions": ([*SAMPLED, "--regions"], SAMPLED_AS),
    "training": ([*SAMPLED, "--regions"], SAMPLED_AS),
    "traced": ([*CALLS, "--functions --raw"], TRACED_AS),
    "traced-3.9": ([*CALLS, "--functions --raw"], TRACED_AS),
    "traced-sampled": ([*TRACED, "--callers=small"], TRACED_AS),
    "traced-lines": ([*CALLS, *LINES], [*TRACED_AS, "lprof"]),
    "inside-trace": ([*TRACED, "--callers=fib"], TRACED_AS),
    "timeline": ([*CALLS, "--functions --raw"], TRACED_AS),
    "count": (CALLS, TRACED_AS),
    "count-lines-opcodes": ([*CALLS, *LINES, "--bytecode=fib"], [*TRACED_AS, "lprof"]),
    "budget": ([*TRACED, "--callers=small"], TRACED_AS),
    "args": ([*TRACED, "--args"], TRACED_AS),
    "lines": (LINES, ["lprof", "dat"]),
    "inside-lines": (LINES, ["lprof", "dat"]),
    "torch": ([*SAMPLED, *OPS], [*SAMPLED_AS, "torch-trace"]),
    "torch-full": ([*SAMPLED, *ALL_OPS], [*SAMPLED_AS, "torch-trace"]),
    "torch-lines": ([*LINES, *OPS], ["torch-trace"]),
    "torch-trace": (ALL_OPS, ["torch-trace"]),
    "imported-collapsed": (["--functions", "--lines", "--tree"], STACKS),
    "imported-pprof": (["--functions", "--lines", "--tree"], TIMED),
    "imported-pstats": (["--functions", "--callers=fib", "--callees=work"], [*TABLES, "pstats"]),
    "imported-lprof": (LINES, ["lprof"]),
    "bench": ([], RESULTS_AS),
    "bench-processes": ([], RESULTS_AS),
    "bench-json": ([], RESULTS_AS),
}


def recordings():
    """The files, without what is expected of them."""
    return sorted(path for path in OLD.iterdir() if path.suffix in (".lead", ".json") and path != EXPECTED)


def kind_of(path):
    """A name is DAY-TIME-KIND."""
    return path.stem.split("-", 2)[2]


def views_of(path):
    return KINDS[kind_of(path)][0]


def formats_of(path):
    return KINDS[kind_of(path)][1]


def figure(entry, keys):
    """The first of the keys that has one; six digits of it are compared."""
    value = next((entry[key] for key in keys.split("|") if entry.get(key) is not None), None)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def place(entry):
    """Which function, line or other thing it is about."""
    return " ".join(str(entry[key]) for key in ("name", "function", "file", "line") if entry.get(key) is not None)


def table(entries, *keys):
    """How many rows there are, and those with the largest first figure."""
    rows = sorted(([place(entry), *(figure(entry, key) for key in keys)] for entry in entries), key=lambda row: (-(row[1] or 0), row[0]))
    return {"rows": len(rows), "first": rows[:TOP]}


# What is compared → where a report has it, and which figures
SCALARS = {
    "used": ("", "wall_s", "user_s", "system_s", "max_rss_bytes", "processes", "exit_status"),
    "bound": ("bound", "verdict"),
    "sampled": ("", "total"),
    "samples": ("fidelity", "samples", "lost"),
    "calls": ("trace", "calls", "primitive_calls", "resumes", "self"),
    "instructions": ("opcodes", "executed"),
    "training": ("training", "steps", "samples", "tokens"),
    "traced steps": ("overview", "steps", "total_s"),
}
ROWS = {
    "functions": ("functions", "self", "total", "calls", "self_samples", "total_samples"),
    "lines": ("lines", "self", "total", "hits", "self_samples"),
    "arguments": ("arguments", "calls", "distinct", "repeated_share"),
    "regions": ("regions", "total_s", "times"),
    "tasks": ("tasks", "total_s", "samples"),
    "threads": ("threads", "value", "samples", "calls"),
    "operators": ("operators", "self_cpu_s", "cpu_s", "calls"),
    "steps": ("steps", "duration_s"),
    "benchmarks": ("benchmarks", "median", "least", "most", "mean", "n", "loops"),
}


def figures(report):
    """What `report --json` says in words of our own: its keys are known here alone, in the two tables above."""
    ret = {}
    for name, (part, *keys) in SCALARS.items():
        values = [figure((report.get(part) or {}) if part else report, key) for key in keys]
        if any(value is not None for value in values):
            ret[name] = values
    for name, (part, *keys) in ROWS.items():
        if report.get(part):
            ret[name] = table(report[part], *keys)
    if report.get("series"):
        ret["series"] = len(report["series"])
    return ret


def clean(done, what):
    assert done.returncode == 0, f"{what}: {done.returncode}: {done.stderr}"
    assert not DAMAGE.search(done.stderr), f"{what}: {done.stderr}"
    return done


def all_figures(tool, path):
    """Those of a plain report, and what other views add."""
    ret = {}
    for view in [*(view for view in views_of(path) if view in COUNTED), ""]:
        all_rows = [] if kind_of(path).startswith("bench") else ["-n", "0"]
        # As these were written down: imports were no row of their own.
        imports = ["--imports"] if "--functions" in views_of(path) and view not in ALL_OPS else []
        done = clean(tool("report", "--json", *all_rows, *imports, *view.split(), path), f"report --json {view}")
        ret.update(figures(json.loads(done.stdout)))
    return ret


def expected():
    return json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}


@pytest.fixture(params=recordings(), ids=lambda path: path.stem)
def path(request):
    return request.param


def test_figures_are_those_expected(tool, path):
    want, got = expected()[path.name], all_figures(tool, path)
    if "sampled" not in want:  # the sum was told of samples of time alone when these were written down
        got.pop("sampled", None)
    assert got == want


def test_every_view_opens(tool, path):
    for view in ["", *views_of(path)]:
        for json_too in ([], ["--json"]):
            if json_too and "--line-profiler" in view:
                continue
            done = clean(tool("report", "--color=never", *json_too, *view.split(), path), f"report {view} {json_too}")
            assert done.stdout.strip(), view
            assert not DAMAGE.search(done.stdout), done.stdout
    if "pstats" in formats_of(path):
        assert "function calls" in clean(tool("stats", path, "-c", "sort ncalls", "-c", "stats 5"), "stats").stdout


def test_every_format_can_be_written(tool, path, tmp_path):
    for name in formats_of(path):
        out = tmp_path / f"x.{name}"
        clean(tool("export", "--force", path, "--format", name, "-o", out), f"export --format {name}")
        assert out.stat().st_size, name


def test_the_page_can_be_written(tool, path, tmp_path):
    page = tmp_path / "page.html"
    done = clean(tool("view", "--force", path, "-o", page), "view -o")
    assert not DAMAGE.search(done.stdout)
    assert page.stat().st_size > 10000


def test_every_recording_is_expected():
    assert sorted(expected()) == [path.name for path in recordings()]


def main():
    known, tool = expected(), conftest.Tool(None)
    for path in recordings():
        if path.name not in known:
            known[path.name] = all_figures(tool, path)
    lines = (f"{json.dumps(name)}: {json.dumps(known[name], sort_keys=True)}" for name in sorted(known))
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
