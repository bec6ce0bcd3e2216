"""doctor --build-agent: an agent for an interpreter that this leadline has none for. Hidden here by another name in a copy of it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from interpreters import require
from users import BOB, needs_root

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 100
SCRIPT = """
def f(x):
    return abs(x)

for i in range(100):
    f(i)
"""


def without(tag, folder):
    """A leadline that has no such agent."""
    file = folder / "leadline"
    before = LEADLINE.read_bytes()
    name = f"agents/{tag}.so\0".encode()
    assert before.count(name) == 1
    file.write_bytes(before.replace(name, f"agents/xx{tag[2:]}.so\0".encode()))
    file.chmod(0o755)
    return file


class Place:
    """A leadline without an agent, with a cache of its own."""

    def __init__(self, tag, folder):
        self.folder = folder
        self.tool = without(tag, folder)
        self.env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        self.env.pop("CC", None)

    def run(self, *args, **env):
        return subprocess.run([self.tool, *args], env={**self.env, **env}, capture_output=True, text=True, check=False, timeout=SECONDS)

    def calls(self, python):
        """Of f and abs; what was told beside."""
        script, out = self.folder / "script.py", self.folder / "x.json"
        script.write_text(SCRIPT)
        r = self.run("run", "--trace", "-o", self.folder / "x.lead", f"--json={out}", "--python", python, script)
        (self.folder / "x.lead").unlink()
        assert r.returncode == 0, r.stderr
        found = {f["name"]: f["calls"] for f in json.loads(out.read_text()).get("functions", [])}
        return found.get("f"), found.get("{built-in method builtins.abs}"), r.stderr


@pytest.fixture
def place(tmp_path):
    return Place("cp313", tmp_path)


@pytest.mark.parametrize("label", ["3.8", "3.13"])
def test_an_agent_is_built_and_traces(label, tmp_path):
    python, tag = require(label).exe, "cp" + label.replace(".", "")
    place = Place(tag, tmp_path)
    f, builtin, said = place.calls(python)
    assert f is None and f"no agent for {tag}: leadline doctor --build-agent {python} makes one" in said
    r = place.run("doctor", "--build-agent", python)
    assert r.returncode == 0, r.stderr
    assert f"Built the agent for CPython {label}" in r.stdout
    assert place.calls(python)[:2] == (100, 100)
    folder = next(iter((tmp_path / "cache/leadline/agents").iterdir()))
    assert [file.name for file in folder.iterdir()] == [f"{tag}.so"]
    folder.chmod(0o777)  # others could have put it there
    assert place.calls(python)[0] is None


@needs_root
def test_agents_that_others_could_have_put_there_are_not_used(place, tmp_path):
    """Root's own folder and agent, but below one of BOB's, as where sudo keeps HOME: BOB can put other ones in their place."""
    python = require("3.13").exe
    assert place.run("doctor", "--build-agent", python).returncode == 0
    os.chown(tmp_path / "cache", BOB, BOB)
    assert place.calls(python)[0] is None
    r = place.run("doctor", "--build-agent", python)
    assert r.returncode == 7 and "others than you could put agents there" in r.stderr and str(tmp_path / "cache") in r.stderr
    os.chown(tmp_path / "cache", 0, 0)
    assert place.calls(python)[0] == 100


def test_doctor_says_which_are_missing(place):
    python = require("3.13").exe
    r = place.run("doctor", "--json", PATH=str(Path(python).parent))
    rows = {os.path.realpath(row["path"]): row for row in json.loads(r.stdout)["interpreters"]}
    mine = rows[os.path.realpath(python)]
    assert mine["supported"] and not mine["agent"] and mine["remedy"] == f"leadline doctor --build-agent {mine['path']}"
    shown = " ".join(place.run("doctor", PATH=str(Path(python).parent)).stdout.split())
    assert "has no agent for it: it can be sampled, not traced" in shown


def test_one_that_is_there_is_not_built():
    r = subprocess.run([LEADLINE, "doctor", "--build-agent", require("3.12").exe], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert r.returncode == 0 and "has an agent for CPython 3.12" in r.stdout and "already" in r.stdout


def test_without_headers(place, tmp_path):
    python = tmp_path / "python3.13"
    python.write_text("#!/bin/sh\nprintf 'cpython\\t3\\t13\\t3.13.9\\t-\\t1\\t/nowhere\\n' >&2\n")
    python.chmod(0o755)
    r = place.run("doctor", "--build-agent", python)
    assert r.returncode == 7
    assert r.stderr.startswith(f"leadline: doctor: {python} has no headers (/nowhere/Python.h): install its development package, such as python3.13-dev"), r.stderr


def test_without_a_compiler(place, tmp_path):
    python = require("3.13").exe
    r = place.run("doctor", "--build-agent", python, PATH=str(tmp_path))
    assert r.returncode == 7 and "there is no C compiler (cc, gcc, clang)" in r.stderr
    r = place.run("doctor", "--build-agent", python, CC=shutil.which("false"))
    assert r.returncode == 7 and "cannot build the agent" in r.stderr
    assert not list(tmp_path.glob("cache/leadline/agents/*/*"))


def test_what_is_no_python(place, tmp_path):
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho hello\n")
    other.chmod(0o755)
    r = place.run("doctor", "--build-agent", other)
    assert r.returncode == 6 and "does not answer as Python does" in r.stderr
    r = place.run("doctor", "--build-agent", tmp_path / "nothing")
    assert r.returncode == 127 and "nothing" in r.stderr
    other.write_text("#!/bin/sh\nprintf 'cpython\\t3\\t7\\t3.7.9\\tm\\t1\\t/nowhere\\n' >&2\n")
    r = place.run("doctor", "--build-agent", other)
    assert r.returncode == 6 and "is cpython 3.7.9" in r.stderr
