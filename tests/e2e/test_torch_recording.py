"""Traces of torch.profiler as recordings: the same tables to the character, and a tenth of the size; and written as traces again."""
import gzip
import json

import conftest
import consumers
import pytest

DATA = conftest.ROOT / "tests" / "data" / "torch"
TRACES = sorted(p.name.split(".")[0] for p in DATA.glob("*.pt.trace.json.gz"))
PAGES = [["--ops", "--torch", "--limit=-1"], ["--ops", "--torch", "--sort=self_cuda_time_total"], ["--ops", "--torch=2.11", "--sort=count", "--group-by-shape"],
         ["--ops", "--group-by-shape", "--limit=0"], ["--ops", "--group-by-stack=3", "--limit=0"], ["--overview", "--steps", "--kernels", "--streams", "--modules", "--memory"],
         ["--overview", "--steps", "--ops", "--kernels", "--streams", "--modules", "--memory", "--json", "--limit=0"]]


def trace(name):
    return DATA / f"{name}.pt.trace.json.gz"


@pytest.mark.parametrize("name", TRACES)
def test_a_recording_has_the_tables_of_its_trace_in_a_tenth_of_its_size(tool, tmp_path, name):
    path = tmp_path / "t.lead"
    done = tool("export", "--force", trace(name), "-o", path)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert path.stat().st_size * 10 <= len(gzip.decompress(trace(name).read_bytes()))
    for options in PAGES:
        theirs, ours = tool("report", *options, trace(name)), tool("report", *options, path)
        assert ours.stdout.replace(str(path), "T") == theirs.stdout.replace(str(trace(name)), "T"), options
        assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)


def test_what_was_repaired_and_lost_is_still_told(tool, tmp_path):
    text = gzip.decompress(trace("mlp_plain").read_bytes()).replace(b'"aten::linear"', b'"my "quoted", linear"', 3)
    (tmp_path / "t.json").write_bytes(text[: int(len(text) * 0.7)])
    tool("export", "--force", tmp_path / "t.json", "-o", tmp_path / "t.lead")
    theirs, ours = (tool("report", "--ops", "--json", "--limit=0", tmp_path / name) for name in ("t.json", "t.lead"))
    assert "were repaired" in ours.stderr and "the file ends before its events do" in ours.stderr
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


def test_a_trace_and_its_recording_show_operators_by_themselves(tool, tmp_path):
    path = tmp_path / "t.lead"
    tool("export", "--force", trace("mlp_stack"), "-o", path)
    for file in path, trace("mlp_stack"):
        for options in [], ["--limit=3"], ["--json"]:
            assert tool("report", *options, file).stdout == tool("report", *options, "--overview", "--ops", file).stdout != ""
        assert "aten::addmm" in tool("report", file).stdout
    assert "chrome file" in tool("report", "--functions", trace("mlp_stack")).stdout  # as stacks, where they are asked for


def test_a_trace_of_another_tool_is_shown_as_stacks_and_an_empty_one_of_torch_is_told(tool, tmp_path):
    (tmp_path / "other.json").write_text('{"traceEvents": [{"ph": "X", "cat": "mine", "name": "f", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}')
    assert "chrome file" in tool("report", tmp_path / "other.json").stdout
    (tmp_path / "empty.json").write_text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}')
    done = tool("report", tmp_path / "empty.json")
    assert done.returncode == 6 and "it holds no events: nothing was profiled" in done.stderr and done.stdout == ""


def test_a_file_of_another_tool_becomes_a_recording(tool, tmp_path):
    (tmp_path / "x.folded").write_text("main;a 3\nmain;b 1\n")
    assert tool("export", "--force", tmp_path / "x.folded", "-o", tmp_path / "x.lead").returncode == 0
    assert json.loads(tool("report", "--json", tmp_path / "x.lead").stdout) == json.loads(tool("report", "--json", tmp_path / "x.folded").stdout)


def test_what_is_no_recording_of_operators_is_refused_in_one_line(tool, tmp_path):
    (tmp_path / "x.folded").write_text("main;a 3\n")
    tool("export", "--force", tmp_path / "x.folded", "-o", tmp_path / "x.lead")
    done = tool("report", "--ops", tmp_path / "x.lead")
    assert done.returncode == 6 and "holds no operators" in done.stderr and done.stdout == ""
    before = (tmp_path / "x.lead").read_bytes()
    done = tool("export", "--force", tmp_path / "x.lead", "-o", tmp_path / "x.lead")
    assert done.returncode == 2 and "would overwrite itself" in done.stderr
    assert (tmp_path / "x.lead").read_bytes() == before
    (tmp_path / "bad").write_text("hello")
    done = tool("export", "--force", tmp_path / "bad", "-o", tmp_path / "y.lead")
    assert done.returncode == 6 and not (tmp_path / "y.lead").exists()


def test_a_damaged_recording_loses_only_what_is_damaged(tool, tmp_path):
    path = tmp_path / "t.lead"
    tool("export", "--force", trace("h200_conv"), "-o", path)
    data = path.read_bytes()
    for at in range(60, len(data), len(data) // 12):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        done = tool("report", "--ops", path)
        assert done.returncode in (0, 6), (at, done.stderr)
        path.write_bytes(data[:at])
        assert tool("report", "--ops", path).returncode in (0, 6)


# ---- written again ----


def events(path):
    text = path.read_bytes()
    whole = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
    rest = {} if isinstance(whole, list) else {k: v for k, v in whole.items() if k != "traceEvents"}
    listed = whole if isinstance(whole, list) else whole["traceEvents"]
    for e in listed:  # old ones have whole microseconds
        e.update({k: float(e[k]) for k in ("ts", "dur") if k in e})
    return rest, sorted(json.dumps(e, sort_keys=True) for e in listed)


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_written_again_has_every_event_and_argument(tool, tmp_path, name):
    plain, packed, lead = (tmp_path / n for n in ("t.pt.trace.json", "t.pt.trace.json.gz", "t.lead"))
    assert tool("export", "--force", trace(name), "-o", plain).returncode == 0
    assert tool("export", "--force", trace(name), "-o", lead).returncode == 0 and tool("export", "--force", lead, "-o", packed).returncode == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert events(plain) == events(trace(name))
    for options in (PAGES[0], PAGES[-1]):
        assert tool("report", *options, packed).stdout == tool("report", *options, trace(name)).stdout


TENSORBOARD = """
import json, sys, tempfile
sys.path.insert(0, sys.argv[1])
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
for path in sys.argv[2:]:
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("w", None, path, cache)
        data.process()
        shown = vars(RunGenerator("w", None, data).generate_run_profile())
    shown = {k: v for k, v in shown.items() if isinstance(v, (str, int, float, list, dict)) and k != "memory_snapshot" and "trace_file" not in k}
    print(json.dumps(shown, default=lambda o: vars(o) if hasattr(o, "__dict__") else str(type(o))))
"""


def test_tensorboards_plugin_shows_the_same_of_it(tool, tmp_path):
    readers = consumers.data("torch_readers")
    tool("export", "--force", trace("h200_conv"), "-o", tmp_path / "w.pt.trace.json.gz")
    theirs, ours = consumers.python(TENSORBOARD, readers, trace("h200_conv"), tmp_path / "w.pt.trace.json.gz").splitlines()
    assert ours == theirs and "aten::convolution" in ours


HTA = """
import sys
sys.path[:0] = sys.argv[1:3]
from hta.trace_analysis import TraceAnalysis
for path in sys.argv[3:]:
    seen = TraceAnalysis(trace_files={0: path})
    tables = [seen.get_temporal_breakdown(visualize=False), *seen.get_gpu_kernel_breakdown(visualize=False), seen.get_idle_time_breakdown(ranks=[0], visualize=False)[0]]
    print("HTA", [t.to_dict("records") for t in tables])
"""


def test_hta_finds_the_same_in_it(tool, tmp_path):
    tool("export", "--force", trace("h200_conv"), "-o", tmp_path / "w.pt.trace.json.gz")
    said = consumers.python(HTA, consumers.data("hta"), consumers.data("torch_readers"), trace("h200_conv"), tmp_path / "w.pt.trace.json.gz")
    theirs, ours = (line for line in said.splitlines() if line.startswith("HTA"))
    assert ours == theirs and "idle_time_pctg" in ours and "sm80_xmma_gemm" in ours


def test_stacks_are_not_made_of_operators(tool, tmp_path):
    tool("export", "--force", trace("mlp_plain"), "-o", tmp_path / "t.lead")
    done = tool("export", tmp_path / "t.lead", "--format=collapsed")
    assert done.returncode == 2 and "write torch-trace instead" in done.stderr
    (tmp_path / "x.folded").write_text("main;a 3\n")
    done = tool("export", "--force", tmp_path / "x.folded", "-o", tmp_path / "x.pt.trace.json")
    assert done.returncode == 6 and "holds no operators" in done.stderr and not (tmp_path / "x.pt.trace.json").exists()
