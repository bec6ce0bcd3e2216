"""The pytest plugin: a suite written for pytest-benchmark does under both what it did under the one, and files go both ways."""
import json
import os
import random
import re
import subprocess
import sys

import pytest
from conftest import LEADLINE, ROOT

pytest.importorskip("pytest_benchmark", reason="needs pytest-benchmark: run tools/setup test")

SUITE = """
import pytest

def work(n):
    return sum(range(n))

def test_simple(benchmark):
    assert benchmark(work, 100) == 4950
    assert benchmark.stats.stats.min <= benchmark.stats["median"] <= benchmark.stats.get("max")

@pytest.mark.benchmark(group="sorting", min_rounds=7, max_time=0.01, min_time=0.0001, disable_gc=True, warmup=False)
def test_marked(benchmark):
    assert benchmark(sorted, [3, 1, 2], reverse=True) == [3, 2, 1]

@pytest.mark.parametrize("n", [10, 1000])
def test_parameters(benchmark, n):
    benchmark(work, n)

def test_pedantic(benchmark):
    calls = []
    def setup():
        calls.append("setup")
        return (calls,), {"word": "call"}
    def target(to, word):
        to.append(word)
        return len(to)
    assert benchmark.pedantic(target, setup=setup, rounds=4, warmup_rounds=2) == 12
    assert calls == ["setup", "call"] * 6 and benchmark.stats.stats.rounds == 4

def test_iterations(benchmark):
    calls = []
    assert benchmark.pedantic(calls.append, args=(1,), rounds=3, iterations=5) is None
    assert len(calls) == 16 and benchmark.stats.iterations == 5

def test_own_words(benchmark):
    benchmark.group = "mine"
    benchmark.extra_info["words"] = {"a": [1, 2]}
    benchmark(work, 10)

def test_more_than_once(benchmark):
    benchmark(work, 1)
    with pytest.raises(Exception, match="once"):
        benchmark(work, 1)

def test_fails_inside(benchmark):
    with pytest.raises(ZeroDivisionError):
        benchmark(lambda: 1 / 0)

@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"iterations": 0}, {"warmup_rounds": -1}, {"iterations": 2, "setup": lambda: None}])
def test_refuses(benchmark, wrong):
    with pytest.raises(ValueError):
        benchmark.pedantic(work, args=(1,), **wrong)

def test_does_not_use_it(benchmark):
    pass

@pytest.mark.benchmark(no_such=1)
def test_bad_mark(benchmark):
    benchmark(work, 1)

class TestClass:
    def test_in_a_class(self, benchmark):
        assert benchmark.enabled and benchmark.name == "test_in_a_class" and benchmark.fullname.endswith("::TestClass::test_in_a_class")
        benchmark(work, 5)

def test_without():
    pass
"""
SMALL = """
import pytest
def work(n):
    return sum(range(n))
@pytest.mark.parametrize("n", [10, 1000])
def test_work(benchmark, n):
    benchmark(work, n)
def test_other():
    pass
"""
FAST = "--benchmark-max-time=0.01"
OURS, THEIRS = ["-p", "no:benchmark"], ["-p", "no:leadline"]


class Project:
    """A folder with a suite in it, and leadline installed as far as pytest can tell."""

    def __init__(self, folder, suite):
        self.folder, self.site = folder, folder / "site"
        info = self.site / "leadline-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: leadline\nVersion: 0\n")
        (info / "entry_points.txt").write_text("[pytest11]\nleadline = leadline._pytest\n")
        (folder / "test_suite.py").write_text(suite)

    def run(self, *args):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        env = {**kept, "PYTHONPATH": f"{self.site}:{ROOT / 'python'}", "LEADLINE_BINARY": LEADLINE, "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_suite.py", *map(str, args)], cwd=self.folder, env=env,
                              capture_output=True, text=True, timeout=120, check=False)

    def ok(self, *args):
        done = self.run(*args)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, SMALL)


def outcomes(text):
    """Of -rA: which test came to which end."""
    return sorted(re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (test_suite\.py::\S+)", text, re.MULTILINE))


def shape(value):
    """The names and kinds of a document, without its numbers."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def test_a_suite_does_the_same_under_both(tmp_path):
    project = Project(tmp_path, SUITE)
    ours = project.run(*OURS, "-rA", FAST, "--benchmark-json=ours.json")
    theirs = project.run(*THEIRS, "-rA", FAST, "--benchmark-json=theirs.json")
    assert ours.returncode == theirs.returncode == 1
    assert outcomes(ours.stdout) == outcomes(theirs.stdout) and len(outcomes(ours.stdout)) == 17
    assert "1 warning" in ours.stdout and "calls nothing with it" in ours.stdout
    a, b = (json.loads((tmp_path / name).read_text()) for name in ("ours.json", "theirs.json"))
    assert set(a) == {*b, "leadline_version"} and a["version"] == b["version"]
    assert set(a["machine_info"]) == set(b["machine_info"]) and set(a["commit_info"]) == set(b["commit_info"])
    for key in ("node", "machine", "system", "release", "python_build", "python_compiler"):
        assert a["machine_info"][key] == b["machine_info"][key]
    assert a["machine_info"]["cpu"]["count"] == b["machine_info"]["cpu"]["count"]
    assert [one["name"] for one in a["benchmarks"]] == [one["name"] for one in b["benchmarks"]]
    for one, other in zip(a["benchmarks"], b["benchmarks"]):
        assert shape(one) == shape(other)
        for key in ("group", "name", "fullname", "params", "param", "extra_info", "options"):
            assert one[key] == other[key]
        if one["name"] in ("test_pedantic", "test_iterations"):
            assert all(one["stats"][key] == other["stats"][key] for key in ("rounds", "iterations"))
        assert len(one["stats"]["data"]) == one["stats"]["rounds"]
        assert one["stats"]["iterations"] > 1 or one["name"] in ("test_pedantic", "test_parameters[1000]")


def test_statistics_are_pytest_benchmarks():
    code = f"""
import json, sys
sys.path.insert(0, {str(ROOT / 'python')!r})
from leadline._pytest_benchmark import Stats as Ours
from pytest_benchmark.stats import Stats as Theirs
for data in json.load(sys.stdin):
    ours, theirs = Ours(), Theirs()
    ours.data, theirs.data = data, data
    print(json.dumps([ours.as_dict(), theirs.as_dict()]))
"""
    draw = random.Random(7)
    rows = [[draw.lognormvariate(0, 1) for _ in range(n)] for n in range(1, 30)] + [[1.0, 1.0, 1.0, 9.0]]
    out = subprocess.run([sys.executable, "-c", code], input=json.dumps(rows), capture_output=True, text=True, check=True).stdout
    for line, data in zip(out.splitlines(), rows):
        ours, theirs = json.loads(line)
        assert list(ours) == list(theirs)
        # Theirs names the first value beyond the whisker, not the last within it.
        high = ours.pop("hd15iqr")
        assert theirs.pop("hd15iqr") >= high and high == max(v for v in data if v <= ours["q3"] + 1.5 * ours["iqr"])
        assert ours == {key: value if isinstance(value, str) else pytest.approx(value, rel=1e-9) for key, value in theirs.items()}


def test_kept_results_are_read_by_both(project):
    project.ok(*OURS, FAST, "--benchmark-save=ours")
    project.ok(*THEIRS, FAST, "--benchmark-save=theirs")
    (machine,) = (project.folder / ".benchmarks").iterdir()
    assert sorted(path.name for path in machine.iterdir()) == ["0001_ours.json", "0002_theirs.json"]
    assert all("data" not in one["stats"] for path in machine.iterdir() for one in json.loads(path.read_text())["benchmarks"])
    command = (os.path.join(os.path.dirname(sys.executable), "pytest-benchmark"),)
    listed = subprocess.run([*command, "list"], cwd=project.folder, capture_output=True, text=True, check=True)
    assert listed.stdout.count(".json") == 2
    compared = subprocess.run([*command, "compare", "--group-by=name"], cwd=project.folder, capture_output=True, text=True, check=True)
    assert "test_work[10] (0001_ours)" in compared.stdout and "test_work[10] (0002_theirs)" in compared.stdout
    for which, plugin in ((OURS, "leadline"), (THEIRS, "pytest-benchmark")):
        text = project.ok(*which, FAST, "--benchmark-compare=0001", "--benchmark-name=normal")
        assert "test_work[1000] (0001_ours)" in text and "test_work[1000] (NOW)" in text, plugin
    text = project.ok(*OURS, FAST, "--benchmark-compare", "--benchmark-group-by=fullname")  # the latest
    assert "test_work[10] (0002_theirs)" in text and "(0001_" not in text and "another machine" not in text
    text = project.ok(*OURS, FAST, f"--benchmark-compare={machine / '0001_ours.json'}", "--benchmark-name=trial")
    assert re.search(r"^0001 ", text, re.MULTILINE) and re.search(r"^NOW ", text, re.MULTILINE)


def test_worse_than_kept_results_fails(project):
    project.ok(*OURS, FAST, "--benchmark-save=now")
    (path,) = (project.folder / ".benchmarks").glob("*/*.json")
    document = json.loads(path.read_text())
    for factor, status in ((0.01, 1), (10000, 0)):
        for one in document["benchmarks"]:
            one["stats"]["median"] *= factor
        path.write_text(json.dumps(document))
        done = project.run(*OURS, FAST, "--benchmark-compare", "--benchmark-compare-fail=median:5%")
        assert done.returncode == status, done.stdout + done.stderr
        assert ("slower than before" in done.stdout) == bool(status)
    document["benchmarks"][0]["stats"].update(median=0.0)
    path.write_text(json.dumps(document))
    done = project.run(*OURS, FAST, "--benchmark-compare", "--benchmark-compare-fail", "min:1000%", "mean:3", "median:99.5%")
    assert done.returncode == 1 and done.stdout.count("are allowed") == 1


@pytest.mark.parametrize("text, words", [("not json", "cannot be read"), ("{}", "cannot be read"), ('{"benchmarks": [{"stats": {"min": "x"}}]}', "cannot be read")])
def test_what_cannot_be_compared_is_told(project, text, words):
    kept = project.folder / "kept.json"
    kept.write_text(text)
    assert words in project.ok(*OURS, FAST, "--benchmark-compare=kept.json")
    done = project.run(*OURS, FAST, "--benchmark-compare=kept.json", "--benchmark-compare-fail=min:5%")
    assert done.returncode == 4 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("flags, passed, skipped, tables", [
    ([], 3, 0, 1), (["--benchmark-only"], 2, 1, 1), (["--benchmark-skip"], 1, 2, 0), (["--benchmark-disable"], 3, 0, 0),
    (["--benchmark-disable", "--benchmark-enable"], 3, 0, 1), (["--benchmark-skip", "--benchmark-only"], 2, 1, 1),
    (["--benchmark-quiet"], 3, 0, 0), (["--benchmark-group-by=param:n"], 3, 0, 2), (["--benchmark-group-by=func,param"], 3, 0, 2)])
def test_which_tests_run_and_what_is_shown(project, flags, passed, skipped, tables):
    for which in (OURS, THEIRS):
        text = project.ok(*which, FAST, *flags)
        assert f"{passed} passed" in text and (f"{skipped} skipped" in text) == bool(skipped)
        assert len(re.findall(r"^-+ benchmark.*: \d tests? -+$", text, re.MULTILINE)) == tables, text


def test_tables_are_as_asked_for(project):
    text = project.ok(*OURS, FAST, "--benchmark-columns=rounds,mean", "--benchmark-sort=name", "--benchmark-time-unit=ms", "--benchmark-name=short")
    head, low, high = [line.split() for line in text.splitlines() if line.startswith(("Name", "work["))]
    assert head == ["Name", "(time", "in", "ms)", "Rounds", "Mean"] and [low[0], high[0]] == ["work[1000]", "work[10]"]
    assert low[3].startswith("(") and high[3] == "(1.0)"


def test_ratios_are_to_the_best_of_their_column(project):
    for which in (OURS, THEIRS):
        text = project.ok(*which, FAST, "--benchmark-columns=min,ops")
        rows = [re.sub(r"[,(>)]", "", line).split()[1:] for line in text.splitlines() if line.startswith("test_work[")]
        assert len(rows) == 2
        for value, best in ((0, min), (2, max)):
            least = best(float(row[value]) for row in rows)
            for row in rows:
                assert float(row[value + 1]) == pytest.approx(float(row[value]) / least, abs=0.02, rel=0.02), (which, text)


def test_ratios_are_in_pytest_benchmarks_words():
    code = f"""
import sys
sys.path.insert(0, {str(ROOT / 'python')!r})
from leadline._pytest_table import relative
from pytest_benchmark.table import compute_baseline_scale
for best, value in ((1.0, 1.0), (1.0, 2.5), (4.0, 0.1), (0.0, 0.0), (0.0, 1.0), (1e-9, 1.0), (2.0, -1.0)):
    print(relative(best, value), compute_baseline_scale(best, value, 10).strip(), sep="|")
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert len(out.splitlines()) == 7
    for line in out.splitlines():
        ours, theirs = line.split("|")
        assert ours == theirs


def test_a_slow_first_call_does_not_make_rounds_of_one_call(project):
    """As a compiler or a cache makes it: the calls after it are counted by the hundred."""
    (project.folder / "test_suite.py").write_text("""
import time
seen = []
def slow_once():
    if not seen:
        seen.append(time.sleep(0.05))
def test_it(benchmark):
    benchmark(slow_once)
    assert benchmark.stats["iterations"] > 1
""")
    project.ok(*OURS)


def test_times_are_drawn(project):
    """A picture for each group where pytest-benchmark has one, a box for each row of its table, with the median of the file."""
    import xml.etree.ElementTree as tree

    project.ok(*OURS, FAST, "--benchmark-save=before")
    text = project.ok(*OURS, FAST, "--benchmark-compare", "--benchmark-group-by=param:n", "--benchmark-histogram=made/times", "--benchmark-json=now.json")
    stats = {one["name"]: one["stats"] for one in json.loads((project.folder / "now.json").read_text())["benchmarks"]}
    assert sorted(path.name for path in (project.folder / "made").iterdir()) == ["times-n_10.svg", "times-n_1000.svg"] and "made/times-n_10.svg" in text
    picture = tree.parse(project.folder / "made" / "times-n_10.svg").getroot()
    titles = [g.find("{*}title").text for g in picture.findall("{*}g")]
    assert len(titles) == 2 and "test_work[10] (0001_before)" in titles[0] + titles[1]
    (now,) = [title for title in titles if "(NOW)" in title]
    value, unit = re.search(r"median ([\d.e+]+) (\w*s),", now).groups()
    assert float(value) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit] == pytest.approx(stats["test_work[10]"]["median"], rel=1e-3)


def test_settings_reach_the_measuring(project):
    project.ok(*OURS, FAST, "--benchmark-min-rounds=3", "--benchmark-warmup=on", "--benchmark-warmup-iterations=5", "--benchmark-timer=time.process_time",
               "--benchmark-min-time=0.002", "--benchmark-disable-gc", "--benchmark-autosave", "--benchmark-save-data", "--benchmark-storage=file://kept",
               "--benchmark-calibration-precision=20", "-k", "10")
    (path,) = (project.folder / "kept").glob("*/0001_unversioned_*.json")
    for one in json.loads(path.read_text())["benchmarks"]:
        assert one["options"] == {"disable_gc": True, "timer": "process_time", "min_rounds": 3, "max_time": 0.01, "min_time": 0.002, "warmup": 5}
        assert one["stats"]["rounds"] >= 3 and len(one["stats"]["data"]) == one["stats"]["rounds"] and one["stats"]["iterations"] > 1


@pytest.mark.parametrize("flags, words", [
    (["--benchmark-sort=size"], "invalid choice"), (["--benchmark-columns=min,size"], "no column 'size'"), (["--benchmark-group-by=size"], "cannot group by 'size'"),
    (["--benchmark-save=a/b"], "cannot be part of a file name"), (["--benchmark-timer=clock"], "expects a clock"), (["--benchmark-min-rounds=0"], "at least 1"),
    (["--benchmark-compare-fail=median"], "median:5%"), (["--benchmark-storage=elasticsearch+http://x"], "in folders"), (["--benchmark-max-time=-1"], "expects seconds"),
    (["--benchmark-only", "--benchmark-disable"], "would time nothing"), (["--benchmark-compare-fail=min:1%", "--benchmark-compare"], "nothing to compare with")])
def test_bad_options_get_a_line(project, flags, words):
    done = project.run(*OURS, *flags)
    assert done.returncode == 4 and words in done.stderr and "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_hooks_of_a_conftest_are_called(project):
    (project.folder / "conftest.py").write_text("""
def pytest_benchmark_update_json(config, benchmarks, output_json):
    output_json["mine"] = [one.name for one in benchmarks]
def pytest_benchmark_generate_machine_info(config):
    return {"node": "here"}
def pytest_benchmark_update_machine_info(config, machine_info):
    machine_info["user"] = "me"
def pytest_benchmark_update_commit_info(config, commit_info):
    commit_info["message"] = "words"
def pytest_benchmark_scale_unit(config, unit, benchmarks, best, worst, sort):
    return ("k" if unit == "seconds" else "", 1.0)
""")
    for which in (OURS, THEIRS):
        text = project.ok(*which, FAST, "--benchmark-json=out.json")
        made = json.loads((project.folder / "out.json").read_text())
        assert made["mine"] == ["test_work[10]", "test_work[1000]"] and made["machine_info"] == {"node": "here", "user": "me"}
        assert made["commit_info"]["message"] == "words" and "Name (time in ks)" in text


def test_it_stands_back_where_pytest_benchmark_is_active(project):
    text = project.ok(FAST)
    assert text.count("leadline: pytest-benchmark is active") == 1 and "-p no:benchmark" in text and "Legend:" in text
    assert "leadline:" not in project.ok("-k", "other")
    done = project.run("--leadline-profile")
    assert done.returncode == 4 and "add -p no:benchmark" in done.stderr


def test_a_project_without_benchmarks_is_left_alone(project):
    (project.folder / "test_suite.py").write_text("def test_nothing():\n    pass\n")
    text = project.ok(*OURS)
    assert "benchmark" not in text.partition("\n\n")[0].replace("no:benchmark", "") and not (project.folder / ".benchmarks").exists()


def test_each_benchmark_is_recorded_too(project, tool):
    (project.folder / "test_suite.py").write_text("""
import pytest
def spin(n):
    return sum(i * i for i in range(n))
@pytest.mark.benchmark(max_time=0.3)
def test_spin(benchmark):
    assert benchmark(spin, 2000) == sum(i * i for i in range(2000))
def test_pedantic(benchmark):
    calls = []
    assert benchmark.pedantic(lambda: calls.append(1) or len(calls), rounds=3) == 6
""")
    text = project.ok(*OURS, "--leadline-profile", "--leadline-profile-dir=recorded", "--benchmark-json=out.json")
    assert "leadline: 2 recorded; look at one with: leadline view recorded/test_suite.py_test_spin.lead" in text
    report = json.loads(tool("report", "--json", project.folder / "recorded" / "test_suite.py_test_spin.lead").stdout)
    assert {"spin", "spin.<locals>.<genexpr>"} & {f["name"] for f in report["functions"][:3]}, report["functions"][:3]
    assert [region["name"] for region in report["regions"]] == ["test_spin"]
    assert [one["stats"]["rounds"] for one in json.loads((project.folder / "out.json").read_text())["benchmarks"]][1] == 3
