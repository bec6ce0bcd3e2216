"""A fixed recording in, exact text out. `tools/update_golden.py` rewrites the texts; review reads the diff."""
import pathlib
import subprocess

import conftest
import pytest

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data"

# name of the text → arguments; recordings are in tests/data
CASES = {
    "report_children": ["report", "--color=never", "--processes", "children.lead"],
    "report_busy": ["report", "--color=never", "busy.lead"],
    "report_busy_plain_json": ["report", "--json", "busy.lead"],
    "report_busy_colour": ["report", "--color=always", "--no-legend", "busy.lead"],
    "report_gil": ["report", "--color=never", "--no-legend", "gil.lead"],
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
