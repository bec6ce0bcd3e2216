"""Traces of torch.profiler: tables to the character of torch's own, and files that are none or only in part."""
import gzip
import json
import pathlib
import subprocess
import sys

import conftest
import pytest
from interpreters import inside, newer_torch

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


CASES = conftest.ROOT / "tests" / "e2e" / "torch_cases.py"


@pytest.fixture(scope="module", params=["torch", "newer torch"])
def cases(request, tmp_path_factory):
    """Traces and tables of one release, made by one process."""
    words = ["7", "14"]
    if request.param == "torch":
        pytest.importorskip("torch")
        folder = tmp_path_factory.mktemp("torch")
        subprocess.run([sys.executable, CASES, folder, *words], check=True, capture_output=True, timeout=240)
        yield folder
        return
    newer = newer_torch()
    with inside(newer.label, CASES) as script:
        subprocess.run(newer.command(script, script.parent, *words), check=True, capture_output=True, timeout=240)
        yield pathlib.Path(newer.root + str(script.parent))


def test_tables_of_random_models_and_flags_are_torchs(tool, cases):
    """Nothing says which release it was: --torch goes by the traces' habits."""
    asked = sorted(cases.glob("*.args"))
    assert len(asked) == 14 * 4
    for path in asked:
        options = path.read_text().split("\n")
        ours = tool(*TORCH, *options, cases / f"{path.name.split('.')[0]}.json")
        theirs = path.with_suffix(".txt").read_text()
        assert "Self CPU time total" in theirs and ours.stdout == theirs, (path.name, options)


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


@pytest.mark.parametrize("name", ["mlp_stack", "v214_mlp_stack"])
def test_rows_by_the_python_functions_around_a_call(tool, name):
    events = [e for e in json.loads(plain(name))["traceEvents"] if e["ph"] == "X"]
    functions = [(e["ts"], e["ts"] + e["dur"], e["name"]) for e in events if e["cat"] == "python_function" and not e["name"].startswith("<built-in")]
    expected, modules = {}, {}
    for e in events:
        if e["cat"] in ("cpu_op", "user_annotation") and e["name"] not in HIDDEN and not e["name"].startswith("profiler::"):
            around = sorted((f for f in functions if f[0] <= e["ts"] and e["ts"] + e["dur"] <= f[1]), reverse=True)
            key = e["name"], ";".join(f[2] for f in around[:2])
            expected[key] = expected.get(key, 0) + 1
            modules.setdefault(e["name"], set()).add(next((f[2][11:] for f in around if f[2].startswith("nn.Module")), ""))
    rows = rows_of(tool, name, "--group-by-stack=2")
    assert {(r["name"], r["stack"]): r["calls"] for r in rows} == expected
    for row in rows_of(tool, name):
        forward = {p["module"] for p in row["places"] if not p["backward"]}
        assert forward <= modules[row["name"]] and all(p["source"].startswith("golden") for p in row["places"])


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
    assert "1 event could not be read" in done.stderr
    rows = {r["name"]: r["calls"] for r in json.loads(done.stdout)["operators"]}
    assert rows["aten::linear"] == 9 and rows["aten::addmm"] == 10


def test_bytes_that_no_text_has_do_not_stop_it(tool, tmp_path):
    path = tmp_path / "broken.json"
    path.write_bytes(plain("mlp_plain").replace(b'{\n    "ph": "X",', b'\0\0{\n    "ph": "X",', 5))
    done = tool("report", "--ops", "--json", "--limit=0", path)
    assert done.returncode == 0 and "could not be read" in done.stderr
    assert sum(r["calls"] for r in json.loads(done.stdout)["operators"]) > 500


BAD = {
    "no events": ('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}', "nothing was profiled"),
    "another tool's": ('[{"name": "f", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "cat": "FEE"}]', "it comes from another tool"),
    "cut before its first event": ('{"schemaVersion": 1, "traceEvents": [ {"ph": "X", "na', "the file ends before its events do"),
    "no trace at all": ("hello\n", "neither a recording nor another profiler's file"),
    "empty": ("", "the file is empty"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_is_no_trace_is_refused_in_one_line(tool, tmp_path, what):
    text, why = BAD[what]
    path = tmp_path / "bad.json"
    path.write_text(text)
    done = tool("report", "--ops", path)
    assert done.returncode == 6 and why in done.stderr and done.stdout == ""


def test_a_trace_of_the_device_alone_has_kernels_and_no_operators(tool, tmp_path):
    path = write(tmp_path / "t.json", [e for e in training() if e.get("cat") == "kernel"])
    done = tool("report", "--overview", "--steps", "--ops", "--kernels", path)
    assert done.returncode == 0 and "no operator was recorded" in done.stdout and "ncclDevKernel" in done.stdout
    assert tool(*TORCH, path).stdout.count("ncclDevKernel") == 1


def test_usage_is_checked(tool):
    for options, why in ((["--ops", "--sort=speed"], "--sort speed"), (["--ops", "--torch=abc"], "not a release of torch"), (["--torch"], "need --ops"), (["--ops", "--torch", "--group-by-stack=2"], "leave out --torch"),
                         (["--ops", "--limit=x"], "--limit expects a number")):
        done = tool("report", *options, trace("mlp_plain"))
        assert done.returncode == 2 and why in done.stderr, done.stderr


# ---- steps, kernels, advice ----

PARTS = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "compile", "cpu", "other"]
GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
HOST = {"cuda_runtime": "runtime", "cuda_driver": "runtime", "cpu_op": "cpu"}
HIDDEN = ["[memory]", "aten::is_leaf", "aten::output_nr", "aten::_version"]


def part_of(event):
    if event["cat"] in GPU:
        return "communication" if "nccl" in event["name"] else GPU[event["cat"]]
    if event["name"] in ("dynamo", "entire_frame_compile", "entire_backward_compile") or event["name"].endswith(" (dynamo_timed)"):
        return "compile"
    return "dataloader" if event["name"].startswith("enumerate(DataLoader)") else HOST.get(event["cat"])


def ns(text):
    return round(text * 1000)


def split(events):
    """The steps of a trace and their parts, nanosecond by nanosecond where something changes: the slow way."""
    spans = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e) for e in events if e["ph"] == "X" and e["name"] not in HIDDEN]
    ops = {e["args"]["External id"]: begin for begin, _, e in spans if e["cat"] in ("cpu_op", "user_annotation")}
    marks = sorted((b, t, e["name"]) for b, t, e in spans if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#"))
    ends = [max([t] + [x[1] for x in spans if x[2]["cat"] in GPU and b <= ops.get(x[2]["args"].get("External id"), -1) <= t]) for b, t, _ in marks]
    steps, until = [], 0
    for (begin, _, name), end in zip(marks, ends):
        begin = max(begin, until)
        until = max(begin, end)
        parts = dict.fromkeys(PARTS, 0)
        cuts = sorted({begin, until} | {c for s in spans for c in s[:2] if begin < c < until})
        for low, high in zip(cuts, cuts[1:]):
            running = {part_of(e) for b, t, e in spans if b <= low and t >= high}
            parts[next((p for p in PARTS if p in running), "other")] += high - low
        steps.append((name, until - begin, parts))
    return steps


def check_steps(tool, path, events):
    ours = json.loads(tool("report", "--steps", "--json", "--limit=0", path).stdout)["steps"]
    theirs = split(events)
    assert [s["name"] for s in ours] == [name for name, _, _ in theirs] and ours
    for step, (_, length, parts) in zip(ours, theirs):
        assert step["duration_s"] == pytest.approx(length / 1e9)
        assert step["parts_s"] == pytest.approx({p: n / 1e9 for p, n in parts.items()}, abs=1e-12)
    return ours


@pytest.mark.parametrize("name", ["h200_conv", "conv_full", "v214_mlp"])
def test_every_moment_of_a_step_belongs_to_one_part(tool, name):
    check_steps(tool, trace(name), json.loads(plain(name))["traceEvents"])


def training(n_steps=4, **facts):
    """A made-up training on a device: in each step 1000 µs of loading, an addmm that launches a gemm, a collective, and an optimizer."""
    events, number = [], 1
    names = {"load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "gemm": "sm90_xmma_gemm_bf16", "copy": "Memcpy HtoD (Pinned -> Device)",
             "forward": "DistributedDataParallel.forward", **facts}

    def add(cat, name, ts, dur, pid=1, tid=1, **args):
        nonlocal number
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})
        if cat in ("cpu_op", "user_annotation"):
            events[-1]["args"]["External id"] = number
            number += 1
        return number - 1

    for k in range(n_steps):
        t = 1000.0 + k * 10000
        add("user_annotation", f"ProfilerStep#{k}", t, 9000.0 + k)
        add("user_annotation", names["load"], t + 10, 1000.5)
        add("user_annotation", names["forward"], t + 1900, 3000)
        copy = add("cpu_op", "aten::copy_", t + 1100, 400.0)
        add("gpu_memcpy", names["copy"], t + 1200, 250.0, 0, 7, bytes=1 << 20, stream=7, **{"External id": copy})
        op = add("cpu_op", "aten::addmm", t + 2000, 500.0)
        add("cuda_runtime", "cudaLaunchKernel", t + 2100, 100.25, **{"External id": op, "correlation": k})
        add("kernel", names["gemm"], t + 2300, 2000.0, 0, 7, stream=7, **{"External id": op, "blocks per SM": 0.5, "est. achieved occupancy %": 40})
        op = add("cpu_op", "c10d::allreduce_", t + 4000, 50.0)
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", t + 4000, 1500.125, 0, 20, stream=20, **{"External id": op, "blocks per SM": 0.1, "est. achieved occupancy %": 10})
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": t + 2001.0,
                       "args": {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 1024, "Total Allocated": int(facts.get("peak", 0.5) * (80 << 30)), "Total Reserved": 0}})
    return events


def write(path, events, devices=2, backend="nccl"):
    device = {"name": "NVIDIA \"X\"", "totalGlobalMem": 80 << 30, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": i, **device} for i in range(devices)], "traceEvents": events,
                                "distributedInfo": {"backend": backend, "rank": 0, "world_size": 2}}))  # after the events, as on-demand traces have it
    return path


def overview(tool, path):
    done = tool("report", "--overview", "--json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["overview"]


def test_the_overview_of_a_training_on_a_device(tool, tmp_path):
    path = write(tmp_path / "t.json", training())
    check_steps(tool, path, training())
    seen = overview(tool, path)
    assert seen["device"] == 'NVIDIA "X"' and seen["steps"] == 4
    assert seen["total_s"] == pytest.approx(4 * 9000e-6 + 6e-6)
    assert seen["busy_s"] == pytest.approx(4 * (2000 + 250 + 1200.125) * 1e-6)
    assert seen["kernel_s"] == pytest.approx(4 * 3500.125e-6) and seen["tensor_core_s"] == pytest.approx(4 * 2000e-6)
    assert seen["sm_efficiency_share"] == pytest.approx(4 * (2000 * 0.5 + 1500.125 * 0.1) * 1e-6 / seen["total_s"], rel=1e-5)
    assert seen["occupancy_share"] == pytest.approx((2000 * 0.4 + 1500.125 * 0.1) / 3500.125, rel=1e-5)
    kernels = json.loads(tool("report", "--kernels", "--json", path).stdout)["kernels"]
    assert [(k["operator"], k["times"], k["tensor_cores"]) for k in kernels] == [("aten::addmm", 4, True), ("c10d::allreduce_", 4, False), ("aten::copy_", 4, False)]
    text = tool("report", "--overview", "--steps", "--kernels", path).stdout
    assert "What to change" in text and "ProfilerStep#3" in text and "ncclDevKernel" in text


def advice(tool, path):
    return {a["rule"]: a for a in overview(tool, path)["advice"]}


def test_each_rule_speaks_when_its_threshold_is_passed_and_not_before(tool, tmp_path):
    path = tmp_path / "t.json"
    found = advice(tool, write(path, training()))
    assert set(found) == {"dataloader", "communication", "idle-device"}
    assert found["dataloader"]["saving"]["value"] == pytest.approx(4 * 1000.5e-6) and "num_workers" in found["dataloader"]["change"]
    assert found["communication"]["saving"]["value"] == pytest.approx(4 * 1200.125e-6)
    assert found["idle-device"]["saving"]["value"] == pytest.approx(overview(tool, path)["total_s"] - overview(tool, path)["busy_s"])
    assert [a["rule"] for a in overview(tool, path)["advice"]] == ["idle-device", "communication", "dataloader"]  # what saves most comes first
    changed = {
        "tensor-cores": training(gemm="sm80_xmma_gemm_f32f32_ffma"),
        "device-memory": training(peak=0.95),
        "data-parallel": training(forward="DataParallel.forward"),
    }
    for rule, events in changed.items():
        assert set(advice(tool, write(path, events))) == set(found) | {rule}
    assert "backend" in advice(tool, write(path, training(), backend="gloo"))
    assert "data-parallel" not in advice(tool, write(path, training(forward="DataParallel.forward"), devices=1))
    assert "dataloader" not in advice(tool, write(path, training(load="prepare")))
    longer = [dict(e, dur=e["dur"] * 3) if e["name"].startswith("Memcpy") else e for e in training(copy="Memcpy HtoD (Pageable -> Device)")]
    assert advice(tool, write(path, longer))["pageable"]["saving"]["value"] == pytest.approx(4 * 750e-6)


def test_advice_needs_its_data(tool):
    assert set(advice(tool, trace("conv_full"))) == {"optimizer-loop", "zero-grad"}  # Adam, on the CPU
    assert set(advice(tool, trace("h200_conv"))) == {"idle-device", "tensor-cores", "launch-bound"}


def test_what_streams_waited_for(tool, tmp_path):
    """Three kernels on a stream: the second was launched too late, the third in time and begins at once, the fourth in time and late."""
    events = []
    for number, (launch, begin, length) in enumerate([(100, 120, 500), (800, 850, 100), (805, 955, 300), (810, 1500, 3)], 1):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": launch, "dur": 5, "args": {"correlation": number}})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": begin, "dur": length, "args": {"correlation": number}})
    done = tool("report", "--streams", "--json", write(tmp_path / "t.json", events))
    seen = json.loads(done.stdout)
    assert len(seen["streams"]) == 1
    stream = seen["streams"][0]
    assert (stream["device"], stream["stream"], stream["events"]) == ("0", "7", 4)
    assert stream["span_s"] == pytest.approx(1383e-6) and stream["busy_s"] == pytest.approx(903e-6)
    assert stream["host_wait_s"] == pytest.approx(230e-6)
    assert stream["kernel_wait_s"] == pytest.approx(5e-6)
    assert stream["other_s"] == pytest.approx(245e-6)
    launches = seen["launches"]
    assert (launches["launches"], launches["short"], launches["slow"], launches["late"]) == (4, 1, 0, 2)
    assert [launches[k] for k in ("median_launch_s", "max_launch_s", "median_delay_s", "p99_delay_s", "max_delay_s")] == pytest.approx([5e-6, 5e-6, 95e-6, 685e-6, 685e-6])


def test_streams_of_a_real_device(tool):
    seen = json.loads(tool("report", "--streams", "--json", trace("h200_conv")).stdout)
    (stream,) = seen["streams"]
    events = [e for e in json.loads(plain("h200_conv"))["traceEvents"] if e["ph"] == "X" and e["cat"] in GPU]
    assert stream["events"] == len(events) == seen["launches"]["launches"]
    assert stream["busy_s"] == pytest.approx(sum(ns(e["dur"]) for e in events) / 1e9)
    assert stream["busy_s"] + stream["host_wait_s"] + stream["kernel_wait_s"] + stream["other_s"] == pytest.approx(stream["span_s"])
    assert "host wait" in tool("report", "--streams", trace("h200_conv")).stdout
