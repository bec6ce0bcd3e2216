"""Files of line_profiler: read and shown as it shows them, and written so that it takes them."""
import json
import subprocess
import sys

import pytest

PROGRAM = '''\
class Book:
    def __init__(self):
        self.items = []

    @profile
    def fill(self,
             n,
             ):
        for i in range(n):
            # half of them
            if i % 2:
                self.items.append(i)

        return len(self.items)


@profile
def countdown(n):
\treturn 0 if n == 0 else countdown(n - 1)


@profile
def never():
    pass


Book().fill(2000)
countdown(5)
'''


@pytest.fixture(scope="module")
def lprof(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lprof")
    (folder / "book.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "kernprof", "-l", "-o", "book.lprof", "book.py"], cwd=folder, check=True, capture_output=True)
    return folder / "book.lprof"


def line_profiler(path):
    done = subprocess.run([sys.executable, "-m", "line_profiler", "-u", "1e-6", "-z", path.name], cwd=path.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_is_shown_as_line_profiler_shows_it(tool, lprof):
    ours = tool("report", "--line-profiler", lprof.name, cwd=lprof.parent)
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == line_profiler(lprof)


def test_line_profiler_takes_our_file(tool, lprof):
    ours = lprof.with_name("ours.lprof")
    done = tool("export", "--force", lprof, "-o", ours)
    assert done.returncode == 0, done.stderr
    assert line_profiler(ours) == line_profiler(lprof)


def test_hits_are_the_programs(tool, lprof):
    report = json.loads(tool("report", "--json", lprof).stdout)
    hits = {line["line"]: line["hits"] for line in report["lines"]}
    assert (hits[9], hits[11], hits[12], hits[14], hits[19]) == (2001, 2000, 1000, 1, 6)
    assert all(line["self"] is None and line["max_s"] is None for line in report["lines"])
    shown = tool("report", lprof.name, cwd=lprof.parent).stdout
    assert "self.items.append(i)" in shown and "return 0 if n == 0" in shown


def test_stats_shows_its_lines(tool, lprof):
    asked = tool("stats", lprof.name, "-c", "lines", "-c", "stats", cwd=lprof.parent)
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.startswith(line_profiler(lprof)) and "0 function calls in 0.000 seconds" in asked.stdout


def test_nothing_in_a_file_is_executed(tool, tmp_path):
    made = tmp_path / "made"
    evil = tmp_path / "evil.lprof"
    command = f"touch {made}".encode()
    evil.write_bytes(b"\x80\x02cline_profiler.line_profiler\nLineStats\n0cposix\nsystem\nU" + bytes([len(command)]) + command + b"\x85R.")
    done = tool("report", evil)
    assert done.returncode == 6 and "such files do not have" in done.stderr
    assert not made.exists()
