"""Traces of torch.profiler: tables to the character of torch's own, and files that are none or only in part."""
import gzip
import json
import subprocess
import sys

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data" / "torch"
TABLES = sorted(p.name[:-4] for p in DATA.glob("*.txt") if not p.name.startswith("v113"))
TORCH = ["report", "--ops", "--torch"]


def trace(name):
    return DATA / f"{name}.pt.trace.json.gz"


@pytest.mark.parametrize("table", TABLES)
def test_the_table_is_what_torch_printed(tool, table):
    name, key, *top = table.split(".")
    options = ["--sort=cpu_time_total", "--group-by-shape"] if key == "shapes" else [f"--sort={key}"]
    ours = tool(*TORCH, *options, "--limit=10" if top else "--limit=-1", trace(name))
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == (DATA / f"{table}.txt").read_text()


def test_the_release_can_be_named(tool):
    """2.13 has Python functions as rows, 2.14 has not, 2.11 did not even know them."""
    rows = {v: tool("report", "--ops", f"--torch={v}", "--limit=-1", "--sort=count", trace("mlp_stack")).stdout for v in ("2.13", "2.14.1", "2.11")}
    assert "nn.Module: Linear_0" in rows["2.13"] and "nn.Module" not in rows["2.14.1"] + rows["2.11"]
    assert rows["2.14.1"] != rows["2.11"]
    assert rows["2.13"] == (DATA / "mlp_stack.count.txt").read_text()


def test_a_trace_without_kineto_has_torchs_names_and_counts(tool):
    def counted(text):
        rows = (line.split("  ") for line in map(str.strip, text.splitlines()[3:-3]) if line)
        return {cells[0]: int(cells[-1]) for cells in rows if cells[0] != "[memory]"}  # which the file has nothing of

    ours = tool(*TORCH, "--limit=-1", trace("v113_legacy")).stdout
    theirs = counted((DATA / "v113_legacy.approx.cpu_time_total.txt").read_text())
    assert len(theirs) > 40 and counted(ours) == theirs


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("torch")
    subprocess.run([sys.executable, conftest.ROOT / "tests" / "e2e" / "torch_cases.py", folder, "7", "14"], check=True, capture_output=True, timeout=240)
    return folder


def test_tables_of_random_models_and_flags_are_torchs(tool, cases):
    asked = sorted(cases.glob("*.args"))
    assert len(asked) == 14 * 4
    for path in asked:
        options = path.read_text().split("\n")
        ours = tool(*TORCH, *options, cases / f"{path.name.split('.')[0]}.json")
        assert ours.stdout == path.with_suffix(".txt").read_text(), (path.name, options)


def test_our_own_table_has_no_negative_times_and_all_of_the_time(tool):
    for name in ("mlp_plain", "mlp_stack", "conv_full", "h200_conv", "v113_legacy"):
        rows = json.loads(tool("report", "--ops", "--json", "--limit=0", trace(name)).stdout)["operators"]
        assert all(r["self_cpu_s"] >= 0 and r["self_cpu_s"] <= r["cpu_s"] + 1e-12 for r in rows)
        assert all(r["median_s"] <= r["p99_s"] <= r["max_s"] <= r["cpu_s"] + 1e-12 for r in rows)
        assert sum(r["self_cpu_share"] for r in rows) == pytest.approx(1)
    gpu = {r["name"]: r for r in rows_of(tool, "h200_conv")}
    assert gpu["aten::addmm"]["launches"] == 6 and gpu["aten::addmm"]["self_device_s"] == pytest.approx(125.247e-6)
    assert gpu["forward"]["self_device_s"] == 0 and gpu["forward"]["device_s"] == pytest.approx(244.863e-6)
    assert gpu["aten::addmm"]["flops"] == 3 * 2 * 32 * 14400 * 10


def rows_of(tool, name, *options):
    return json.loads(tool("report", "--ops", "--json", "--limit=0", *options, trace(name)).stdout)["operators"]


def test_rows_by_shape_and_top_level_rows(tool):
    shapes = rows_of(tool, "mlp_stack", "--group-by-shape")
    assert {r["shapes"] for r in shapes if r["name"] == "aten::linear"} == {"[[64, 100], [50, 100], [50]]", "[[64, 50], [10, 50], [10]]"}
    top = {r["name"] for r in rows_of(tool, "conv_full", "--top-level")}
    assert top == {"ProfilerStep*"}
    text = tool("report", "--ops", trace("conv_full"), "--limit=3").stdout
    assert "aten::max_pool2d" in text and "more; --limit 0 shows all" in text


def plain(name):
    return gzip.decompress(trace(name).read_bytes())


def test_a_trace_that_is_cut_is_read_as_far_as_it_goes(tool, tmp_path):
    whole = plain("mlp_plain")
    all_calls = sum(r["calls"] for r in rows_of(tool, "mlp_plain"))
    seen = []
    for share in (0.3, 0.6, 0.9):
        cut = tmp_path / "cut.json"
        cut.write_bytes(whole[: int(len(whole) * share)])
        done = tool("report", "--ops", "--json", "--limit=0", cut)
        assert done.returncode == 0 and "the file ends before its events do" in done.stderr
        seen.append(sum(r["calls"] for r in json.loads(done.stdout)["operators"]))
    assert 0 < seen[0] < seen[1] < seen[2] < all_calls


def test_quotes_that_were_not_escaped_are_repaired_and_counted(tool, tmp_path):
    broken = plain("mlp_plain").replace(b'"aten::linear"', b'"my "quoted", linear"', 3).replace(b'"dur": 203.472', b'"dur": nan')
    path = tmp_path / "broken.json"
    path.write_bytes(broken)
    done = tool("report", "--ops", "--json", "--limit=0", path)
    rows = {r["name"]: r["calls"] for r in json.loads(done.stdout)["operators"]}
    assert rows['my "quoted", linear'] == 3 and rows["aten::linear"] == 7
    assert rows["forward"] == 4  # of one the duration is not known
    assert "4 events were no valid JSON and were repaired" in done.stderr


def test_an_event_that_makes_no_sense_is_left_out_and_the_next_ones_are_read(tool, tmp_path):
    broken = plain("mlp_plain").replace(b'"name": "aten::linear",', b'"name": "aten::linear" ]]] ??', 1)
    path = tmp_path / "broken.json"
    path.write_bytes(broken)
    done = tool("report", "--ops", "--json", "--limit=0", path)
    assert "1 events could not be read" in done.stderr
    rows = {r["name"]: r["calls"] for r in json.loads(done.stdout)["operators"]}
    assert rows["aten::linear"] == 9 and rows["aten::addmm"] == 10


BAD = {
    "no events": ('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}', "nothing was profiled"),
    "another tool's": ('[{"name": "f", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "cat": "FEE"}]', "it is of another tool"),
    "cut before its first event": ('{"schemaVersion": 1, "traceEvents": [ {"ph": "X", "na', "it ends before its first event"),
    "no trace at all": ("hello\n", "neither an object nor an array"),
    "empty": ("", "neither an object nor an array"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_is_no_trace_is_refused_in_one_line(tool, tmp_path, what):
    text, why = BAD[what]
    path = tmp_path / "bad.json"
    path.write_text(text)
    done = tool("report", "--ops", path)
    assert done.returncode == 6 and why in done.stderr and done.stdout == ""


def test_usage_is_checked(tool):
    for options, why in ((["--ops", "--sort=speed"], "--sort speed"), (["--ops", "--torch=abc"], "no release of torch"), (["--torch"], "need --ops"),
                         (["--ops", "--limit=x"], "--limit wants a number")):
        done = tool("report", *options, trace("mlp_plain"))
        assert done.returncode == 2 and why in done.stderr, done.stderr
