"""Files of cProfile: read from every version, written so that their own tools take them."""
import json
import marshal
import pstats
import subprocess
import sys

import conftest
import pytest
from interpreters import EXPECTED, inside, require

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
    done = tool("export", theirs, "-o", ours)
    assert done.returncode == 0, done.stderr
    before, after = marshal.loads(theirs.read_bytes()), marshal.loads(ours.read_bytes())
    assert list(before) == list(after)
    assert before == after


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file of ours, made of one of cProfile's."""
    folder = tmp_path_factory.mktemp("pstats")
    path = folder / "ours.prof"
    subprocess.run([conftest.LEADLINE, "export", profile("3.13", folder), "--format", "pstats", "-o", path], check=True)
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
    assert functions["fib"]["self_s"] == theirs["fib"][2] and functions["fib"]["total_s"] == theirs["fib"][3]
    assert functions["{built-in method builtins.len}"]["calls"] == theirs["<built-in method builtins.len>"][1]
    assert functions["fib"]["max_s"] is None and functions["fib"]["resumes"] is None


def test_what_such_a_file_cannot_say_is_said(tool, written):
    for options, reason in (["--tree"], "--tree needs calling contexts"), (["--state=cpu"], "does not say which samples"), \
            (["--line-profiler"], "no lines were counted"):
        done = tool("report", *options, written)
        assert done.returncode == 2 and reason in done.stderr
    done = tool("report", "-s", "ncalls", conftest.ROOT / "tests" / "data" / "busy.lead")
    assert done.returncode == 2 and "leadline run --trace" in done.stderr
    done = tool("export", "-f", "pstats", conftest.ROOT / "tests" / "data" / "busy.lead")
    assert done.returncode == 2 and "leadline run --trace" in done.stderr
