"""Stored results of benchmarks: what other tools and our own `bench` have written, read back."""
import json
import statistics

import conftest
import pytest

STORED = conftest.ROOT / "tests" / "fuzz" / "corpus" / "results"


def values_of(path):
    """The raw values by name, read by other means."""
    data = json.loads(path.read_text())
    if "results" in data:
        return {r["command"]: r["times"] for r in data["results"]}
    if "machine_info" in data:
        return {b["name"]: b["stats"]["data"] for b in data["benchmarks"]}
    common = data["metadata"].get("name")
    return {b.get("metadata", {}).get("name", common): [v for run in b["runs"] for v in run.get("values", [])] for b in data["benchmarks"]}


def assert_told(tool, path):
    told = json.loads(tool("report", path, "--json").stdout)
    wanted = values_of(path)
    assert {b["name"] for b in told["benchmarks"]} == set(wanted)
    for b in told["benchmarks"]:
        values = wanted[b["name"]]
        assert (b["n"], b["least"], b["most"]) == (len(values), min(values), max(values))
        assert b["median"] == pytest.approx(statistics.median(values))
        assert b["mean"] == pytest.approx(statistics.fmean(values))
        assert b["values"] == values
    return told


@pytest.mark.parametrize("name", ["pyperf", "hyperfine", "pytest_benchmark"])
def test_every_value_of_other_tools_is_there(tool, name):
    told = assert_told(tool, STORED / name)
    assert told["format"] == name.replace("_", "-")
    page = tool("report", STORED / name).stdout
    assert told["benchmarks"][0]["name"] in page and " median " in page


def test_what_bench_has_stored_reads_as_it_was_printed(tool, tmp_path):
    files = {name: tmp_path / f"{name}.json" for name in ("pyperf", "hyperfine", "pytest-benchmark")}
    done = tool("bench", "-n", "5", "-r", "4", *(f"--export={name}={path}" for name, path in files.items()), "pass", "len('abc')")
    assert done.returncode == 0, done.stderr
    for name, path in files.items():
        assert assert_told(tool, path)["format"] == name
    # timeit's own line, as bench printed it.
    best = [line.split("best of ")[1] for line in done.stdout.splitlines() if "best of" in line]
    again = [line.split("best of ")[1] for line in tool("report", files["pyperf"]).stdout.splitlines() if "best of" in line]
    assert best == again and len(best) == 2


@pytest.mark.parametrize("args, why", [(["report", "--lines", STORED / "pyperf"], "does not apply to benchmark results"), (["diff", STORED / "pyperf", STORED / "pyperf"], "benchmark results, not a profile"),
                                       (["export", "--force", STORED / "pyperf", "-o", "x.svg"], "holds benchmark results")])
def test_what_results_cannot_say_is_one_line(tool, tmp_path, args, why):
    done = tool(*args, cwd=tmp_path)
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr


def test_a_file_cut_short_is_one_line(tool, tmp_path):
    path = tmp_path / "x.json"
    text = (STORED / "pytest_benchmark").read_text()
    path.write_text(text[: len(text) // 2])
    for command in ("report", "view"):
        done = tool(command, path)
        assert done.returncode != 0 and "byte" in done.stderr and "the input ends" in done.stderr
        assert len(done.stderr.strip().splitlines()) <= 2
