"""A fixed recording in, exact text out. `tools/update_golden.py` rewrites the texts; review reads the diff."""
import pathlib
import subprocess

import conftest
import pytest

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data"

H200 = "torch/h200_conv.pt.trace.json.gz"

# name of the text → arguments; recordings are in tests/data
CASES = {
    "report_children": ["report", "--color=never", "--processes", "children.lead"],
    "report_busy": ["report", "--color=never", "busy.lead"],
    "report_busy_plain_json": ["report", "--json", "busy.lead"],
    "report_busy_colour": ["report", "--color=always", "--no-legend", "busy.lead"],
    "report_gil": ["report", "--color=never", "--no-legend", "gil.lead"],
    "report_orders": ["report", "--color=never", "orders.lead"],
    "report_orders_colour": ["report", "--color=always", "--lines", "--tree", "-n", "8", "orders.lead"],
    "report_functions_ci": ["report", "--color=never", "--functions", "--ci", "-n", "8", "orders.lead"],
    "report_functions_cumtime": ["report", "--color=never", "--functions", "-s", "cumtime", "-n", "8", "orders.lead"],
    "report_only_mine": ["report", "--color=never", "--functions", "--lines", "--only-mine", "orders.lead"],
    "report_filter": ["report", "--color=never", "--functions", "--filter", "json/.*:3[0-9]+", "orders.lead"],
    "report_lines": ["report", "--color=never", "--lines", "-n", "6", "orders.lead"],
    "report_lines_without_source": ["report", "--color=never", "--lines", "-n", "6", "--no-legend", "crash.lead"],
    "report_tree": ["report", "--color=never", "--tree", "orders.lead"],
    "report_tree_only_mine": ["report", "--color=never", "--tree", "--only-mine", "orders.lead"],
    "report_callers": ["report", "--color=never", "--callers", "encode", "orders.lead"],
    "report_callees": ["report", "--color=never", "--callees", "main", "orders.lead"],
    "report_threads": ["report", "--color=never", "--threads", "orders.lead"],
    "report_threads_idle": ["report", "--color=never", "--threads", "--idle", "orders.lead"],
    "report_thread_range": ["report", "--color=never", "--functions", "--thread=#1", "--from=500ms", "--to=1s", "-n", "5",
                            "orders.lead"],
    "report_state_cpu": ["report", "--color=never", "--functions", "--state=cpu", "-n", "5", "orders.lead"],
    "report_killed": ["report", "--color=never", "--functions", "crash.lead"],
    "report_sections_json": ["report", "--json", "--threads", "--callers=ways", "--callees=Book.save", "--filter=ways",
                             "orders.lead"],
    "memory": ["report", "--color=never", "--memory", "memory.lead"],
    "memory_json": ["report", "--json", "--memory", "--only-mine", "--filter", "put", "memory.lead"],
    "memory_peak_lines": ["report", "--color=never", "--memory=peak", "--lines", "--process", "100", "memory.lead"],
    "memory_leaks_tree": ["report", "--color=never", "--memory=leaks", "--tree", "--no-legend", "memory.lead"],
    "memory_churn_ci": ["report", "--color=never", "--memory=churn", "--functions", "--ci", "--from=1s", "memory.lead"],
    "memory_growth_callers": ["report", "--color=never", "--memory=growth", "--callers", "put", "--threads", "memory.lead"],
    "svg_memory": ["export", "--format=svg", "--memory=peak", "memory.lead"],
    "report_traced": ["report", "--color=never", "traced.lead"],
    "report_corrected": ["report", "--color=never", "old/20261116-1609-inside-trace.lead"],
    "report_corrected_callees": ["report", "--color=never", "--callees", "burn", "old/20261116-1609-inside-trace.lead"],
    "report_traced_raw": ["report", "--color=never", "--functions", "--raw", "-s", "ncalls", "-n", "4", "--only-mine", "traced.lead"],
    "report_traced_tree": ["report", "--color=never", "--tree", "--no-legend", "-n", "40", "traced.lead"],
    "report_traced_callers": ["report", "--color=never", "--callers", "depth", "--callees", "count", "--no-legend", "traced.lead"],
    "report_traced_json": ["report", "--json", "--filter", "library.py", "traced.lead"],
    "report_traced_line_profiler": ["report", "--line-profiler", "traced.lead"],
    "stats_traced": ["stats", "traced.lead", "-c", "strip", "-c", "sort ncalls name", "-c", "callers 6", "-c", "callees count"],
    "torch_overview": ["report", "--color=never", "--overview", H200],
    "torch_overview_json": ["report", "--json", "--overview", "--limit=3", H200],
    "torch_findings": ["report", "--color=never", "--overview", "findings.pt.trace.json"],
    "torch_findings_json": ["report", "--json", "--overview", "findings.pt.trace.json"],
    "torch_ops": ["report", "--color=never", "--ops", "-n", "8", H200],
    "torch_ops_by_shape": ["report", "--color=never", "--ops", "--group-by-shape", "-n", "8", H200],
    "torch_steps": ["report", "--color=never", "--steps", H200],
    "torch_modules": ["report", "--color=never", "--modules", H200],
    "torch_memory": ["report", "--color=never", "--memory", "-n", "8", H200],
    "torch_kernels": ["report", "--color=never", "--kernels", "-n", "8", H200],
    "torch_kernels_by_launch": ["report", "--color=never", "--kernels", "--group-by-shape", "-n", "8", H200],
    "torch_streams": ["report", "--color=never", "--streams", H200],
    "torch_compile": ["report", "--color=never", "--compile", "--overview", "torch/compile_cold.pt.trace.json.gz"],
    "torch_ranks": ["report", "--color=never", "--distributed", "torch_ranks"],
    "torch_diff": ["diff", "--color=never", "-n", "8", "torch/mlp_plain.pt.trace.json.gz", "torch/mlp_stack.pt.trace.json.gz"],
    "svg_orders": ["export", "--format=svg", "--only-mine", "orders.lead"],
    "svg_prof": ["export", "--format=svg", "calls.prof"],
    "help": ["help"],
    "help_time": ["help", "time"],
    "help_report": ["help", "report"],
    "help_exit": ["help", "exit"],
    "help_bound": ["help", "bound"],
}


def output(arguments, binary=conftest.LEADLINE):
    return subprocess.run([binary, *arguments], cwd=DATA, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("binary", [conftest.LEADLINE, conftest.LEADLINE_ASAN], ids=["static", "asan"])
def test_golden(name, binary):
    assert output(CASES[name], binary) == (HERE / f"{name}.txt").read_text()


@pytest.mark.parametrize("limit", [1, 3, 5, 8, 13])
@pytest.mark.parametrize("recording", ["orders.lead", "traced.lead"])
def test_a_tree_has_as_many_rows_as_asked_for(recording, limit):
    """Frames that are folded into others are none. Equal branches may leave one row out, or two."""
    text = output(["report", "--color=never", "--no-legend", "--tree", "-n", str(limit), recording])
    rows = text.partition("function\n")[2].partition("\n\n")[0].splitlines()
    rows = [row for row in rows if " % " in row[:10]]
    every = len([r for r in output(["report", "--color=never", "--tree", "-n", "1000", recording]).splitlines() if r[:9].strip().endswith("%")])
    assert min(limit, every) - 2 <= len(rows) <= limit, text
