"""Imports are one row: in reports, trees, exports and differences, and nothing is lost by it."""
import json
import subprocess
import textwrap

import conftest
import pytest
from interpreters import EXPECTED, require

PROGRAM = textwrap.dedent("""
    import time
    def work(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sum(range(1000))
    import slowlib
    import mine
    work(0.2)
""")
# A library that takes its time, and imports another one that does.
SLOW = "import time\ndef prepare():\n    end = time.monotonic() + 0.2\n    while time.monotonic() < end: pass\nprepare()\n"
MINE = "def own_work():\n    import time\n    end = time.monotonic() + 0.2\n    while time.monotonic() < end: pass\nown_work()\n"


# 3.14 and 3.15 run in a root of their own, where a library put into a folder here is not.
@pytest.fixture(scope="module", params=[label for label in EXPECTED if label not in ("3.14", "3.15")])
def recording(request, tmp_path_factory):
    python = require(request.param)
    folder = tmp_path_factory.mktemp("imports")
    library = folder / "lib" / "python3" / "site-packages"
    for path, text in {"main.py": PROGRAM.replace("import time", f"import sys, time\nsys.path.insert(0, {str(library)!r})", 1), "mine.py": MINE}.items():
        (folder / path).write_text(text)
    for path, text in {"slowlib/__init__.py": "import slowlib.part\n" + SLOW, "slowlib/part.py": SLOW}.items():
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        (library / path).write_text(text)
    lead = folder / "x.lead"
    done = subprocess.run([conftest.LEADLINE, "run", "--python", python.exe, "-o", lead, folder / "main.py"], capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.returncode == 0, done.stderr
    return lead


def report(path, *options):
    return json.loads(subprocess.run([conftest.LEADLINE, "report", "--json", path, *options], capture_output=True, text=True, check=True).stdout)


def test_imports_are_one_row_and_the_books_balance(recording):
    folded, whole = report(recording), report(recording, "--imports")
    rows = {f["name"]: f for f in folded["functions"]}
    assert folded["total"] == pytest.approx(whole["total"])
    assert sum(f["self"] for f in folded["functions"]) == pytest.approx(sum(f["self"] for f in whole["functions"]))
    assert rows["[imports]"]["self"] == pytest.approx(folded["imports"]["value"])
    assert 0.3 < folded["imports"]["value"] < 1.5, "two loops of 0.2 s, and what else is imported"
    assert folded["imports"]["packages"][0]["name"] == "slowlib"
    assert whole["imports"]["value"] == 0 and "[imports]" not in {f["name"] for f in whole["functions"]}


def test_nobody_is_sent_to_importlib(recording):
    folded = report(recording)
    assert not [f["name"] for f in folded["functions"] if "importlib" in f["file"]]
    assert not [line["file"] for line in folded["lines"] if "importlib" in line["file"] or line["function"] == "prepare"]
    assert [line["file"] for line in report(recording, "--imports")["lines"] if line["function"] == "prepare"]


def test_what_ones_own_module_does_is_work(recording):
    folded = report(recording)
    rows = {f["name"]: f["self"] for f in folded["functions"]}
    assert rows["own_work"] > 0.02 and rows["work"] > 0.02, rows
    assert "mine" not in [package["name"] for package in folded["imports"]["packages"]]


def test_the_row_opens_into_a_tree(recording):
    def text(*options):
        return subprocess.run([conftest.LEADLINE, "report", recording, *options], capture_output=True, text=True, check=True).stdout

    plain = " ".join(text().split())
    assert "[imports]" in plain and "slowlib" in plain and "--imports opens it" in plain and "_find_and_load" not in plain
    opened = text("--imports").split("\nImports\n")[1]
    outer, inner = (next(i for i, line in enumerate(opened.splitlines()) if path in line) for path in ("slowlib/__init__.py", "slowlib/part.py"))
    assert outer < inner
    assert "[imports]" in text("--tree") and "importlib" not in text("--tree")


def test_exports_have_it_too(recording, tmp_path):
    def stacks(*options):
        out = tmp_path / f"{len(options)}.folded"
        done = subprocess.run([conftest.LEADLINE, "export", "--force", recording, "-f", "collapsed", "-o", out, *options], capture_output=True, text=True, check=True)
        return done.stderr, sum(int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines()), out.read_text()

    said, n, text = stacks()
    assert ";[imports] " in text and "(<frozen importlib" not in text and "imports are in one row" in said
    said, n_whole, text = stacks("--imports")
    assert n == n_whole and "(<frozen importlib" in text and "imports are in one row" not in said
