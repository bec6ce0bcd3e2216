"""Two traces of torch.profiler compared: the changes of all operators are the change of the total."""
import gzip
import json

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data" / "torch"


def trace(name):
    return DATA / f"{name}.pt.trace.json.gz"


def compare(tool, a, b, *options):
    done = tool("diff", "--json", *options, a, b)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def operators(tool, path):
    return json.loads(tool("report", "--ops", "--json", "--limit=0", path).stdout)["operators"]


PAIRS = [("mlp_plain", "v214_mlp", 5, 3), ("h200_conv", "h200_first", 3, 6), ("conv_full", "mlp_stack", 3, 5)]


@pytest.mark.parametrize("a, b, steps_a, steps_b", PAIRS)
def test_changes_add_up_and_are_those_of_the_tables(tool, a, b, steps_a, steps_b):
    whole, step = (compare(tool, trace(a), trace(b), *options) for options in (["--normalize=absolute"], []))
    assert (whole["normalize"], step["normalize"]) == ("absolute", "step")
    assert (step["a"]["steps"], step["b"]["steps"]) == (steps_a, steps_b)
    for d, by in ((whole, {"a": 1, "b": 1}), (step, {"a": steps_a, "b": steps_b})):
        for side, name in (("a", a), ("b", b)):
            rows = operators(tool, trace(name))
            ours = {(r["name"], r["is_annotation"]): r[side] for r in d["operators"]}
            assert len(ours) == len(d["operators"])
            for key, column in (("self_cpu", "self_cpu_s"), ("self_device", "self_device_s"), ("calls", "calls")):
                for r in rows:
                    same = [x for (n, _), x in ours.items() if n == r["name"]]
                    assert sum(x[key] for x in same) == pytest.approx(sum(q.get(column, 0) for q in rows if q["name"] == r["name"]) / by[side], abs=1e-12)
                assert sum(x[key] for x in ours.values()) == pytest.approx(d[side]["total"][key], abs=1e-12)
        for key in ("self_cpu", "self_device"):
            assert sum(r["b"][key] - r["a"][key] for r in d["operators"]) == pytest.approx(d["b"]["total"][key] - d["a"]["total"][key], abs=1e-12)


def test_all_of_the_device_is_in_it(tool):
    events = json.loads(gzip.decompress(trace("h200_conv").read_bytes()))["traceEvents"]
    device = sum(round(e["dur"] * 1000) for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")) / 1e9
    assert compare(tool, trace("h200_conv"), trace("h200_conv"), "--normalize=absolute")["a"]["total"]["self_device"] == pytest.approx(device)


def test_a_trace_and_itself_do_not_differ(tool, tmp_path):
    tool("export", "--force", trace("h200_conv"), "-o", tmp_path / "t.lead")
    d = compare(tool, trace("h200_conv"), tmp_path / "t.lead")
    assert d["operators"] and all(r["a"] == r["b"] for r in d["operators"])
    shares = compare(tool, trace("h200_conv"), tmp_path / "t.lead", "--normalize=run")
    assert shares["a"]["total"] == pytest.approx({"calls": 1, "self_cpu": 1, "self_device": 1})


def test_the_page_tells_the_largest_change_first(tool):
    text = tool("diff", trace("mlp_plain"), trace("v214_mlp"), "-n", "3").stdout
    lines = text.splitlines()
    assert lines[0].startswith("A ") and "5 steps" in lines[0] and "in a step, on average" in text
    assert lines[6].endswith("operator") and lines[7].endswith("aten::addmm") and "more, together" in lines[10]


def test_stacks_are_still_compared_where_they_are_asked_for(tool):
    assert "Functions" in tool("diff", "--functions", trace("mlp_plain"), trace("v214_mlp")).stdout
    stacks = conftest.ROOT / "tests" / "data" / "windows-3.13.lead"
    assert "Functions" in tool("diff", stacks, stacks).stdout
    for options, files, why in ((["--ops"], [stacks, stacks], "holds no operators"), (["--ops", "--lines"], [trace("mlp_plain")] * 2, "--ops compares operators"),
                                (["--ops"], [trace("mlp_plain"), DATA / "missing"], "missing")):
        done = tool("diff", *options, *files)
        assert done.returncode in (2, 5, 6, 7) and why in done.stderr and done.stdout == ""
