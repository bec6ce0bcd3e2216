"""leadline diff: planted changes are named, chance is not, sums add up, CI gets its exit status."""
import itertools
import json
import random
import sys

import conftest
import pytest

PROGRAM = '''\
import sys
rounds, size = int(sys.argv[1]), int(sys.argv[2])

def parse(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def render(n):
    return [str(i) for i in range(n)]

for _ in range(rounds):
    parse(size)
    render(8000)
'''


def speedscope(path, parse_ms, render_ms=3.0, rounds=300, seed=1, first_line=4):
    """A loop sampled about each millisecond, by chance, as another tool might have written it."""
    rng, t, samples, weights = random.Random(seed), 0.0, [], []
    length = parse_ms + render_ms + 1
    while t < length * rounds:
        at, step = t % length, 0.5 + rng.random()
        samples.append([0, 1] if at < parse_ms else [0, 2] if at < parse_ms + render_ms else [0])
        weights.append(round(step * 1e6))
        t += step
    frames = [{"name": "main", "file": "/x/work.py", "line": 20},
              {"name": "parse", "file": "/x/work.py", "line": first_line},
              {"name": "render", "file": "/x/work.py", "line": first_line + 7}]
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
        "profiles": [{"type": "sampled", "name": "main", "unit": "nanoseconds", "startValue": 0,
                      "endValue": sum(weights), "samples": samples, "weights": weights}]}))
    return path


def diff(tool, *args, status=0):
    r = tool("diff", *args, "--json")
    assert r.returncode == status, r.stderr
    return json.loads(r.stdout)


def named(rows, which="self"):
    return [r["name"] for r in rows if r[which]["is_named"]]


def adds_up(d):
    for key in ("a", "b", "change"):
        assert sum(f["self"][key] for f in d["functions"]) == pytest.approx(d["total"][key], abs=1e-9)


def test_a_slower_function_is_named(tool, tmp_path):
    a = speedscope(tmp_path / "a.json", 6)
    b = speedscope(tmp_path / "b.json", 6 * 1.3, seed=2, first_line=40)  # and it has moved
    d = diff(tool, a, b, "--paths")
    adds_up(d)
    assert named(d["functions"]) == ["parse"] and set(named(d["functions"], "total")) == {"main", "parse"}
    parse = d["functions"][0]["self"]
    assert parse["low"] < 0.54 < parse["high"] and parse["change"] == pytest.approx(0.54, abs=0.1)
    assert [p["path"] for p in d["paths"] if p["self"]["is_named"]] == ["main › parse"]
    page = tool("diff", a, b, "--functions", "--color=never").stdout
    assert "▲" in page and "parse" in page and "render" not in page
    assert "render" in tool("diff", a, b, "--all").stdout


def test_chance_is_not_named(tool, tmp_path):
    a, b = (speedscope(tmp_path / f"{seed}.json", 6, seed=seed) for seed in (5, 6))
    d = diff(tool, a, b)
    adds_up(d)
    assert not named(d["functions"]) and not named(d["functions"], "total") and not named(d["lines"])
    assert "No change stands out" in tool("diff", a, b).stdout


def test_a_file_and_itself_are_equal(tool, tmp_path):
    a = speedscope(tmp_path / "a.json", 6)
    d = diff(tool, a, a)
    assert d["total"]["change"] == 0 and all(f["self"]["change"] == 0 for f in d["functions"])


def test_length_of_the_run(tool, tmp_path):
    a, b = speedscope(tmp_path / "a.json", 6), speedscope(tmp_path / "b.json", 6, rounds=900, seed=3)
    assert set(named(diff(tool, a, b)["functions"])) == {"main", "parse", "render"}
    d = diff(tool, a, b, "--normalize", "run")
    assert not named(d["functions"]) and d["unit"] == "share"
    assert d["total"]["a"] == pytest.approx(1) and d["total"]["b"] == pytest.approx(1)
    adds_up(d)
    d = diff(tool, a, b, "--normalize", "unit", "--unit", "300:900")
    assert not named(d["functions"]) and d["total"]["a"] == pytest.approx(0.010, rel=0.01)


def test_the_gate(tool, tmp_path):
    a = speedscope(tmp_path / "a.json", 6)
    slower = speedscope(tmp_path / "b.json", 9, seed=2)
    same = speedscope(tmp_path / "c.json", 6, seed=4)
    failed = tool("diff", a, slower, "--fail-on", "+5%")
    assert failed.returncode == 1 and failed.stderr.startswith("leadline: diff: the total grew by 3")
    assert tool("diff", slower, a, "--fail-on", "+5%").returncode == 0
    assert tool("diff", a, same, "--fail-on", "+5%", "--noise", "1%").returncode == 0
    undecided = tool("diff", a, same, "--fail-on", "+5%", "--noise", "10%")
    assert undecided.returncode == 3 and "cannot tell whether" in undecided.stderr
    assert tool("diff", a, slower, "--fail-on", "+5%", "--normalize", "run").returncode == 2


@pytest.mark.parametrize("options, words", [
    (["--fail-on", "5%"], "expects a percentage such as +5%"), (["--noise", "x"], "expects a percentage such as 2%"),
    (["--unit", "5"], "--unit needs --normalize unit"), (["--normalize", "unit"], "needs --unit"),
    (["--normalize", "unit", "--unit", "step"], "no region and no counted function is called 'step'")])
def test_wrong_usage_is_one_line(tool, tmp_path, options, words):
    a = speedscope(tmp_path / "a.json", 6)
    r = tool("diff", a, a, *options)
    assert r.returncode == 2 and words in r.stderr.splitlines()[0]


def test_what_cannot_be_compared(tool, tmp_path):
    a, folded = speedscope(tmp_path / "a.json", 6), tmp_path / "b.folded"
    folded.write_text("main;parse 10\n")
    r = tool("diff", a, folded)
    assert r.returncode == 2 and "is in time and" in r.stderr
    assert tool("diff", a).returncode == 2
    assert tool("diff", a, tmp_path / "none").returncode == 5


def test_counts_without_times(tool, tmp_path):
    a, b = tmp_path / "a.folded", tmp_path / "b.folded"
    a.write_text("main;parse 600\nmain;render 300\nmain 100\n")
    b.write_text("main;parse 900\nmain;render 310\nmain 95\nmain;fresh 60\n")
    d = diff(tool, a, b)
    assert named(d["functions"]) == ["parse", "fresh"] and d["unit"] == "count"
    adds_up(d)


def test_traced_calls(tool, tmp_path):
    script = tmp_path / "work.py"
    script.write_text(PROGRAM)
    for name, rounds in (("a", 4), ("b", 8)):
        r = tool("run", "--trace", "--python", sys.executable, "-o", tmp_path / f"{name}.lead", script, rounds, 100)
        assert r.returncode == 0, r.stderr
    d = diff(tool, tmp_path / "a.lead", tmp_path / "b.lead")
    calls = {f["name"]: (f["calls_a"], f["calls_b"]) for f in d["functions"] if "calls_a" in f}
    assert calls["parse"] == (4, 8) and calls["render"] == (4, 8)
    adds_up(d)
    d = diff(tool, tmp_path / "a.lead", tmp_path / "b.lead", "--normalize", "unit", "--unit", "parse")
    adds_up(d)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Runs of one program, and of one whose parse does three times as much."""
    folder = tmp_path_factory.mktemp("diff")
    (folder / "work.py").write_text(PROGRAM)
    numbers = itertools.count()

    def record(size):
        path = folder / f"{next(numbers)}.lead"
        r = conftest.Tool(folder)("run", "--python", sys.executable, "-o", path, folder / "work.py", 600, size)
        assert r.returncode == 0, r.stderr
        return path
    return record


@pytest.mark.beside
def test_real_runs(draw, tool, recorded):
    """By shares, so that what else the machine does cancels out."""
    a, again, slower = recorded(20000), recorded(20000), recorded(60000)
    same = named(diff(tool, a, again, "--normalize", "run", "--noise", "20%")["functions"])
    draw.verdict("named of the same", tuple(f for f in same if f in ("parse", "render")), ())
    d = diff(tool, a, slower, "--normalize", "run")
    parse = next(f for f in d["functions"] if f["name"] == "parse")
    draw.verdict("parse is named", bool(parse["self"]["is_named"]), True)
    draw.median("change of parse", parse["self"]["change"], low=0)
    text = next(l for l in d["lines"] if l.get("text") == "total += i * i")
    draw.median("change of its line", text["self"]["change"], low=0)
