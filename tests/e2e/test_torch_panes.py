"""Pages of torch.profiler's traces beside operators: figures held against a slow count of the same events, and made-up traces of known truth."""
import gzip
import json

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data" / "torch"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def trace(name):
    return DATA / f"{name}.pt.trace.json.gz"


def spans(name):
    events = json.loads(gzip.decompress(trace(name).read_bytes()))["traceEvents"]
    return [e for e in events if e["ph"] == "X"]


def ns(event):
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def page(tool, path, *options):
    done = tool("report", "--json", "--limit=0", *options, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Trace:
    """A made-up trace, in µs."""

    def __init__(self, **properties):
        self.events, self.number, self.properties = [], 0, properties

    def add(self, cat, name, ts, dur, pid=1, tid=1, **args):
        event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
        if cat in ("cpu_op", "user_annotation"):
            self.number += 1
            event["args"]["External id"] = self.number
        self.events.append(event)
        return self.number

    def op(self, name, ts, dur, **args):
        return self.add("cpu_op", name, ts, dur, **args)

    def mark(self, name, ts, dur, **args):
        return self.add("user_annotation", name, ts, dur, **args)

    def python(self, name, ts, dur):
        self.add("python_function", name, ts, dur, **{"Python id": len(self.events)})

    def kernel(self, name, op, launch, begin, dur, stream=7, **args):
        correlation = len(self.events) + 1000
        self.add("cuda_runtime", "cudaLaunchKernel", launch, 5, correlation=correlation, **{"External id": op})
        self.add("kernel", name, begin, dur, 0, stream, correlation=correlation, stream=stream, **{"External id": op}, **args)

    def write(self, path):
        path.write_text(json.dumps({"schemaVersion": 1, **self.properties, "traceEvents": self.events}))
        return path


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
        assert row["seconds"] == pytest.approx(total / 1e9) and row["self_s"] == pytest.approx((total - inner.get(path, 0)) / 1e9)
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
    assert block["seconds"] == pytest.approx(800e-6) and block["self_s"] == pytest.approx(399e-6) and linear["self_s"] == pytest.approx(401e-6)
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
