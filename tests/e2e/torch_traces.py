"""Traces of torch.profiler for tests: those in the tree, and made-up ones of known truth."""
import gzip
import json

import conftest

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

    def memory(self, ts, size, address, total=None, device=0, reserved=0, tid=1, name="[memory]"):
        args = {"Device Type": 0 if device < 0 else 1, "Device Id": device, "Addr": address, "Bytes": size, "Total Allocated": total or 0, "Total Reserved": reserved}
        self.events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name, "pid": 1, "tid": tid, "ts": ts, "args": args})

    def write(self, path):
        path.write_text(json.dumps({"schemaVersion": 1, **self.properties, "traceEvents": self.events}))
        return path
