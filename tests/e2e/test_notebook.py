"""The magics in a real Jupyter kernel: what a reader of the notebook sees, and what is in the recording."""
import base64
import html
import json
import os
import re
import sys
import zlib

import pytest
from conftest import LEADLINE, ROOT

nbclient = pytest.importorskip("nbclient", reason="needs nbclient: run tools/setup test")
v4 = pytest.importorskip("nbformat").v4

SLOW = "def slow(n):\n    total = 0\n    for i in range(n):\n        total += i * i\n    return total"
CELLS = [
    "%load_ext leadline",
    SLOW,
    "%%lead -n 5 -o cells.lead\nimport time\nend = time.process_time() + 0.3\nwhile time.process_time() < end:\n    slow(10000)\nx = 42",
    "print(x)",
    "%lead -n 2 slow(3000000)",
    "%%leadtrace -s calls -o calls.lead\nfor k in range(3):\n    slow(k)\nz = sorted([2, 1])",
    "%leadtrace -q y = slow(10)\nprint(y)",
    "%lead",
    "%leadtrace -n many slow(1)",
    "%lead -r often slow(1)",
    "%%leadtrace\n1 / 0",
    "%leadlines -f slow -o lines.lead slow(7)",
    "%leadlines slow(7)",
    "%leadlines -f nowhere slow(7)",
    "r = %leadtime -o -n 10 -r 3 slow(5)\nprint(r.loops, r.repeat, len(r.timings), r.best <= r.median <= r.worst)",
    "%%leadtime -q -n 1 -r 1 seen = []\nseen.append(slow(2))\nprint('ran', len(seen))",
    "%leadtime -n many slow(1)",
    "%lead -p slow(5000000)",
    "import leadline\nrecorder = leadline.sample()\nprint(recorder._repr_html_())\nwith recorder:\n    slow(5000000)\n    print(recorder._repr_html_())\nrecorder",
    "%%leadtrace -s name -l 1\nslow(2)\nsorted([slow(1)])",
    "%%leadtrace -l slow -l 5\nslow(2)\nsorted([slow(1)])",
    "%leadtrace -l 3 -n 3 slow(1)",
    "%leadtrace -l 1.5 slow(1)",
    "%leadtrace -l '(' slow(1)",
    "%lead -l many slow(1)",
    "%leadtrace -s nonsense untouched = 1",
    "print('untouched' in globals())",
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The cells after they were run, and the folder they ran in."""
    folder = tmp_path_factory.mktemp("notebook")
    spec = folder / "kernels" / "here"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "here",
        "language": "python"}))
    before = dict(os.environ)
    os.environ.update(JUPYTER_PATH=str(folder), PYTHONPATH=str(ROOT / "python"), LEADLINE_BINARY=LEADLINE,
                      IPYTHONDIR=str(folder / "ipython"))
    try:
        made = v4.new_notebook(cells=[v4.new_code_cell(text) for text in CELLS])
        client = nbclient.NotebookClient(made, timeout=120, kernel_name="here", allow_errors=True,
                                         resources={"metadata": {"path": str(folder)}})
        client.execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return made.cells, folder


def shown(cell, kind="text/plain"):
    """What a cell shows as one text."""
    parts = [o.get("text", "") or o.get("data", {}).get(kind, "") or "\n".join(o.get("traceback", [])) for o in cell.outputs]
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(parts))


def test_a_sampled_cell_names_cells_and_their_lines(notebook):
    cells, _ = notebook
    text = shown(cells[2])
    assert "slow" in text and "In [2]:1" in text and re.search(r"In \[2\]:[34] .*(total \+= i|for i in)", text), text
    page = shown(cells[2], "text/html")
    assert "<table>" in page and re.search(r"In \[2\]:[34]<", page) and "ipykernel" not in page
    assert shown(cells[3]).strip() == "42"  # the cell ran in the notebook's own namespace


def test_the_recording_holds_the_cells(notebook, tool):
    _, folder = notebook
    document = json.loads(tool("report", "--json", folder / "cells.lead").stdout)
    (slow,) = [f for f in document["functions"] if f["name"] == "slow"]
    assert slow["file"] == "In [2]" and slow["self"] > 0.1
    # The magic's own line is line 1, as in the notebook.
    assert {"In [3]"} == {x["file"] for x in document["lines"] if x["file"].startswith("In [3]") and x["line"] in (4, 5)}
    text = tool("report", "--lines", folder / "cells.lead").stdout
    assert "total += i * i" in text and "In [2]" in text


def test_a_line_magic_samples_one_statement(notebook):
    assert "slow" in shown(notebook[0][4]) and "<table>" in shown(notebook[0][4], "text/html")


def test_calls_of_a_cell_are_counted(notebook, tool):
    cells, folder = notebook
    text = shown(cells[5])
    assert "function calls" in text and re.search(r"\n +3 .*In \[2\]:1\(slow\)", text), text
    page = shown(cells[5], "text/html")
    assert re.search(r">3</td>.*?slow  In \[2\]:1<", page) and "sorted" in page
    functions = json.loads(tool("report", "--json", folder / "calls.lead").stdout)["functions"]
    assert [f["calls"] for f in functions if f["name"] == "slow" and f["file"] == "In [2]"] == [3]
    assert shown(cells[6]).strip() == "285"


def test_lines_of_a_function_are_counted(notebook, tool):
    cells, folder = notebook
    assert re.search(r"\n +4 +7 .*total", shown(cells[11])), shown(cells[11])
    assert re.search(r">7</td>.*?In \[2\]:4 +total \+= i \* i<", shown(cells[11], "text/html"))
    lines = json.loads(tool("report", "--json", folder / "lines.lead").stdout)["lines"]
    assert [x["hits"] for x in lines if x["file"] == "In [2]" and x["line"] == 4] == [7]
    assert "UsageError: which functions?" in shown(cells[12])
    assert "UsageError: -f nowhere: name 'nowhere' is not defined" in shown(cells[13])


def test_prun_s_limits_are_taken(notebook):
    cells, _ = notebook
    first = len(cells) - 8
    one, named = shown(cells[first]), shown(cells[first + 1])
    assert "due to restriction <1>" in one and shown(cells[first], "text/html").count("<tr>") == 2, one
    assert re.search(r"to 1 due to restriction <'slow'>", named) and "sorted" not in named, named
    page = shown(cells[first + 1], "text/html")
    assert page.count("<tr>") == 2 and "slow  In [2]:1" in page
    wrong = [shown(c).strip() for c in cells[first + 2:first + 6]]
    for text, words in zip(wrong, ("-n and -l mean the same", "not '1.5'", "-l (: no pattern", "-l expects a number of rows, not 'many'")):
        assert words in text, wrong


def test_what_is_wrong_is_one_line(notebook):
    cells, _ = notebook
    assert "UsageError: which statement?" in shown(cells[7])
    assert "UsageError: -n expects a number of rows, not 'many'" in shown(cells[8])
    assert shown(cells[9]).strip().startswith("leadline: --rate expects a number")
    assert "ZeroDivisionError" in shown(cells[10])
    assert "UsageError: -s: there is no sort key 'nonsense'; there are: " in shown(cells[-2])
    assert shown(cells[-1]).strip() == "False"  # said before the statement runs


def test_statements_and_cells_are_timed(notebook):
    cells, _ = notebook
    text = shown(cells[14]).strip().splitlines()
    assert re.fullmatch(r"[\d.]+ \S+ ± [\d.]+ \S+ per loop \(mean ± std. dev. of 3 runs, 10 loops each\)", text[0])
    assert text[1] == "10 3 3 True"
    assert "ran 1" in shown(cells[15])  # the magic's own line is the set-up, -q prints nothing
    assert "UsageError: -n, -r and -p expect a number" in shown(cells[16])


def test_the_page_shows_inline(notebook):
    cells, _ = notebook
    for cell in cells[17:19]:
        page = shown(cell, "text/html")
        text = html.unescape(re.search(r'srcdoc="([^"]*)"', page).group(1))
        assert text.startswith("<!doctype html>") and 'sandbox="allow-scripts"' in page
        packed = re.search(r'id="leadline-data">([^<]*)<', text).group(1)
        answers = json.loads(zlib.decompress(base64.b64decode(packed), -15))["answers"]
        names = [f["name"] for f in answers["table?r=0&what=functions"]["rows"]]
        assert "slow" in names and answers["overview?r=0"]["name"] == "this recording"
    # A recorder that has nothing yet, or still records, is not ended by being looked at.
    assert "None\nNone" in "".join(o.get("text", "") for o in cells[18].outputs)
