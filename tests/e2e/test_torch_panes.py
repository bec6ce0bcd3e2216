"""Pages of torch.profiler's traces beside operators: figures held against a slow count of the same events, and made-up traces of known truth."""
import gzip
import json

import pytest
from torch_traces import DEVICE, Trace, ns, page, spans, trace

# ---- modules ----


@pytest.mark.parametrize("name", ["h200_conv", "mlp_stack", "v214_mlp_stack"])
def test_modules_are_as_in_the_trace(tool, name):
    events = spans(name)
    calls = sorted((*ns(e), e["name"][11:]) for e in events if e["name"].startswith("nn.Module: "))

    def path_at(begin, end):
        return tuple(c[2] for c in calls if c[0] <= begin and end <= c[1] and (c[0], c[1]) != (begin, end))

    expected, inner, ops, backward = {}, {}, {}, {}
    for begin, end, module in calls:
        path = (*path_at(begin, end), module)
        row = expected.setdefault(path, [0, 0, 0, 0])
        row[0] += 1
        row[1] += end - begin
        if len(path) > 1:
            inner[path[:-1]] = inner.get(path[:-1], 0) + end - begin
    for e in events:
        if e["cat"] == "cpu_op" and e["name"] not in ("aten::is_leaf", "aten::output_nr", "aten::_version"):
            ops[e["args"]["External id"]] = e
    forward = {}
    for e in ops.values():
        if e["args"].get("Sequence number", -1) >= 0 and not e["args"]["Fwd thread id"]:
            forward[e["args"]["Sequence number"]] = max(forward.get(e["args"]["Sequence number"], e), e, key=lambda x: x["ts"])
    for e in ops.values():
        if path_at(*ns(e)):
            expected[path_at(*ns(e))][2] += 1
        if e["name"].startswith("autograd::engine::evaluate_function") and e["args"].get("Sequence number") in forward:
            where = path_at(*ns(forward[e["args"]["Sequence number"]]))
            if where:
                backward[where] = backward.get(where, 0) + ns(e)[1] - ns(e)[0]
    for e in events:
        if e["cat"] in DEVICE and path_at(*ns(ops.get(e["args"]["External id"], {"ts": 0, "dur": 0}))):
            expected[path_at(*ns(ops[e["args"]["External id"]]))][3] += ns(e)[1] - ns(e)[0]
    seen, path = {}, ()
    for row in page(tool, trace(name), "--modules")["modules"]:
        path = (*path[: row["depth"]], row["name"])
        seen[path] = row
    assert list(seen) == list(expected) and len(seen) >= 4
    for path, (n, total, n_ops, device) in expected.items():
        row = seen[path]
        assert (row["calls"], row["operators"]) == (n, n_ops)
        assert row["total_s"] == pytest.approx(total / 1e9) and row["self_s"] == pytest.approx((total - inner.get(path, 0)) / 1e9)
        assert row["self_backward_s"] == pytest.approx(backward.get(path, 0) / 1e9)
        if name.startswith("h200"):
            assert row["self_device_s"] - row["self_device_backward_s"] == pytest.approx(device / 1e9)
    assert sum(backward.values()) > 0
    top = seen[path[:1]]
    assert top["backward_s"] == pytest.approx(sum(r["self_backward_s"] for r in seen.values()))


def test_modules_call_each_other_and_autograd_goes_back_to_them(tool, tmp_path):
    """A block called twice, its layer within it; the layer's kernel backward runs in another thread."""
    t = Trace()
    for k in range(2):
        at = 1000.0 * k + 100
        t.python("nn.Module: Block_0", at, 400)
        t.python("train.py(3): forward", at + 1, 398)
        t.python("nn.Module: Linear_3", at + 50, 200 + k)
        op = t.op("aten::linear", at + 60, 100, **{"Sequence number": 7 + k, "Fwd thread id": 0})
        t.kernel("gemm", op, at + 70, at + 300, 33)
        back = t.op("autograd::engine::evaluate_function: AddmmBackward0", at + 600, 80, tid=2, **{"Sequence number": 7 + k, "Fwd thread id": 1})
        inner = t.op("aten::mm", at + 610, 50, tid=2)
        t.kernel("gemm_back", inner, at + 620, at + 700, 44)
        t.kernel("adam", t.op("aten::_foreach_add", at + 800, 10), at + 801, at + 900, 5)
        assert back
    path = t.write(tmp_path / "t.json")
    block, linear = page(tool, path, "--modules")["modules"]
    assert (block["name"], block["depth"], block["calls"]) == ("Block_0", 0, 2) and (linear["name"], linear["depth"], linear["calls"]) == ("Linear_3", 1, 2)
    assert block["total_s"] == pytest.approx(800e-6) and block["self_s"] == pytest.approx(399e-6) and linear["self_s"] == pytest.approx(401e-6)
    assert block["self_device_s"] == 0 and block["device_s"] == linear["device_s"] == pytest.approx(154e-6)
    assert linear["self_device_backward_s"] == pytest.approx(88e-6) and block["backward_s"] == pytest.approx(160e-6)
    assert (block["launches"], linear["launches"]) == (4, 4)
    text = tool("report", "--modules", path).stdout
    assert "\n  Linear_3" in text and "10.0 µs on the device belong to no module" in text


def test_numbers_that_two_threads_share_are_nobodys(tool, tmp_path):
    t = Trace()
    t.python("nn.Module: A_0", 100, 400)
    t.op("aten::relu", 110, 100, **{"Sequence number": 1, "Fwd thread id": 0})
    t.op("aten::relu", 120, 100, tid=5, **{"Sequence number": 1, "Fwd thread id": 0})
    t.op("autograd::engine::evaluate_function: ReluBackward0", 700, 80, tid=2, **{"Sequence number": 1, "Fwd thread id": 1})
    (row,) = page(tool, t.write(tmp_path / "t.json"), "--modules")["modules"]
    assert row["backward_s"] is None


def test_without_python_functions_there_are_no_modules_and_it_says_what_to_do(tool):
    assert page(tool, trace("mlp_plain"), "--modules")["modules"] == []
    assert "with_stack=True" in tool("report", "--modules", trace("mlp_plain")).stdout


# ---- memory ----


@pytest.mark.parametrize("name", ["h200_conv", "conv_full", "v214_mlp"])
def test_memory_is_as_in_the_trace(tool, name):
    events = json.loads(gzip.decompress(trace(name).read_bytes()))["traceEvents"]
    zero = next(e["ts"] for e in events if e.get("name", "").startswith("Iteration Start"))
    records = sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: e["ts"])
    seen = page(tool, trace(name), "--memory")["memory"]
    for device in seen["devices"]:
        own = [e["args"] | {"ts": e["ts"]} for e in records if (e["args"]["Device Type"] == 0) == (device["device"] == "CPU")]
        sizes = [r["Bytes"] for r in own]
        assert device["allocations"] == sum(s > 0 for s in sizes) and device["releases"] == sum(s < 0 for s in sizes)
        assert device["allocated_bytes"] - device["released_bytes"] == sum(sizes) == device["last_bytes"] - device["first_bytes"]
        peak = max(own, key=lambda r: r["Total Allocated"])
        assert device["peak_bytes"] == peak["Total Allocated"] == max(device["curve_bytes"]) == sum(device["at_peak_bytes_estimated"].values())
        assert device["peak_s"] == pytest.approx((peak["ts"] - zero) / 1e6, abs=1e-8)
        assert (device["peak_reserved_bytes"] or 0) == max(r["Total Reserved"] for r in own)
    sums = [sum(r[key] for r in seen["operators"]) for key in ("allocated_bytes", "released_bytes", "allocations", "releases")]
    assert sums == [sum(d[key] for d in seen["devices"]) for key in ("allocated_bytes", "released_bytes", "allocations", "releases")]
    lives = {}
    for r in records:
        key = r["args"]["Device Type"], r["args"]["Addr"]
        if r["args"]["Bytes"] > 0:
            lives[key, r["ts"]] = [r["args"]["Bytes"], None]
        else:
            begun = max((k[1] for k in lives if k[0] == key), default=None)
            if begun is not None:
                lives[key, begun][1] = r["ts"] - begun
    ours = sorted((a["bytes"], -1 if a["lived_s"] is None else round(a["lived_s"] * 1e6, 1)) for a in seen["largest"])
    theirs = sorted((n, -1 if lived is None else round(lived, 1)) for n, lived in lives.values())
    assert len(ours) == len(theirs) and all(o[0] == t[0] and o[1] == pytest.approx(t[1], abs=0.2) for o, t in zip(ours, theirs))


def test_what_memory_is_for_is_estimated_by_where_it_was_allocated_and_released(tool, tmp_path):
    t = Trace()
    mib = 1 << 20
    t.mark("ProfilerStep#1", 0, 2000)
    t.op("aten::linear", 10, 100, **{"Sequence number": 1, "Fwd thread id": 0})
    t.op("aten::addmm", 20, 80)
    t.op("aten::empty", 30, 10)
    t.memory(35, 8 * mib, 0x1000, total=108 * mib, reserved=200 * mib)  # kept for backward
    t.memory(40, 4 * mib, 0x2000, total=112 * mib)
    t.memory(60, -4 * mib, 0x2000, total=108 * mib)  # within the call
    t.memory(130, 2 * mib, 0x5000, total=110 * mib)  # a result, held to the end
    t.op("autograd::engine::evaluate_function: AddmmBackward0", 300, 200, tid=2, **{"Sequence number": 1, "Fwd thread id": 3})
    t.op("aten::mm", 310, 90, tid=2)
    t.memory(320, 16 * mib, 0x3000, total=126 * mib, tid=2)  # a gradient
    t.memory(330, 1 * mib, 0x6000, total=127 * mib, tid=2)
    t.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 510, 20, tid=2)
    t.memory(515, -8 * mib, 0x1000, total=119 * mib, tid=2)
    t.memory(520, -1 * mib, 0x6000, total=118 * mib, tid=2)
    t.mark("Optimizer.step#Adam.step", 600, 300)
    t.op("aten::zeros_like", 610, 50)
    t.memory(620, 32 * mib, 0x4000, total=150 * mib)
    t.memory(630, 3 * mib, 0x7000, total=153 * mib)
    t.memory(700, -3 * mib, 0x7000, total=150 * mib)
    t.mark("Optimizer.zero_grad#Adam.zero_grad", 950, 50)
    t.memory(960, -16 * mib, 0x3000, total=134 * mib)
    t.memory(970, -50 * mib, 0x9999, total=84 * mib)  # of before
    t.memory(980, 0, 0, name="[OutOfMemory]")
    path = t.write(tmp_path / "t.json")
    seen = page(tool, path, "--memory")["memory"]
    (device,) = seen["devices"]
    assert {a["bytes"] // mib: a["estimated_use"] for a in seen["largest"]} == {8: "activation", 4: "temporary", 2: "other", 16: "gradient", 1: "temporary", 32: "optimizer", 3: "temporary"}
    assert {k: v // mib for k, v in device["at_peak_bytes_estimated"].items()} == {"before": 100, "activation": 0, "gradient": 16, "optimizer": 32, "temporary": 3, "other": 2}
    assert (device["device"], device["first_bytes"], device["peak_bytes"], device["last_bytes"]) == ("CUDA 0", 100 * mib, 153 * mib, 84 * mib)
    assert (device["peak_operator"], device["peak_step"], device["failures"], device["peak_reserved_bytes"]) == ("aten::zeros_like", "ProfilerStep#1", 1, 200 * mib)
    rows = {r["name"]: (r["allocated_bytes"] // mib, r["released_bytes"] // mib) for r in seen["operators"]}
    assert rows["aten::addmm"] == (12, 4) and rows["aten::mm"] == (17, 0) and rows["aten::zeros_like"] == (35, 0)
    text = " ".join(tool("report", "--memory", path).stdout.split())
    assert "estimates" in text and "memory ran out 1 times" in text and "to the end" in text


def test_without_anything_backward_memory_has_no_categories(tool, tmp_path):
    t = Trace()
    t.op("aten::relu", 10, 100)
    t.memory(20, 64, 0x10, total=64, device=-1)
    seen = page(tool, t.write(tmp_path / "t.json"), "--memory")["memory"]
    assert "estimated_use" not in seen["largest"][0] and "at_peak_bytes_estimated" not in seen["devices"][0]
    assert page(tool, trace("mlp_plain"), "--memory")["memory"]["devices"] == []


# ---- kernels by launch ----


def test_kernels_by_launch_are_as_in_the_trace(tool):
    events = spans("h200_conv")
    ops = {e["args"]["External id"]: e["name"] for e in events if e["cat"] in ("cpu_op", "user_annotation")}
    expected = {}
    for e in events:
        if e["cat"] == "kernel":
            a = e["args"]
            key = e["name"], ops[a["External id"]], *a["grid"], *a["block"], a["registers per thread"], a["shared memory"]
            expected.setdefault(key, []).append((ns(e)[1] - ns(e)[0], a["blocks per SM"], a["est. achieved occupancy %"]))
    seen = page(tool, trace("h200_conv"), "--kernels", "--group-by-shape")
    rows = {(r["name"], r["operator"], *r["grid"], *r["block"], r["registers"], r["shared_bytes"]): r for r in seen["kernels"] if "grid" in r}
    assert set(rows) == set(expected) and len(rows) > 10
    for key, runs in expected.items():
        total = sum(r[0] for r in runs)
        assert rows[key]["times"] == len(runs) and rows[key]["total_s"] == pytest.approx(total / 1e9)
        assert rows[key]["blocks_per_sm"] == pytest.approx(sum(r[0] * r[1] for r in runs) / total, abs=0.001)
    everything = [r for runs in expected.values() for r in runs]
    total = sum(r[0] for r in everything)
    assert seen["kernel_sums"]["kernel_s"] == pytest.approx(total / 1e9)
    assert seen["kernel_sums"]["blocks_per_sm"] == pytest.approx(sum(r[0] * r[1] for r in everything) / total, abs=0.001)
    assert seen["kernel_sums"]["occupancy_share"] == pytest.approx(sum(r[0] * r[2] for r in everything) / total / 100, abs=0.001)


def test_one_kernel_launched_in_two_ways_is_two_rows(tool, tmp_path):
    t = Trace()
    op = t.op("aten::mm", 0, 100)
    for k, grid in enumerate(([8, 4, 1], [8, 4, 1], [264, 1, 1])):
        t.kernel("nvjet_sm90_gemm", op, 10 + 20 * k, 200 + 100 * k, 50, grid=grid, block=[128, 1, 1], **{"registers per thread": 168, "shared memory": 2048, "blocks per SM": grid[0] * grid[1] / 132})
    path = t.write(tmp_path / "t.json")
    assert [(r["times"], r["grid"]) for r in page(tool, path, "--kernels", "--group-by-shape")["kernels"]] == [(2, [8, 4, 1]), (1, [264, 1, 1])]
    assert [r["times"] for r in page(tool, path, "--kernels")["kernels"]] == [3]
    text = tool("report", "--kernels", "--group-by-shape", path).stdout
    assert "8×4" in text and "2.00 KiB" in text and "100 % of it on tensor cores" in " ".join(text.split())
    done = tool("report", "--modules", "--group-by-shape", path)
    assert done.returncode == 2 and "needs --ops or --kernels" in done.stderr


TENSOR_CORES = {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_bias_f16_execute_segment_k_off_kernel__5x_cublas": True, "nvjet_sm100_tst_192x192_64x4_2x1_v_bz_TNT": True,
                "void flash::FlashAttnFwdSm90<...>": True,
                "sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize32x128x32_stage4_warpsize1x4x1_g1_tensor16x8x16_execute_kernel__5x_cudnn": True,
                "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn": True,
                "void implicit_convolve_sgemm<__nv_bfloat16, __nv_bfloat16, 1024, 5, 5, 3, 3, 3, 1, false, false, true>": False, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7": True, "ampere_sgemm_128x64_tn": False,
                "void at::native::vectorized_elementwise_kernel<4, ...>": False, "cutlass3x_sm100_tensorop_h256x128x16gemm": True, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_ffma": False}


def test_kernels_of_tensor_cores_are_known_by_name(tool, tmp_path):
    t = Trace()
    for k, name in enumerate(TENSOR_CORES):
        t.kernel(name, t.op("aten::mm", 100 * k, 50), 100 * k + 10, 100 * k + 20, 30)
    assert {r["name"]: r["tensor_cores"] for r in page(tool, t.write(tmp_path / "t.json"), "--kernels")["kernels"]} == TENSOR_CORES


# ---- queues and launches ----


def test_queues_are_what_was_launched_and_has_not_begun(tool, tmp_path):
    """Three launches at 10, 20 and 30 µs begin at 100, 200 and 300: three wait until 100, two until 200, one until 300, none to the end at 1000."""
    t = Trace()
    op = t.op("aten::mm", 0, 50)
    for k in range(3):
        t.kernel("k", op, 10 + 10 * k, 100 + 100 * k, 100 if k < 2 else 700)
    t.events[1]["dur"] = 60  # the first call is slow
    seen = page(tool, t.write(tmp_path / "t.json"), "--streams")
    (stream,) = seen["streams"]
    assert stream["longest_queue"] == 3 and max(stream["queue"]) == 3 and stream["queue"][-1] == 0
    assert stream["mean_queue"] == pytest.approx((2 * 100 + 1 * 100) / 900) and stream["empty_share"] == pytest.approx(700 / 900)
    launches = seen["launches"]
    assert (launches["slow"], launches["late"], launches["max_launch_s"]) == (1, 2, pytest.approx(60e-6))
    assert [(s["call"], s["operator"], s["launched"], s["duration_s"]) for s in launches["slowest"]] == [("cudaLaunchKernel", "aten::mm", "k", pytest.approx(60e-6))]
    text = tool("report", "--streams", tmp_path / "t.json").stdout
    assert "The slowest launches" in text and "1 longer than 50 µs" in text


def test_queues_of_a_real_device_are_as_in_the_trace(tool):
    events = spans("h200_conv")
    launch = {e["args"]["correlation"]: ns(e)[0] for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")}
    work = sorted((ns(e)[0], min(ns(e)[0], launch[e["args"]["correlation"]]), ns(e)[1]) for e in events if e["cat"] in DEVICE)
    first, last = work[0][0], max(w[2] for w in work)
    moments = sorted({first, last} | {m for w in work for m in w[:2] if first < m < last})
    area = empty = 0
    for low, high in zip(moments, moments[1:]):
        length = sum(w[1] <= low and high <= w[0] for w in work)
        area += length * (high - low)
        empty += (high - low) * (length == 0)
    (stream,) = page(tool, trace("h200_conv"), "--streams")["streams"]
    assert stream["mean_queue"] == pytest.approx(area / (last - first)) and stream["empty_share"] == pytest.approx(empty / (last - first))


# ---- steps ----


def loop(n=5, mark=None, slow=None):
    """Batches of 1000 µs: embedding, two linear layers, a loss; in the slow one the second layer takes 500 µs more, and there is a copy."""
    t = Trace()
    at = 0.0
    for k in range(n):
        more = 500.0 if k == slow else 0.0
        if mark == "dataloader":
            t.mark("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, 20)
        t.op("aten::embedding", at + 50, 100)
        for layer in range(2):
            begin = at + 200 + 200 * layer
            op = t.op("aten::linear", begin, 100 + (more if layer else 0))
            t.kernel("gemm", op, begin + 1, begin + 20, 30 + k)
            t.op("aten::relu", begin + 110 + (more if layer else 0), 50)
        if k == slow:
            t.op("aten::copy_", at + 600 + more, 40)
        t.op("aten::mse_loss", at + 700 + more, 90)
        if mark == "optimizer":
            t.mark("Optimizer.step#SGD.step", at + 800 + more, 100)
        at += 1000 + more
    if mark == "dataloader":
        t.mark("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, 20)
    return t


@pytest.mark.parametrize("mark, first, length", [("optimizer", 850, 1000), ("dataloader", 1000, 1000), (None, 1000, 1000)])
def test_steps_are_found_without_marks_of_the_profiler(tool, tmp_path, mark, first, length):
    path = loop(mark=mark, slow=3).write(tmp_path / "t.json")
    seen = page(tool, path, "--overview", "--steps")
    assert seen["overview"]["steps_found"] == (mark or "period") and seen["overview"]["steps_marked"] is False
    assert [s["name"] for s in seen["steps"]] == [f"step {k}" for k in range(5)]
    seconds = [s["duration_s"] for s in seen["steps"]]
    assert seconds[:4] == pytest.approx([first * 1e-6, length * 1e-6, length * 1e-6, length * 1e-6 + 500e-6])
    (slow,) = seen["slow_steps"]
    assert slow["name"] == "step 3" and slow["median"] in ("step 0", "step 1", "step 2", "step 4")
    more = slow["more"]
    assert [(r["name"], r["on_device"], r["times"], r["median_times"]) for r in more[:2]] == [("aten::linear", False, 2, 2), ("aten::copy_", False, 1, 0)]
    assert more[0]["total_s"] - more[0]["median_s"] == pytest.approx(500e-6) and more[1]["median_s"] == 0
    text = " ".join(tool("report", "--steps", path).stdout.split())
    assert "Slow steps" in text and "aten::copy_" in text


def test_the_first_step_does_not_hold_the_set_up(tool, tmp_path):
    """Four seconds of initialising, which also draws numbers, before five steps that end with the optimizer."""
    t = loop(mark="optimizer")
    for k in range(4):
        t.op("aten::normal_", -4_000_000 + 900_000 * k, 800_000)
    t.op("aten::embedding", -5_000_000, 100)
    seen = page(tool, t.write(tmp_path / "t.json"), "--steps")
    assert [s["duration_s"] for s in seen["steps"]] == pytest.approx([850e-6] + [1000e-6] * 4)


def test_what_does_not_come_again_is_one_step(tool, tmp_path):
    t = Trace()
    for k, name in enumerate("abcdefghacbdefhgbcade"):
        t.op(f"aten::{name}", 100 * k, 50)
    for events in (t, loop(2)):
        seen = page(tool, events.write(tmp_path / "t.json"), "--overview", "--steps")
        assert seen["overview"]["steps_found"] == "all" and len(seen["steps"]) == 1 and seen["slow_steps"] == []


def test_steps_of_a_training_on_a_device_end_with_the_optimizer(tool):
    seen = page(tool, trace("h200_first"), "--overview", "--steps")
    ends = [ns(e)[1] for e in spans("h200_first") if e["cat"] == "user_annotation" and e["name"].startswith("Optimizer.step#")]
    assert seen["overview"]["steps_found"] == "optimizer" and len(seen["steps"]) == len(ends) == 6
    assert [s["duration_s"] for s in seen["steps"]][1:] == pytest.approx([(b - a) / 1e9 for a, b in zip(ends, ends[1:])], rel=0.1)
    assert {s["name"] for s in seen["slow_steps"]} >= {"step 0"}


# ---- torch.compile ----


def compiles(name):
    return name in ("dynamo", "entire_frame_compile", "entire_backward_compile") or name.endswith(" (dynamo_timed)")


@pytest.mark.parametrize("name, compiled, again, backward, cached", [("compile_cold", 6, 2, 2, 0), ("compile_warm", 4, 2, 0, 4)])
def test_what_torch_compile_did_is_as_in_the_trace(tool, name, compiled, again, backward, cached):
    """f(x, k) asks for k.item(), where its graph breaks, and gets another shape half way through; in the warm run all code is in the cache."""
    events = sorted((e for e in spans(name) if e["cat"] in ("cpu_op", "user_annotation")), key=lambda e: (e["ts"], -e["dur"]))
    outer, until = [], 0
    for e in events:
        if compiles(e["name"]) and ns(e)[0] >= until:
            outer.append(e)
            until = ns(e)[1]
    regions = [e for e in events if e["name"].startswith("Torch-Compiled Region: ")]
    seen = page(tool, trace(name), "--compile")["compilation"]
    rows = seen["compilations"]
    assert [r["duration_s"] for r in rows] == pytest.approx([e["dur"] / 1e6 for e in outer]) and len(rows) == compiled
    assert sum(sum(r["stages_s"].values()) for r in rows) == pytest.approx(seen["total_s"]) == pytest.approx(sum(seen["stages_s"].values()))
    assert (seen["again"], seen["backward"], seen["cached"]) == (again, backward, cached) == (sum(r["again"] for r in rows), sum(r["backward"] for r in rows), sum(r["cached"] for r in rows))
    assert [r["id"] for r in rows if not r["backward"]] == ["0/0", "1/0", "0/1", "1/1"]
    assert seen["calls"] == len(regions) == 16 and seen["calls_after_breaks"] == 8
    assert [(f["id"], f["after_break_of"], f["compiled"], f["calls"]) for f in seen["frames"]] == [("0", None, 2, 8), ("1", "0", 2, 8)]
    for frame in seen["frames"]:
        calls = [e["dur"] - sum(c["dur"] for c in outer if ns(e)[0] <= ns(c)[0] < ns(e)[1]) for e in regions if e["name"].split(": ")[1].startswith(frame["id"] + "/")]
        assert frame["first_s"] == pytest.approx(calls[0] / 1e6) and frame["later_s"] == pytest.approx(sorted(calls[1:])[3] / 1e6)
        assert frame["equal_calls"] == pytest.approx(frame["compile_s"] / frame["later_s"])
    assert sum(f["compile_s"] for f in seen["frames"]) == pytest.approx(seen["total_s"])


def test_compiling_is_a_part_of_the_step(tool):
    steps = page(tool, trace("compile_cold"), "--steps")["steps"]
    total = page(tool, trace("compile_cold"), "--compile")["compilation"]["total_s"]
    assert sum(s["parts_s"]["compile"] for s in steps) == pytest.approx(total)
    assert [s["parts_s"]["compile"] > 0 for s in steps] == [True, False, False, False, True, False, False, False]


def test_graph_breaks_are_where_python_says_and_old_traces_have_no_numbers(tool, tmp_path):
    t = Trace()
    t.op("_compile.<locals>.compile_inner (dynamo_timed)", 100, 1000)
    t.op("bytecode_tracing (dynamo_timed)", 200, 300)
    t.op("Torch-Compiled Region: 3/0", 1200, 50)
    t.op("CachingAutotuner.benchmark_all_configs (dynamo_timed)", 1220, 20)
    t.python("train.py(8): torch_dynamo_resume_in_look_at_me_at_8", 1210, 30)
    t.kernel("triton_poi_fused_add_0", t.op("Torch-Compiled Region: 3/0", 1300, 50), 1310, 1320, 7)
    path = t.write(tmp_path / "t.json")
    seen = page(tool, path, "--compile")["compilation"]
    row, tuned = seen["compilations"]
    assert tuned["tuning"] and tuned["id"] is None and not row["tuning"] and [f["compiled"] for f in seen["frames"]] == [1]
    assert seen["frames"][0]["first_s"] == pytest.approx(30e-6)  # without what was measured
    assert row["id"] == "3/0" and row["stages_s"]["tracing"] == pytest.approx(300e-6) and row["stages_s"]["other"] == pytest.approx(700e-6)
    assert seen["graph_breaks"] == [{"where": "train.py: look_at_me, line 8", "times": 1}] and seen["triton_s"] == pytest.approx(7e-6)
    assert "graph break at train.py: look_at_me, line 8" in tool("report", "--compile", path).stdout
    assert "nothing was compiled in this trace" in tool("report", "--compile", trace("mlp_plain")).stdout
