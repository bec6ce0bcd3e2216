"""Each rule of `report --overview` speaks on a made-up training that has what it looks for, says what could be saved, and is silent on one that nearly has it."""
import re
import shlex

import conftest
import pytest
from torch_traces import Trace, page

STEP, STEPS = 10000.0, 3
DEVICE = {"name": "NVIDIA X", "totalGlobalMem": 80 << 30, "computeMajor": 9, "numSms": 132}


def training(extra, busy=True):
    """Three steps of 10 ms, of which a kernel fills 7; extra(trace, begin, number) adds to each."""
    t = Trace(deviceProperties=[{"id": 0, **DEVICE}])
    for k in range(STEPS):
        at = 1000 + STEP * k
        t.mark(f"ProfilerStep#{k}", at, STEP)
        if busy:
            t.kernel("sm90_xmma_gemm_bf16", t.op("aten::mm", at + 100, 50), at + 110, at + 1000, 7000, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
        extra(t, at, k)
    return t


def sync(gap):
    def extra(t, at, k):
        t.op("aten::item", at + 8100, 200)
        t.op("aten::_local_scalar_dense", at + 8110, 180)
        t.add("cuda_runtime", "cudaStreamSynchronize", at + 8150, 100, correlation=0)
        t.kernel("gemm_after", t.op("aten::relu", at + 8300, 20), at + 8301, at + 8250 + gap, 50, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
    return training(extra)


def copy(wait, kind="Pinned"):
    def extra(t, at, k):
        op = t.op("aten::copy_", at + 8100, 1000)
        t.add("gpu_memcpy", f"Memcpy HtoD ({kind} -> Device)", at + 8150, 50, 0, 7, correlation=0, **{"External id": op})
        t.add("cuda_runtime", "cudaStreamSynchronize", at + 8200, wait, correlation=0)
    return training(extra)


def made(each, on_device=False):
    def extra(t, at, k):
        op = t.op("aten::zeros", at + 8100, each)
        if on_device:
            t.kernel("fill", t.op("aten::zero_", at + 8101, each - 2), at + 8102, at + 8110, 1)
        t.op("aten::to", at + 8300, each)
        inner = t.op("aten::copy_", at + 8301, each - 2)
        t.add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 8310, 5, 0, 7, correlation=0, **{"External id": inner})
        assert op
    return training(extra)


def allocating(length, steps):
    return training(lambda t, at, k: t.add("cuda_runtime", "cudaMalloc", at + 8100, length, correlation=0) if k in steps else None)


def loading(length):
    return training(lambda t, at, k: t.add("overhead", "Lazy Function Loading", at + 8100, length, -1, 0))


def launching(length):
    def extra(t, at, k):
        for i in range(100):
            t.kernel("tiny", t.op("aten::relu", at + 100 * i, 20), at + 100 * i + 1, at + 100 * i + 8, length, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
    return training(extra, busy=False)


def small(length):
    return training(lambda t, at, k: t.kernel("few_blocks", t.op("aten::sum", at + 200, 20), at + 201, at + 1000, length, stream=9, **{"blocks per SM": 0.1, "est. achieved occupancy %": 2}))


def pointwise(length, n=3):
    def extra(t, at, k):
        for i in range(n):
            t.kernel("void at::native::vectorized_elementwise_kernel<4>", t.op("aten::mul", at + 300 + 20 * i, 10), at + 301 + 20 * i, at + 8100 + i * (length + 1), length, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
    return training(extra)


def layout(length):
    return training(lambda t, at, k: t.kernel("void cudnn::ops::nchwToNhwcKernel<float>", t.op("aten::cudnn_convolution", at + 200, 20), at + 201, at + 8100, length, **{"blocks per SM": 4, "est. achieved occupancy %": 50}))


def fragmented(used):
    return training(lambda t, at, k: t.memory(at + 8100, 1024, 0x1000 + k, total=used << 30, reserved=70 << 30))


def zeroing(length, fills=True):
    def extra(t, at, k):
        t.mark("Optimizer.zero_grad#SGD.zero_grad", at + 8100, length)
        if fills:
            t.op("aten::zero_", at + 8105, 10)
    return training(extra)


def optimizing(n, name="aten::addcdiv_"):
    def extra(t, at, k):
        t.mark("Optimizer.step#Adam.step", at + 8100, 600)
        for i in range(n):
            t.op(name, at + 8110 + 15 * i, 10)
    return training(extra)


def convolving(length, between="aten::add_"):
    def extra(t, at, k):
        t.op("aten::conv2d", at + 200, 100)
        t.kernel("bias", t.op("aten::add_", at + 250, 30), at + 251, at + 8100, length, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
        t.op(between, at + 310, 10)
        t.op("aten::batch_norm", at + 330, 50)
    return training(extra)


def noting(back=False, constant=False):
    def extra(t, at, k):
        for i in range(3):
            t.op("aten::linear", at + 200 + 50 * i, 20, **{"Sequence number": 1 if constant else 10 * k + i, "Fwd thread id": 0})
        if back and k == 2:
            t.op("AddmmBackward0", at + 500, 20, **{"Sequence number": 1, "Fwd thread id": 1})
    return training(extra)


def accumulating(length, batches=2):
    def extra(t, at, k):
        for i in range(batches):
            t.mark("DistributedDataParallel.forward", at + 200 + 50 * i, 20)
            op = t.op("c10d::allreduce_", at + 400 + 50 * i, 20)
            t.add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 8100 + i * (length + 1), length, 0, 20, correlation=0, **{"External id": op, "blocks per SM": 0.1, "est. achieved occupancy %": 1})
        t.mark("Optimizer.step#SGD.step", at + 9700, 20)
    return training(extra)


def compiling(length, number="0/1", step=1):
    def extra(t, at, k):
        if k == step:
            t.op("dynamo", at + 8000, length)
            t.mark(f"dynamo_data: compile_id={number}", at + 8001, 5)
    return training(extra)


def breaking(within):
    def extra(t, at, k):
        t.op("Torch-Compiled Region: 0/0", at + 200, 100)
        t.op("Torch-Compiled Region: 1/0", at + (250 if within else 350), 40)
    return training(extra)


def typed(kind, length, shapes=((64, 128), (128, 64)), kernel="simt_sgemm"):
    """A product of that type in each step, beside the one on tensor cores."""
    args = {"Input Dims": [list(s) for s in shapes], "Input type": [kind, kind]}
    return training(lambda t, at, k: t.kernel(kernel, t.op("aten::mm", at + 8000, 20, **args), at + 8005, at + 8100, length, **{"blocks per SM": 4, "est. achieved occupancy %": 50}))


def kernel_names(t, old, new):
    for event in t.events:
        event["name"] = new if event["name"] == old else event["name"]
    return t


def waiting(length):
    return training(lambda t, at, k: t.mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 8100, length))


def parallel(name="DataParallel.forward", **properties):
    t = training(lambda t, at, k: t.mark(name, at + 8100, 100))
    t.properties.update(properties)
    return t


def sending(length):
    return training(lambda t, at, k: t.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", t.op("c10d::allreduce_", at + 200, 20), at + 201, at + 8100, length, stream=20))


def filled(used):
    return training(lambda t, at, k: t.memory(at + 8100, 1024, 0x1000 + k, total=used << 30, reserved=79 << 30))


def slicing(length, n=8):
    def extra(t, at, k):
        for i in range(n):
            t.op("autograd::engine::evaluate_function: SelectBackward0", at + 8100 + (length + 1) * i, length)
    return training(extra)


TWO = {"deviceProperties": [{"id": i, **DEVICE} for i in range(2)]}

CASES = {  # rule: what makes it speak, the saving of all steps in µs, what nearly does, what must stand in the page that the finding names
    "dataloader": (waiting(600), 3 * 600, [waiting(400)], "dataloader"),
    "data-parallel": (parallel(**TWO), None, [parallel()], "DataParallel.forward"),
    "backend": (parallel("DistributedDataParallel.forward", distributedInfo={"backend": "gloo", "rank": 0, "world_size": 2}), None,
                [parallel("DistributedDataParallel.forward", distributedInfo={"backend": "nccl", "rank": 0, "world_size": 2})], "DistributedDataParallel.forward"),
    "communication": (sending(1200), 3 * 1200, [sending(900)], "communication"),
    "idle-device": (training(lambda t, at, k: t.kernel("sm90_xmma_gemm_bf16", t.op("aten::mm", at + 100, 50), at + 110, at + 1000, 4000), busy=False), 3 * 6000,
                    [training(lambda t, at, k: None)], "busy"),
    "tensor-cores": (kernel_names(training(lambda t, at, k: None), "sm90_xmma_gemm_bf16", "simt_sgemm"), 3 * 7000, [training(lambda t, at, k: None)], "simt_sgemm"),
    "device-memory": (filled(76), None, [filled(70)], "peak 76.0 GiB"),
    "pageable": (training(lambda t, at, k: t.add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 8150, 600, 0, 7, correlation=0, **{"External id": t.op("aten::copy_", at + 8100, 700)})), 3 * 600,
                 [training(lambda t, at, k: t.add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 8150, 600, 0, 7, correlation=0, **{"External id": t.op("aten::copy_", at + 8100, 700)}))], "Pageable"),
    "float64": (typed("double", 600), 3 * 600, [typed("double", 400), typed("float", 400), typed("c10::Half", 600)], "[64, 128]"),
    "float32": (typed("float", 600), 3 * 600, [typed("float", 400), typed("c10::BFloat16", 600), typed("float", 600, kernel="sm90_xmma_gemm_f32f32_tf32")], "[64, 128]"),
    "odd-sizes": (typed("c10::BFloat16", 600, ((64, 127), (127, 64))), 3 * 600, [typed("c10::BFloat16", 600), typed("c10::Half", 400, ((64, 127), (127, 64))), typed("float", 400, ((64, 127), (127, 64)))], "[64, 127]"),
    "sync": (sync(600), 3 * 600, [sync(400)], "cudaStreamSynchronize"),
    "blocking-copy": (copy(600), 3 * 600, [copy(400), copy(400, "Pageable")], "cudaStreamSynchronize"),
    "made-on-cpu": (made(60), 3 * 120, [made(45), made(60, on_device=True)], "aten::zeros"),
    "allocator": (allocating(400, (1, 2)), 800, [allocating(250, (1, 2)), allocating(5000, (0,))], "cudaMalloc"),
    "lazy-loading": (loading(250), 3 * 250, [loading(150)], "Lazy Function Loading"),
    "small-kernels": (small(2400), 3 * 2400 * 0.9, [small(2000)], "few_blocks"),
    "pointwise": (pointwise(300), 3 * 600, [pointwise(200), pointwise(600, 2)], "elementwise_kernel"),
    "layout": (layout(250), 3 * 250, [layout(150)], "nchwToNhwc"),
    "fragmentation": (fragmented(40), 30 << 30, [fragmented(60)], "reserved"),
    "zero-grad": (zeroing(150), 3 * 150, [zeroing(80), zeroing(150, fills=False)], "Optimizer.zero_grad"),
    "optimizer-loop": (optimizing(30), 3 * 600, [optimizing(29), optimizing(30, "aten::_foreach_addcdiv_")], "Optimizer.step#Adam"),
    "select-backward": (slicing(65), 1.25 * 3 * 8 * 65, [slicing(55), slicing(90, 7)], "SelectBackward0"),
    "conv-bias": (convolving(60), 3 * 60, [convolving(40), convolving(60, "aten::relu")], "aten::conv2d"),
    "no-grad": (noting(), None, [noting(back=True), noting(constant=True)], "aten::linear"),
    "no-sync": (accumulating(300), 3 * 300, [accumulating(190), accumulating(600, 1)], "c10d::allreduce_"),
    "recompiles": (compiling(1800), 1800, [compiling(1400), compiling(1800, step=0), compiling(1800, "0/0")], "0"),
    "graph-breaks": (breaking(True), None, [breaking(False)], "graph break"),
}


def advice(tool, tmp_path, events):
    return {a["rule"]: a for a in page(tool, events.write(tmp_path / "t.json"), "--overview")["overview"]["advice"]}


def test_a_training_with_nothing_to_say_about_it_gets_no_advice(tool, tmp_path):
    assert advice(tool, tmp_path, training(lambda t, at, k: None)) == {}


def page_of(rule):
    return (conftest.ROOT / "docs" / "advice" / f"{rule}.md").read_text()


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_speaks_when_its_threshold_is_passed_and_not_before(tool, tmp_path, rule):
    speaks, saving, silent, _ = CASES[rule]
    found = advice(tool, tmp_path, speaks)
    assert set(found) == {rule}
    told = found[rule]["saving"]
    if rule == "fragmentation":
        assert told == {"value": saving, "estimate": None, "unit": "bytes", "of": "the device's memory", "whole": DEVICE["totalGlobalMem"]}
    elif saving is None:
        assert told is None
    else:
        assert told == {"value": pytest.approx(saving / 1e6, rel=1e-3), "estimate": pytest.approx(saving / 1.25 / 1e6, rel=1e-3) if rule == "select-backward" else None,
                        "unit": "s", "of": "the steps", "whole": None if rule == "recompiles" else pytest.approx(STEPS * STEP / 1e6)}
    assert found[rule]["evidence"] and found[rule]["change"]
    assert found[rule]["title"] and f"# {found[rule]['title']}\n" in page_of(rule)
    assert f"**Confidence:** `{found[rule]['confidence']}`" in page_of(rule)
    assert found[rule]["file"] is None and found[rule]["line"] is None
    for events in silent:
        assert rule not in advice(tool, tmp_path, events)


def test_launches_that_take_longer_than_their_work(tool, tmp_path):
    found = advice(tool, tmp_path, launching(3))
    assert {"launch-bound"} <= set(found) <= {"launch-bound", "idle-device"}
    # from the first launch's work to the last one's, 299 gaps of 97 µs
    assert found["launch-bound"]["saving"]["value"] == pytest.approx(299 * 97e-6, rel=0.01)
    assert "launch-bound" not in advice(tool, tmp_path, launching(6))


# Silent where there is a device, or in need of more than a trace: test_torch_flaws.py, rules_cpu_test.c.
ON_THE_CPU = {"batching", "copies", "growth", "overhead", "threads"}


def test_each_rule_has_a_case():
    """Pages are rules: a unit test holds one against the other."""
    rules = {path.stem for path in (conftest.ROOT / "docs" / "advice").glob("*.md")}
    assert set(CASES) | {"launch-bound"} | ON_THE_CPU == rules
    for rule in rules:
        assert f"Rule `{rule}` of" in page_of(rule)


def commands_of(found, before, after):
    for command in found["proof"]["shows"], found["proof"]["proves"]:
        words = shlex.split(command)
        assert words[0] == "leadline"
        yield [{"FILE": before, "AFTER": after}.get(word, word) for word in words[1:]]


@pytest.mark.parametrize("rule", [*CASES, "launch-bound"])
def test_what_a_finding_names_as_proof_shows_it(tool, tmp_path, rule):
    """Both commands run as they stand; the first has in it what the finding is about."""
    speaks, text = (launching(3), "took longer than what they launched") if rule == "launch-bound" else (CASES[rule][0], CASES[rule][3])
    before = speaks.write(tmp_path / "before.json")
    after = training(lambda t, at, k: None).write(tmp_path / "after.json")
    found = next(a for a in page(tool, before, "--overview")["overview"]["advice"] if a["rule"] == rule)
    shows, proves = commands_of(found, before, after)
    shown, proved = tool(*shows), tool(*proves)
    assert (shown.returncode, proved.returncode) == (0, 0), shown.stderr + proved.stderr
    assert proved.stdout
    said = shown.stdout + tool(*shows, "--json").stdout
    assert text in said


def from_python(extra, *functions):
    """The training with a module whose profiler has started, and functions at (begin, length) of each step."""
    def more(t, at, k):
        if k == 0:
            t.python("train.py(90): <module>", 100, 50000)
            t.python("torch/profiler/profiler.py(8): start", 110, 20)
        for name, begin, length in functions:
            t.python(name, at + begin, length)
        extra(t, at, k)
    return training(more)


def zeroed(*lengths):
    """Calls of zero_grad one after the other, 400 µs from one begin to the next."""
    def extra(t, at, k):
        for i, length in enumerate(lengths):
            t.mark("Optimizer.zero_grad#SGD.zero_grad", at + 8100 + 400 * i, length)
            t.op("aten::zero_", at + 8105 + 400 * i, 10)
    return extra


def test_where_it_was_asked_for_is_told_where_python_functions_are(tool, tmp_path):
    events = sync(600)
    events.python("train.py(90): <module>", 100, 50000)
    events.python("torch/profiler/profiler.py(8): start", 110, 20)
    for k in range(STEPS):
        events.python("train.py(40): log", 1000 + STEP * k + 8050, 400)
    path = events.write(tmp_path / "t.json")
    found = page(tool, path, "--overview")["overview"]["advice"][0]
    assert "train.py(40): log" in found["evidence"] and (found["file"], found["line"]) == ("train.py", 40)
    assert "1. The host waits for values from the device (sync, bound)\n   train.py:40\n   The host waited 3 times" in tool("report", "--overview", path).stdout


def test_a_finding_points_at_no_line_that_has_less_than_half_of_its_time(tool, tmp_path):
    functions = [("train.py(40): a", 8050, 390), ("train.py(50): b", 8450, 390), ("train.py(60): c", 8850, 390)]
    for lengths, place in [((210, 100, 100), ("train.py", 40)), ((100, 300, 100), ("train.py", 50)), ((150, 150, 150), (None, None))]:
        found = advice(tool, tmp_path, from_python(zeroed(*lengths), *functions))["zero-grad"]
        assert (found["file"], found["line"]) == place, lengths
    module = advice(tool, tmp_path, from_python(zeroed(150)))["zero-grad"]
    assert (module["file"], module["line"]) == ("train.py", None)  # torch names it by where it was when profiling began
    built_in = advice(tool, tmp_path, from_python(zeroed(150), ("<built-in method zero_grad>", 8050, 390)))["zero-grad"]
    assert (built_in["file"], built_in["line"]) == ("train.py", None)


def test_little_data_makes_every_finding_a_heuristic(tool, tmp_path):
    assert advice(tool, tmp_path, layout(250))["layout"]["confidence"] == "measured"
    short = layout(250)
    short.events = [e for e in short.events if e["ts"] < 1000 + 2 * STEP]  # two steps
    assert advice(tool, tmp_path, short)["layout"]["confidence"] == "heuristic"
    path = layout(600).write(tmp_path / "cut.json")
    path.write_text(path.read_text()[:-100])
    (found,) = page(tool, path, "--overview")["overview"]["advice"]
    assert (found["rule"], found["confidence"]) == ("layout", "heuristic")


def test_levels_mean_the_same_in_report_page_and_manual(tool, tmp_path):
    source = (conftest.ROOT / "src" / "advise" / "finding.c").read_text()
    names, meanings = (re.findall(r'\] =\s+"([^"]+)"', part) for part in source.split("finding_confidence_meanings")[:2])
    assert names == ["measured", "bound", "heuristic"] and len(meanings) == 3
    page_text = (conftest.ROOT / "ui" / "src" / "model" / "finding.ts").read_text()
    manual = (conftest.ROOT / "docs" / "man" / "leadline-report.1.md").read_text()
    for name, meaning in zip(names, meanings):
        assert f'{name}: "{meaning}"' in page_text and f"| `{name}` | {meaning}" in manual
    said = " ".join(tool("report", "--overview", layout(250).write(tmp_path / "t.json")).stdout.split())
    assert f"measured: {meanings[0]} 'leadline help layout' explains it." in said and "bound:" not in said  # only the levels that are there


def test_a_file_name_cannot_write_to_the_terminal(tool, tmp_path):
    events = from_python(zeroed(150), ("evil\x1b[31m\n.py(40): a", 8050, 390))
    out = tool("report", "--overview", events.write(tmp_path / "t.json")).stdout
    assert ".py:40\n" in out and "\x1b" not in out


def test_savings_that_overlap_are_bounded_together(tool, tmp_path):
    """Idle time counts once, however many rules would save it; what is saved of the device's own time comes on top."""
    def extra(t, at, k):
        for i in range(100):
            t.kernel("tiny", t.op("aten::relu", at + 80 * i, 20), at + 80 * i + 1, at + 80 * i + 8, 2, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
        t.kernel("void cudnn::ops::nchwToNhwcKernel<float>", t.op("aten::cudnn_convolution", at + 8300, 20), at + 8301, at + 8400, 500, **{"blocks per SM": 4, "est. achieved occupancy %": 50})
    path = training(extra, busy=False).write(tmp_path / "t.json")
    overview = page(tool, path, "--overview")["overview"]
    savings = {a["rule"]: a["saving"]["value"] for a in overview["advice"] if a["saving"] is not None}
    idle = overview["total_s"] - overview["busy_s"]
    assert {"idle-device", "launch-bound", "layout"} <= set(savings) and savings["idle-device"] == pytest.approx(idle)
    device = savings["layout"] + savings.get("tensor-cores", 0)
    assert overview["together_s"] == pytest.approx(min(overview["total_s"], idle + min(device, overview["busy_s"])))
    assert "do not add up" in " ".join(tool("report", "--overview", path).stdout.split())


def test_help_tells_the_page_of_each_rule(tool):
    pages = sorted((conftest.ROOT / "docs" / "advice").glob("*.md"))
    assert len(pages) >= 25
    for one in pages:
        assert tool("help", one.stem).stdout == one.read_text()
