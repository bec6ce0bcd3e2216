"""An agent for an interpreter that this leadline has none for: built by doctor --build-agent, and by whatever is to trace a program. Ours is
hidden here by another name in a copy of the executable."""

import json
import os
import re
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

    def trace(self, *command, **env):
        """Runs `run --trace` and what it is given; what came of it, with the calls of f and abs."""
        (self.folder / "script.py").write_text(SCRIPT)
        recording, out = self.folder / "x.lead", self.folder / "x.json"
        for file in (recording, out):
            file.unlink(missing_ok=True)
        r = self.run("run", "--trace", "-o", recording, f"--json={out}", *command, **env)
        rows = json.loads(out.read_text()).get("functions", []) if out.exists() else []
        found = {f["name"]: f["calls"] for f in rows}
        r.calls = found.get("f"), found.get("{built-in method builtins.abs}")
        return r

    def script(self, python, **env):
        return self.trace("--python", python, self.folder / "script.py", **env)

    def folder_of_agents(self):
        (folder,) = (self.folder / "cache/leadline/agents").iterdir()
        return folder


@pytest.fixture
def place(tmp_path):
    return Place("cp313", tmp_path)


@pytest.mark.parametrize("label", ["3.8", "3.13"])
def test_a_run_that_needs_an_agent_builds_it_once(label, tmp_path):
    python, tag = require(label), "cp" + label.replace(".", "")
    place = Place(tag, tmp_path)
    r = place.script(python.exe)
    assert r.returncode == 0 and r.calls == (100, 100), r.stderr
    assert re.search(rf"^leadline: building the agent for CPython {python.version}, once: [0-9.]+ m?s$", r.stderr, re.MULTILINE), r.stderr
    assert [file.name for file in place.folder_of_agents().iterdir()] == [f"{tag}.so"]
    r = place.script(python.exe)
    assert r.calls == (100, 100) and "building" not in r.stderr
    place.folder_of_agents().chmod(0o777)  # others could have put it there
    r = place.script(python.exe)
    assert r.returncode == 1 and r.calls == (None, None) and "other users could put agents there" in r.stderr


def test_doctor_builds_it(place):
    python = require("3.13").exe
    r = place.run("doctor", "--build-agent", python)
    assert r.returncode == 0, r.stderr
    assert "Built the agent for CPython 3.13" in r.stdout
    r = place.script(python)
    assert r.calls == (100, 100) and "building" not in r.stderr


@pytest.mark.parametrize("way", ["script", "env", "lines", "count", "bench"])
def test_whoever_needs_one_builds_it(way, place):
    """Through the first line of a script as well, and for other commands that count."""
    python, script = require("3.13").exe, place.folder / "program"
    (place.folder / "script.py").write_text("@profile\n" + SCRIPT.lstrip())
    script.write_text((f"#!{python}\n" if way == "script" else "#!/usr/bin/env python3.13\n") + SCRIPT)
    script.chmod(0o755)
    path = f"{Path(python).parent}:{os.environ['PATH']}"
    if way in ("script", "env"):
        r = place.trace("--", script, PATH=path)
        assert r.calls == (100, 100), r.stderr
    elif way == "lines":
        r = place.run("lines", "-v", "-o", place.folder / "x.lprof", "--python", python, place.folder / "script.py")
        assert " 100 " in r.stdout, r.stderr
    elif way == "count":
        r = place.run("run", "--count", "-o", place.folder / "y.lead", "--", python, "-c", "abs(1)")
    else:
        r = place.run("bench", "--count", "--python", python, "abs(1)")
        assert r.returncode == 0, r.stderr
        assert place.folder_of_agents().joinpath("cp313.so").exists()
        return
    assert r.returncode == 0 and "building the agent for CPython 3.13" in r.stderr, r.stderr


@needs_root
def test_agents_that_others_could_have_put_there_are_not_used(place, tmp_path):
    """Root's own folder and agent, but below one of BOB's, as where sudo keeps HOME: BOB can put other ones in their place."""
    python = require("3.13").exe
    assert place.run("doctor", "--build-agent", python).returncode == 0
    os.chown(tmp_path / "cache", BOB, BOB)
    said = "other users could put agents there"
    r = place.script(python)
    assert r.returncode == 1 and r.calls[0] is None and said in r.stderr
    r = place.run("doctor", "--build-agent", python)
    assert r.returncode == 7 and said in r.stderr and str(tmp_path / "cache") in r.stderr
    os.chown(tmp_path / "cache", 0, 0)
    assert place.script(python).calls[0] == 100


@needs_root
def test_nothing_is_made_in_other_peoples_homes(place, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, BOB, BOB)
    r = place.run("doctor", "--build-agent", require("3.13").exe, XDG_CACHE_HOME="", HOME=str(home))
    assert r.returncode == 7 and "other users could put agents there" in r.stderr
    assert not list(home.iterdir())


def test_only_interpreters_are_asked_what_they_are(place, tmp_path):
    """A program of the user's whose name begins so is run once, and not before it is to."""
    program = tmp_path / "python-deploy"
    program.write_text(f"#!/bin/sh\necho \"$*\" >> {tmp_path}/runs\n")
    program.chmod(0o755)
    place.trace(program, "production")
    assert (tmp_path / "runs").read_text() == "production\n"


def test_one_that_cannot_be_loaded(place):
    """The words of dlopen reach the user; doctor tries before it says that all is well, and another one can be built."""
    python = require("3.13").exe
    assert place.run("doctor", "--build-agent", python).returncode == 0
    agent = place.folder_of_agents() / "cp313.so"
    good = agent.read_bytes()
    agent.write_bytes(good.replace(b"\0pthread_key_create\0", b"\0pthread_key_creatE\0"))
    r = place.script(python)
    assert r.returncode == 1 and r.calls == (None, None)
    assert "undefined symbol: pthread_key_creatE" in r.stderr and f"leadline doctor --build-agent {python} builds one that can" in r.stderr
    assert "ended before its first" not in r.stderr
    rows = json.loads(place.run("doctor", "--json", PATH=str(Path(python).parent)).stdout)["interpreters"]
    mine = next(row for row in rows if os.path.samefile(row["path"], python))
    assert not mine["agent"] and "undefined symbol: pthread_key_creatE" in mine["no_agent"] and mine["remedy"].startswith("leadline doctor --build-agent")
    assert "it does not load its agent" in " ".join(place.run("doctor", PATH=str(Path(python).parent)).stdout.split())
    assert place.run("doctor", "--build-agent", python).returncode == 0
    assert place.script(python).calls == (100, 100)


def test_ours_that_cannot_be_loaded_gives_way_to_one_built_here(tmp_path):
    """Both are there then: the one that was made on this machine is taken."""
    python = require("3.13").exe
    place = Place("cp313", tmp_path)
    bytes_ = LEADLINE.read_bytes()
    begin = bytes_.index(b"it was built with the headers of CPython " + require("3.13").version.encode() + b" and")
    begin = bytes_.rindex(b"\x7fELF", 0, begin)
    place.tool.write_bytes(bytes_[:begin] + b"\x7fElf" + bytes_[begin + 4 :])
    r = place.script(python)
    assert r.returncode == 1 and "invalid ELF header" in r.stderr, r.stderr
    assert "Built the agent" in place.run("doctor", "--build-agent", python).stdout
    assert place.script(python).calls == (100, 100)


def test_a_program_that_starts_one_without_agent(place):
    """Nobody could know before: it runs to its end, untraced, and that is said and seen in the status; the program's own wins."""
    python = require("3.13").exe
    r = place.trace("--", "sh", "-c", f"{python} -c 'print(42)'; exit $1", "sh", "0")
    assert r.returncode == 1 and "42" in r.stdout
    assert f"no agent for cp313: leadline doctor --build-agent {python} builds one" in r.stderr
    assert "ended before its first" not in r.stderr
    r = place.trace("--", "sh", "-c", f"{python} -c 'print(42)'; exit $1", "sh", "3")
    assert r.returncode == 3


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
    missing = f"{python} has no headers (/nowhere/Python.h): install its development package, such as python3.13-dev"
    r = place.run("doctor", "--build-agent", python)
    assert r.returncode == 7
    assert r.stderr.startswith(f"leadline: doctor: {missing}"), r.stderr
    r = place.script(python)
    assert r.returncode == 1 and not (tmp_path / "x.lead").exists()
    first, second = r.stderr.splitlines()
    assert first.endswith("(--python)")
    assert second == f"leadline: run: cannot trace CPython 3.13.9: leadline has no agent for it and cannot build one: {missing}"


def test_without_a_compiler(place, tmp_path):
    python = require("3.13").exe
    r = place.run("doctor", "--build-agent", python, PATH=str(tmp_path))
    assert r.returncode == 7 and "there is no C compiler (cc, gcc, clang)" in r.stderr
    r = place.run("doctor", "--build-agent", python, CC=shutil.which("false"))
    assert r.returncode == 7 and "cannot build the agent" in r.stderr
    r = place.script(python, PATH=str(tmp_path))
    assert r.returncode == 1 and "cannot trace CPython 3.13" in r.stderr and "there is no C compiler (cc, gcc, clang)" in r.stderr
    r = place.script(python, CC=shutil.which("false"))
    assert r.returncode == 1 and "once: failed\n" in r.stderr and "cannot build the agent" in r.stderr
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
