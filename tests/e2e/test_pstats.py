"""Files of cProfile: read from every version, written so that their own tools take them."""
import base64
import json
import marshal
import os
import pathlib
import pstats
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from xml.etree import ElementTree

import conftest
import pytest
from interpreters import EXPECTED, inside, require, shared_folder

CALLS = conftest.ROOT / "tests" / "targets" / "calls.py"


def profile(label, tmp_path):
    """calls.py under that interpreter's own cProfile."""
    with inside(label, CALLS) as script:
        program = f"import cProfile, runpy, sys; p = cProfile.Profile(); p.enable(); runpy.run_path({str(script)!r}, " \
                  "run_name='__main__'); p.disable(); p.create_stats(); import marshal; " \
                  "sys.stdout.buffer.write(marshal.dumps(p.stats))"
        done = subprocess.run(require(label).command("-c", program), capture_output=True, check=True)
    path = tmp_path / f"{label}.prof"
    path.write_bytes(done.stdout)
    return path


@pytest.mark.parametrize("label", EXPECTED)
def test_a_file_of_every_version_is_read_and_written_again_the_same(tool, tmp_path, label):
    theirs = profile(label, tmp_path)
    ours = tmp_path / "ours.prof"
    done = tool("export", "--force", theirs, "-o", ours)
    assert done.returncode == 0, done.stderr
    before, after = marshal.loads(theirs.read_bytes()), marshal.loads(ours.read_bytes())
    assert list(before) == list(after)
    assert before == after


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of ours, made of one of cProfile's."""
    folder = tmp_path_factory.mktemp("pstats")
    path = folder / "ours.prof"
    subprocess.run([conftest.LEADLINE, "export", "--force", profile("3.13", folder), "--format", "pstats", "-o", path], check=True)
    return path


def test_pstats_takes_our_file(written):
    stats = pstats.Stats(str(written))
    assert {name[2]: row[:2] for name, row in stats.stats.items()}["fib"] == (1, 465)
    assert stats.get_stats_profile().func_profiles["fib"].ncalls == "465/1"


def test_snakeviz_takes_our_file(written):
    from snakeviz.stats import json_stats, table_rows
    stats = pstats.Stats(str(written))
    assert any("fib" in row[-2] for row in table_rows(stats))
    assert any("(fib)" in name for name in json_stats(stats))


def test_gprof2dot_takes_our_file(written):
    done = subprocess.run([sys.executable, "-m", "gprof2dot", "-f", "pstats", "-n0", "-e0", str(written)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fib" in done.stdout and done.stdout.startswith("digraph")


def test_a_report_of_such_a_file_has_its_numbers(tool, written):
    done = tool("report", "--json", written)
    assert done.returncode == 0, done.stderr
    functions = {f["name"]: f for f in json.loads(done.stdout)["functions"]}
    theirs = {name[2]: row for name, row in pstats.Stats(str(written)).stats.items()}
    assert functions["fib"]["calls"] == 465 and functions["fib"]["primitive_calls"] == 1
    assert functions["fib"]["self"] == theirs["fib"][2] and functions["fib"]["total"] == theirs["fib"][3]
    assert functions["{built-in method builtins.len}"]["calls"] == theirs["<built-in method builtins.len>"][1]
    assert functions["fib"]["max_s"] is None and functions["fib"]["resumes"] is None


def test_what_such_a_file_cannot_say_is_said(tool, written):
    for options, reason in (["--tree"], "--tree needs whole stacks"), (["--state=cpu"], "does not say which samples"), \
            (["--line-profiler"], "it holds no timed lines"):
        done = tool("report", *options, written)
        assert done.returncode == 2 and reason in done.stderr
    done = tool("report", "-s", "ncalls", conftest.ROOT / "tests" / "data" / "busy.lead")
    assert done.returncode == 2 and "leadline run --trace" in done.stderr
    done = tool("export", "-f", "pstats", conftest.ROOT / "tests" / "data" / "busy.lead")
    assert done.returncode == 2 and "leadline run --trace" in done.stderr


# ---- traced by us, against cProfile ----------------------------------------------------------------------


def own_calls(stats):
    """Rows of calls.py, and edges that begin or end there; what is outside main() differs by how it was started."""
    outside = ("<module>", "main", "Book")

    def is_mine(f):
        return f[0].endswith("calls.py")

    rows = {f[1:]: row[:2] for f, row in stats.items() if is_mine(f) and f[2] not in outside}
    edges = {}
    for f, row in stats.items():
        for caller, counts in row[4].items():
            if (is_mine(caller) and caller[2] != "<module>") or (is_mine(f) and f[2] not in outside):
                edges[os.path.basename(caller[0]), *caller[1:], os.path.basename(f[0]), *f[1:]] = counts[:2]
    return rows, edges


UNDER_CPROFILE = """
import cProfile, marshal, sys
sys.path.insert(0, {folder!r})
import calls
p = cProfile.Profile()
p.enable()
calls.main()
p.disable()
p.create_stats()
sys.stdout.buffer.write(marshal.dumps({{k: v for k, v in p.stats.items() if "disable" not in k[2]}}))
"""


@pytest.mark.parametrize("label", EXPECTED)
def test_calls_edges_and_names_are_those_of_cprofile(tool, label):
    interpreter, shared = require(label), shared_folder(label)
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        os.chmod(folder, 0o755)
        script = shutil.copy(CALLS, folder)
        ours = os.path.join(folder, "ours.prof")
        done = tool("run", "--trace", "-s", "cumtime", "-o", ours, "--", *interpreter.command(script),
                    env={**os.environ, "TMPDIR": shared})
        assert done.returncode == 0, done.stderr
        assert "function calls (" in done.stderr and "Ordered by: cumulative time" in done.stderr
        with open(ours, "rb") as f:
            traced = own_calls(marshal.load(f))
        theirs = subprocess.run(interpreter.command("-c", UNDER_CPROFILE.format(folder=folder)), capture_output=True, check=True)
        profiled = own_calls(marshal.loads(theirs.stdout))
    assert len(profiled[0]) == 9 and len(profiled[1]) == 16
    assert traced == profiled


def test_samples_give_way_to_counted_calls_in_one_recording(tool, tmp_path):
    path = tmp_path / "both.lead"
    done = tool("run", "--trace", "--sample", "-o", path, "--python", require("3.13").exe, CALLS)
    assert done.returncode == 0, done.stderr
    both = json.loads(tool("report", "--json", "--tree", "--callers=fib", path).stdout)
    fib = next(f for f in both["functions"] if f["name"] == "fib")
    assert fib["calls"] == 465 and fib["primitive_calls"] == 1 and fib["max_s"] > 0
    assert fib["min_s"] <= fib["median_s"] <= fib["p99_s"] <= fib["max_s"]
    assert {c["name"]: c["calls"] for c in both["callers"][0]["callers"]} == {"main": 1, "fib": 464}
    squares = next(f for f in both["functions"] if f["name"] == "squares")
    assert (squares["calls"], squares["resumes"]) == (1, 300)
    total = sum(f["raw_self"] for f in both["functions"])
    assert abs(total - both["trace"]["raw_self"]) < 1e-6
    done = tool("report", "--state=cpu", path)
    assert done.returncode == 2 and "need samples" in done.stderr


# ---- pictures of who called whom -----------------------------------------------------------------------

def page_tree(tool, path, to):
    """The tree that the page of a file draws."""
    tool("view", "--force", path, "-o", to, check=True)
    data = re.search(r'<script type="application/octet-stream" id="leadline-data">([A-Za-z0-9+/=]+)</script>', to.read_text())
    answers = json.loads(zlib.decompress(base64.b64decode(data[1]), -15))["answers"]
    return next(a for key, a in answers.items() if key.startswith("tree") and "left-heavy" in key)


def random_stats(seed):
    """A call graph with recursion and cycles, as cProfile would write it."""
    draw = random.Random(seed)
    functions = [("a.py", i, f"f{i}") for i in range(draw.randint(1, 25))]
    callers = {f: {c: (n := draw.randint(1, 9), n, draw.random(), draw.random()) for c in draw.sample(functions, draw.randint(0, min(4, len(functions))))}
               for f in functions}
    return {f: (9, 9 + sum(c[0] for c in callers[f].values()), draw.random(), draw.random() * 3, callers[f]) for f in functions}


@pytest.mark.parametrize("seed", range(12))
def test_boxes_of_any_call_graph_come_to_pstats_total(tool, tmp_path, seed):
    path = tmp_path / "x.prof"
    stats = random_stats(seed)
    path.write_bytes(marshal.dumps(stats))
    tree = page_tree(tool, path, tmp_path / "x.html")
    expected = pstats.Stats(str(path)).total_tt
    assert tree["value"] == pytest.approx(expected, rel=1e-4)
    assert "not from stacks" in tree["note"]
    boxes = tree["boxes"]
    own = {}
    for f, self in zip(boxes["f"], boxes["s"]):
        own[f] = own.get(f, 0) + self
    assert sum(own.values()) + tree["left_out"]["value"] == pytest.approx(expected, rel=1e-3)


def test_a_flame_graph_of_a_prof_file_tells_what_it_is(tool, tmp_path):
    data = pathlib.Path(__file__).resolve().parent.parent / "data" / "calls.prof"
    tool("export", data, "-o", tmp_path / "x.svg", check=True)
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "walk (app.py:30)\n300 ms, 30.0 %; self 18.0 %" in titles and "walk (app.py:30)\n200 ms, 20.0 %; self 12.0 %" in titles
    assert any("not from stacks" in (t.text or "") for t in root.iter("{http://www.w3.org/2000/svg}text"))
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
