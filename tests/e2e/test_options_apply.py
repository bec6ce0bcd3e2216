"""What does not apply to what is shown is refused in one line, never dropped."""
import json

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data"
TRACE = DATA / "torch" / "mlp_plain.pt.trace.json.gz"
CHOOSING = ("--filter=x", "--from=1ms", "--to=2s", "--thread=#1", "--process=1", "--only-mine", "--state=cpu", "--idle")
PROFILE = ("--callers=x", "--callees=x", "--lines", "--functions", "--tree", "--threads", "--tasks", "--regions", "--args", "--host",
           "--bytecode=x", "--ci", "--raw", "--pprof-text", "--line-profiler")
PAGES = ("--overview", "--steps", "--ops", "--kernels", "--modules", "--memory", "--compile", "--streams")


def refused(tool, option, *arguments):
    done = tool("report", *arguments)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == "", (arguments, done)
    assert option.split("=")[0] in lines[0] and len(lines) <= 2, (arguments, done.stderr)


@pytest.mark.parametrize("page", PAGES)
def test_of_a_run_alone(tool, page):
    for option in CHOOSING + PROFILE:
        if page == "--ops" and option in ("--callers=x", "--callees=x"):
            continue  # of operators
        refused(tool, option, page, option, TRACE)


@pytest.mark.parametrize("page", [page for page in PAGES if page != "--ops"])
def test_of_the_table_of_operators_alone(tool, page):
    for option in ("--sort=count", "--group-by-stack=2", "--top-level", "--torch") + (() if page == "--kernels" else ("--group-by-shape",)):
        refused(tool, option, page, option, TRACE)


def test_of_ranks(tool):
    for option in CHOOSING + PROFILE + PAGES + ("--sort=count",):
        refused(tool, option, "--distributed", option, DATA / "torch_ranks")


@pytest.mark.parametrize("page, others", [
    ("--pprof-text", ("--tree", "--filter=x", "--callers=x", "--sort=total", "--ci", "--threads")),
    ("--line-profiler", ("--tree", "--filter=x", "--state=cpu", "--limit=3", "--sort=total", "--ci")),
])
def test_of_another_tools_page(tool, page, others):
    for option in others:
        refused(tool, option, page, option, DATA / "traced.lead")


def test_of_samples_or_of_counted_calls_alone(tool):
    refused(tool, "--raw", "--raw", DATA / "orders.lead")
    refused(tool, "--ci", "--ci", DATA / "traced.lead")
    assert tool("report", "--raw", DATA / "traced.lead").returncode == tool("report", "--ci", DATA / "orders.lead").returncode == 0


def test_what_applies_is_not_refused(tool):
    for options in (("--ops", "--sort=count", "--limit=3"), ("--ops", "--group-by-shape"), ("--kernels", "--group-by-shape"), ("--ops", "--top-level"),
                    ("--overview", "--limit=3", "--no-legend"), ("--limit=3",), ("--sort=count",), ("--json",)):
        assert tool("report", *options, TRACE).returncode == 0, options
    for option in CHOOSING[1:3] + CHOOSING[5:]:
        assert tool("report", option, DATA / "orders.lead").returncode == 0, option


def test_of_measurements_where_nothing_is_measured(tool, tmp_path):
    for option in ("--time=1", "--blocks=5", "--explain", "--equivalence=2%", "--no-control"):
        done = tool("compare", "--count", option, "1+1", "2+2")
        assert done.returncode == 2 and option.split("=")[0] in done.stderr and done.stdout == "", done
    for option in ("--blocks=5", "--same-output", "--count", "--explain"):
        assert tool("compare", f"--judge={tmp_path}/x.json", option).returncode == 2, option


def test_memory_is_shown_of_any_recording(tool, tmp_path):
    """Of a run as the looks at it tell, of operators as they allocated, and of what has neither in one line."""
    program = tmp_path / "grow.py"
    program.write_text("import time\nkept = []\nfor i in range(20):\n    kept.append(bytearray(4 << 20))\n    time.sleep(0.01)\n")
    tool("run", "-o", tmp_path / "grow.lead", program)
    text = tool("report", "--memory", tmp_path / "grow.lead").stdout
    told = json.loads(tool("report", "--memory", "--json", tmp_path / "grow.lead").stdout)
    assert "largest process" in text and "Over time" in text and "RSS" in text and "Functions" not in text
    assert told["max_rss_bytes"] > 80 << 20 and "memory" not in told
    trace = DATA / "torch" / "conv_full.pt.trace.json.gz"
    assert "memory" in json.loads(tool("report", "--memory", "--json", trace).stdout)
    refused(tool, "--filter", "--memory", "--filter=x", tmp_path / "grow.lead")
    done = tool("report", "--memory", DATA / "old" / "20261116-1609-imported-collapsed.lead")
    assert done.returncode != 0 and "records nothing about memory" in done.stderr and done.stdout == ""
