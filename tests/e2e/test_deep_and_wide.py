"""Programs that are deep or wide: every view and export ends soon, and says the same as of a small one.

Each of these took minutes, or never ended, while work grew with the square of the depth or of the number of functions. The
time-outs are far above what they take; they are there to end what would not end."""

import json
import subprocess
import sys

import pytest

import conftest

SOON = 60  # seconds; minutes of work before

DEEP = """
import sys
sys.setrecursionlimit({depth} + 1000)
def work(n):
    return sum(range(n))
def down(n):
    if n % 7 == 0:
        work(20)
    return 1 + down(n - 1) if n else 0
for _ in range(3):
    down({depth})
"""

MUTUAL = """
import sys
sys.setrecursionlimit({depth} + 1000)
def even(n):
    return odd(n - 1) if n else True
def odd(n):
    return even(n - 1) if n else False
even({depth})
"""

MANY = """
made = []
for i in range({n}):
    names = {{}}
    exec(compile("def f%d(x):\\n  return x + 1\\n" % i, "made%d.py" % i, "exec"), names)
    made.append(names["f%d" % i])
for f in made:
    f(1)
"""

FORMATS = ["callgrind", "chrome", "collapsed", "cpuprofile", "csv", "dot", "firefox", "json", "perfetto", "pprof", "pstats",
           "speedscope", "svg"]


def leadline(*arguments, timeout=SOON):
    return subprocess.run([conftest.LEADLINE, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


def traced(folder, text):
    script, recording = folder / "program.py", folder / "program.lead"
    script.write_text(text)
    done = leadline("run", "--trace", "-o", recording, "--python", sys.executable, script)
    assert done.returncode == 0, done.stderr
    return recording


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    return traced(tmp_path_factory.mktemp("deep"), DEEP.format(depth=50000))


@pytest.fixture(scope="module")
def mutual(tmp_path_factory):
    return traced(tmp_path_factory.mktemp("mutual"), MUTUAL.format(depth=50000))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return traced(tmp_path_factory.mktemp("many"), MANY.format(n=30000))


def tree_of(recording):
    done = leadline("report", recording, "--tree", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tree"]


def find(nodes, name):
    for node in nodes:
        found = node if node["name"].endswith(name) else find(node["children"], name)
        if found:
            return found
    return None


def test_the_tree_of_a_deep_recursion_ends_and_counts_every_call(deep):
    down = find(tree_of(deep), "down")
    assert down["calls"] == 3 * 50001 and down["is_recursive"]
    assert find([down], "work")["calls"] == 3 * 7143
    text = leadline("report", deep, "--tree").stdout
    assert len(text) < 10000 and "down ↻" in text


def test_the_tree_of_two_that_call_each_other_ends_and_counts_every_call(mutual):
    def calls(nodes):
        return sum(node["calls"] * node["name"].endswith(("even", "odd")) + calls(node["children"]) for node in nodes)

    assert calls(tree_of(mutual)) == 50001


@pytest.mark.parametrize("fixture", ["deep", "mutual", "many"])
def test_one_page_of_it_is_made_soon(fixture, request, tmp_path):
    done = leadline("view", "--force", request.getfixturevalue(fixture), "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 100000


@pytest.mark.parametrize("fixture", ["deep", "mutual", "many"])
def test_it_is_compared_with_itself_soon(fixture, request):
    recording = request.getfixturevalue(fixture)
    assert leadline("diff", recording, recording).returncode == 0


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("fixture", ["mutual", "many"])
def test_each_format_of_it_is_written_soon_and_is_no_giant(fixture, name, request, tmp_path):
    out = tmp_path / "out"
    done = leadline("export", "--force", request.getfixturevalue(fixture), "--format", name, "-o", out)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size < 200_000_000


def test_a_stack_that_is_written_whole_keeps_both_ends(mutual, tmp_path):
    out = tmp_path / "x.folded"
    assert leadline("export", "--force", mutual, "--format", "collapsed", "-o", out).returncode == 0
    shortened = next(line for line in out.read_text().splitlines() if "[left out]" in line)
    frames = shortened.rsplit(" ", 1)[0].split(";")
    assert "<module>" in frames[0]
    assert [f for f in frames if "[left out]" in f] == ["[left out]"]
    assert "even" in frames[-1] or "odd" in frames[-1]


def test_a_chain_of_distinct_functions_is_shown_to_its_end(tmp_path):
    n = 3000
    chain = "\n".join(f"def f{i}(k):\n  return f{i + 1}(k)" for i in range(n)) + f"\ndef f{n}(k):\n  return k\n"
    recording = traced(tmp_path, f"import sys\nsys.setrecursionlimit({n + 1000})\n{chain}f0(1)\n")
    text = leadline("report", recording, "--tree", "--limit", "0").stdout
    assert f"⋯{n + 1} f{n}" in text
    tree = text[text.index("⋯"):]
    assert max(map(len, tree.splitlines())) < 200 + len(str(tmp_path))
