"""docs/JSON.md and docs/PAGE-API.md against what `--json` prints and the page is answered: no key is unlisted, none is listed in vain."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import conftest
import pytest
import test_budget as budget
from test_torch_panes import loop
from test_view import view

sys.path.insert(0, str(conftest.ROOT / "tools"))
import json_docs  # noqa: E402

DATA = conftest.ROOT / "tests" / "data"
TRACES = sorted((DATA / "torch").glob("*.pt.trace.json.gz"))
RANKS = sorted((DATA / "torch_ranks").glob("*.gz"))
# What takes a core dump or PyTorch itself: made, and looked at, in the test named here.
ELSEWHERE = {
    "dumped process: core never occurs": "test_dump.py",
    "dumped process: signal never occurs": "test_dump.py",
    "attach to PyTorch: processes never occurs": "test_torch_on_demand.py",
    "api/torch: training never occurs": "test_torch_api.py",
    **{f"{row}: waited_s never occurs": "src/analyze/torch/record_test.c" for row in ("slower", "operator")},  # of a busy machine
    **{f"torch process: {key} never occurs": "test_torch_on_demand.py" for key in ("pid", "rank", "trace", "damage")},
    **{f"break reason: {key} never occurs": "test_torch_run.py" for key in ("reason", "file", "function", "line", "times")},
}
PROGRAM = """
import asyncio, ctypes, os, signal, sys, threading, time
from leadline import region

def key(n):
    return -n

def work(until, given=3):
    total = 0
    while time.perf_counter() < until:
        total += sum(sorted(range(300), key=key))
        try:
            total += len([str(i) for i in range(50)])
        except ValueError:
            pass
    return total

async def task(until):
    while time.perf_counter() < until:
        work(time.perf_counter() + 0.01)
        await asyncio.sleep(0)

async def main(until):
    await asyncio.gather(task(until), task(until))

libc = ctypes.CDLL(None)  # a thread that never runs Python: sleep(2)
libc.pthread_create(ctypes.byref(ctypes.c_ulong()), None, libc.sleep, ctypes.c_void_p(2))
now = time.perf_counter()
with region("all"):
    work(now + 0.5)
asyncio.run(main(now + 1))
"""
CALLED = """
def twice(n):
    return 2 * n

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

class Lazy:
    def __iter__(self):
        for i in range(3):
            yield i

for _ in range(3):
    fib(12)
    twice(4)
    list(Lazy())
"""


TRAINED = """
import leadline.torch
for i in range(5):
    leadline.torch.step(samples=32, tokens=100)
"""


def compiled():
    """A trace with a graph break, and one of its steps slow."""
    t = loop(slow=3)
    t.op("_compile.<locals>.compile_inner (dynamo_timed)", 100, 1000)
    t.op("Torch-Compiled Region: 3/0", 1200, 50)
    t.python("train.py(8): torch_dynamo_resume_in_look_at_me_at_8", 1210, 30)
    return t


class Outputs:
    """Real outputs, each held against the tables as it comes."""

    def __init__(self, folder: pathlib.Path):
        schema, wrong = json_docs.read(conftest.ROOT)
        self.folder, self.checker, self.problems = folder, json_docs.Checker(schema), list(wrong)

    def take(self, name, value, whose):
        self.problems += sorted({f"{whose}: {text}" for text in self.checker.check(name, value)})

    def tool(self, *words, status=(0,)):
        done = subprocess.run([conftest.LEADLINE, *map(str, words)], capture_output=True, text=True, timeout=300, check=False,
                              stdin=subprocess.DEVNULL, cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": str(conftest.ROOT / "python"), "XDG_CACHE_HOME": str(self.folder / "cache")})
        assert done.returncode in status, (words, done.stderr[-2000:])
        return done.stdout

    def print(self, name, *words, **options):
        self.take(name, json.loads(self.tool(*words, **options)), f"leadline {' '.join(map(str, words))}")

    def record(self, name, text, *words, **options):
        script = self.folder / f"{name}.py"
        script.write_text(textwrap.dedent(text))
        self.tool("run", *words, "-o", f"{name}.lead", script, **options)
        return self.folder / f"{name}.lead"

    def cut(self, path, share):
        """Its first bytes: a file that was not written to its end."""
        shorter = self.folder / f"cut_{path.name}"
        content = path.read_bytes()
        shorter.write_bytes(content[:int(len(content) * share)])
        return shorter


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    return Outputs(tmp_path_factory.mktemp("json"))


def look_at_runs(o):
    o.print("time", "time", "--json", sys.executable, "-c", "import time; time.sleep(0.3)")
    sampled = o.record("sampled", PROGRAM, "--rate=2000")
    for path in (sampled, DATA / "orders.lead", DATA / "crash.lead", DATA / "gil.lead", DATA / "children.lead"):
        o.print("report", "report", "--json", "--threads", "--tree", "--tasks", path)
    o.print("report", "report", "--json", "--callers=work", "--callees=work", "--bytecode=work", sampled)
    traced = o.record("traced", CALLED, "--trace", "--args", "--lines=*")
    o.print("report", "report", "--json", "--tree", "--callers=fib", "--callees=fib", traced)
    o.print("report", "report", "--json", o.record("counted", CALLED, "--count=opcodes"))
    result, page = budget.run("3.13", "--budget", "10%")
    assert result.returncode == 0
    o.take("report", page, "run --budget")
    trained = o.record("trained", TRAINED)
    o.print("report", "report", "--json", trained)
    o.print("time", "time", "--json", "true")
    damaged = o.cut(sampled, 0.9)
    o.print("report", "report", "--json", damaged)
    again = o.record("again", PROGRAM.replace("range(300)", "range(600)"), "--rate=2000")
    o.print("diff", "diff", "--json", "--paths", "--all", sampled, again)
    o.print("diff", "diff", "--json", damaged, again)
    o.print("diff", "diff", "--json", traced, o.record("traced_again", CALLED, "--trace"))
    o.print("report of memory", "report", "--json", "--memory", DATA / "memory.lead")
    o.print("report of memory", "report", "--json", "--memory=leaks", "--tree", "--threads", "--callers=read", "--callees=main", DATA / "memory.lead")
    o.print("report of memory", "report", "--json", "--memory", o.cut(DATA / "memory.lead", 0.9))
    return sampled, traced, damaged, again


def look_at_torch(o):
    panes = ["--overview", "--steps", "--ops", "--modules", "--compile", "--memory", "--kernels", "--streams"]
    for trace in TRACES:
        o.print("report of a PyTorch trace", "report", "--json", *panes, trace)
        o.print("report of a PyTorch trace", "report", "--json", "--ops", "--callers", "aten::", "--callees", "aten::", trace)
    o.print("report of a PyTorch trace", "report", "--json", "--kernels", "--ops", "--group-by-shape", DATA / "torch/h200_conv.pt.trace.json.gz")
    o.print("report of a PyTorch trace", "report", "--json", "--ops", "--group-by-stack=3", DATA / "torch/mlp_stack.pt.trace.json.gz")
    damaged = o.folder / "cut.pt.trace.json"
    damaged.write_bytes(gzip.decompress((DATA / "torch/h200_conv.pt.trace.json.gz").read_bytes())[:-20000])
    o.print("report of a PyTorch trace", "report", "--json", "--steps", "--compile", compiled().write(o.folder / "compiled.json"))
    o.print("report of a PyTorch trace", "report", "--json", "--ops", damaged)
    o.print("diff of PyTorch traces", "diff", "--ops", "--json", TRACES[2], damaged)
    o.print("report of ranks", "report", "--distributed", "--json", DATA / "torch_ranks")
    return damaged


def look_at_benchmarks(o):
    for name in ("old", "new"):
        o.tool("bench", "--processes=3", "--time=0.3", f"--json={name}.json", "sum(range(100))")
    o.print("report of benchmarks", "report", "--json", "old.json")
    o.print("compare of results", "compare", "--json", "old.json", "new.json")
    content = json.loads((o.folder / "new.json").read_text())
    content["metadata"]["cpu_model_name"] = "another one"
    (o.folder / "other.json").write_text(json.dumps(content))
    o.print("compare of results", "compare", "--json", "old.json", "other.json")
    o.print("compare", "compare", "--json", "--blocks=6", "--explain", "sum(range(3000))", "sum(range(9000))")
    o.print("compare of counts", "compare", "--json", "--count", "sum(map(abs, range(9)))", "sum(range(90))")
    o.print("compare of counts", "compare", "--json", "--count", "--fail-if-slower", "3%", "sum(range(9))", "sum(range(9))  # again")
    o.tool("bench", "--runs=3", "--output=kept.lead", "--", "true")
    o.print("report of benchmarks", "report", "--json", o.cut(o.folder / "kept.lead", 0.9))
    o.print("compare of results", "compare", "--json", "--force", o.cut(o.folder / "kept.lead", 0.9), o.cut(o.folder / "kept.lead", 0.9))


def look_at_processes(o):
    code = "import asyncio\nasync def inner(given):\n    print('ready', flush=True)\n    await asyncio.sleep(100)\nasyncio.run(inner(3))\n"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            o.print("dump", "dump", "--json", "--locals", process.pid)
        finally:
            process.kill()
    o.print("doctor", "doctor", "--json", status=(0, 1))


def look_at_the_page(o, sampled, traced, damaged, again):
    with view(sampled, traced, damaged, again, DATA / "orders.lead", DATA / "memory.lead", o.folder / "old.json") as server:
        def ask(answer, **parameters):
            o.take(f"api/{answer}", server.get(answer, **parameters), f"api/{answer} {parameters}")

        for r in range(5):
            ask("overview", r=r)
            ask("files", r=r)
            ask("graph", r=r)
            ask("timeline", r=r)
            for what in ("functions", "lines"):
                ask("table", r=r, what=what)
            rows = server.get("table", r=r)["rows"]
            for row in rows[:3]:
                for what in ("callers", "callees"):
                    ask("table", r=r, what=what, function=row["function_id"])
                ask("sandwich", r=r, function=row["function_id"])
                ask("spread", r=r, function=row["function_id"])
            for direction in ("left-heavy", "inverted"):
                ask("tree", r=r, direction=direction)
            ask("source", r=r, file=next(row["file"] for row in rows if row["file"]))
            ask("search", r=r, q="o")
        memory = len(server.get("overview")["recordings"]) - 1
        for kind in ("peak", "growth", "leaks", "churn"):
            ask("overview", r=memory, memory=kind)
            ask("tree", r=memory, memory=kind)
            ask("source", r=memory, memory=kind, file="/srv/app/cache.py")
            ask("spread", r=memory, memory=kind, function=server.get("table", r=memory)["rows"][0]["function_id"])
            for what in ("functions", "lines"):
                ask("table", r=memory, memory=kind, what=what)
        ask("tree", r=0, direction="time")
        ask("bytecode", r=0, function=next(row["function_id"] for row in server.get("table")["rows"] if row["name"] == "work"))
        ask("bytecode", r=2, function=next(row["function_id"] for row in server.get("table", r=2)["rows"] if row["name"] == "work"))
        ask("diff", **{"r": 0, "with": 3})
        ask("diff", **{"r": 2, "with": 3})
        ask("difftree", **{"r": 0, "with": 3})
        ask("difftree", **{"r": 2, "with": 3})
        ask("bench")


def look_at_torch_on_the_page(o, damaged):
    with view(*TRACES, *RANKS, damaged) as server:
        opened = server.get("overview")["recordings"]
        for r in range(len(opened)):
            o.take("api/overview", server.get("overview", r=r), f"api/overview r={r}")
            for what, why in server.get("torch", r=r)["panes"].items():
                if what not in ("neighbours", "timeline", "span") and not why:
                    o.take("api/torch", server.get("torch", r=r, what=what), f"api/torch r={r} what={what}")
            for row in server.get("torch", r=r, what="operators")["operators"][:5]:
                o.take("api/torch?what=neighbours", server.get("torch", r=r, what="neighbours", operator=row["name"]), f"neighbours r={r}")
            o.take("api/torch?what=timeline", server.get("torch", r=r, what="timeline", flows=1, python=1), f"timeline r={r}")
            for event in range(0, server.get("torch", r=r)["events"], 97):
                o.take("api/torch?what=span", server.get("torch", r=r, what="span", event=event), f"span r={r}")
        o.take("api/ops_diff", server.get("ops_diff", **{"r": 0, "with": 1}), "api/ops_diff")
        o.take("api/ops_diff", server.get("ops_diff", **{"r": 0, "with": len(opened) - 1}), "api/ops_diff")
    shorter = o.folder / "node_8.json"
    shorter.write_bytes(gzip.decompress(RANKS[1].read_bytes())[:-300])
    for second in (RANKS[1], shorter):
        with view(RANKS[0], second) as server:
            o.take("api/ranks", server.get("ranks"), "api/ranks")


def test_every_key_is_listed_and_every_listed_key_occurs(outputs):
    recordings = look_at_runs(outputs)
    damaged = look_at_torch(outputs)
    look_at_benchmarks(outputs)
    look_at_processes(outputs)
    look_at_the_page(outputs, *recordings)
    look_at_torch_on_the_page(outputs, damaged)
    found = outputs.problems + [text for text in outputs.checker.unseen() if text not in ELSEWHERE]
    assert not found, "\n".join(found)


def test_the_check_can_fail(tmp_path):
    (tmp_path / "docs").mkdir()
    table = "| key | type | unit | meaning |\n|---|---|---|---|\n"
    (tmp_path / "docs/JSON.md").write_text(f"### row\n{table}| `name`, `at` | text |  | where |\n| `self` | number | s | time |\n\n### rows\n{table}"
                                           "| `rows` | list of [row](#row) |  | all |\n| … | [row](#row) |  |  |\n")
    (tmp_path / "docs/PAGE-API.md").write_text("")
    schema, wrong = json_docs.read(tmp_path)
    checker = json_docs.Checker(schema)
    assert not wrong and list(checker.check("rows", {"rows": [{"name": "x", "self": None}], "self": 1.5})) == []
    assert checker.unseen() == ["row: at never occurs"]
    assert list(checker.check("rows", {"rows": [{"name": 3, "sel": 1}]})) == ["row: name: is no text but 3", "row: sel is not listed"]
    assert list(checker.check("row", {"self": True, "at": []})) == ["row: self: is no number but True", "row: at: is no text but []"]
    (tmp_path / "docs/PAGE-API.md").write_text(f"### row\n{table}| `oneTwo` | [nothing](#nothing) |  |  |\n")
    assert len(json_docs.read(tmp_path)[1]) == 4
