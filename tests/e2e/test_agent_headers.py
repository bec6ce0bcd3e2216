"""tools/agent_headers: which agents `make build` makes, by the headers that are on the machine alone."""

import os
import subprocess
from pathlib import Path

import pytest
from users import BOB, needs_root

TOOL = Path(__file__).resolve().parents[2] / "tools" / "agent_headers"
SECONDS = 60


class Machine:
    """A home with interpreters in it, and no cache."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.ran = folder / "ran"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LEADLINE_CACHE": str(folder / "cache")}
        (folder / "cache").mkdir()

    def install(self, prefix, version, said=None):
        """What `make install` lays into a prefix, as far as it matters; the interpreter tells when it is run. Returns the folder of headers."""
        include = prefix / "include" / f"python{version}"
        (include / "internal").mkdir(parents=True)
        minor = (said or version).rstrip("t").split(".")[1]
        for name in ("Python.h", "pyconfig.h", "internal/pycore_pystate.h"):
            (include / name).write_text("")
        (include / "patchlevel.h").write_text(f"#define PY_MAJOR_VERSION        3\n#define PY_MINOR_VERSION        {minor}\n")
        python = prefix / "bin" / "python3"
        python.parent.mkdir()
        python.write_text(f"#!/bin/sh\ntouch {self.ran}\n")
        python.chmod(0o755)
        return include

    def found(self, **env):
        """Folders of headers by tag."""
        r = subprocess.run([TOOL], env={**self.env, **env}, capture_output=True, text=True, check=True, timeout=SECONDS)
        assert not self.ran.exists()
        return {line.split()[0]: line.split()[1].removeprefix("-isystem") for line in r.stdout.splitlines()}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("place", "version", "tag"),
    [
        (".pyenv/versions/3.12.9", "3.12", "cp312"),
        (".local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu", "3.13", "cp313"),
        (".local/share/uv/python/cpython-3.14.0+freethreaded-linux-x86_64-gnu", "3.14t", "cp314t"),
        ("miniconda3", "3.12", "cp312"),
        ("miniforge3/envs/work", "3.10", "cp310"),
        (".local/share/mise/installs/python/3.9.1", "3.9", "cp39"),
    ],
)
def test_headers_are_found_where_people_keep_interpreters(place, version, tag, machine):
    include = machine.install(machine.home / place, version)
    assert machine.found()[tag] == str(include)


def test_the_base_of_the_active_environment(machine, tmp_path):
    include = machine.install(tmp_path / "base", "3.12")
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / "pyvenv.cfg").write_text(f"home = {tmp_path}/base/bin\nversion = 3.12.1\n")
    assert machine.found().get("cp312") != str(include)
    assert machine.found(VIRTUAL_ENV=str(venv))["cp312"] == str(include)
    assert machine.found(CONDA_PREFIX=str(tmp_path / "base"))["cp312"] == str(include)


@pytest.mark.parametrize(("version", "said"), [("3.7", None), ("3.16", None), ("3.13d", "3.13"), ("3.12", "3.13")])
def test_headers_of_what_is_not_known_or_not_what_it_says(version, said, machine):
    include = machine.install(machine.home / ".pyenv/versions/other", version, said)
    assert str(include) not in machine.found().values()


@needs_root
@pytest.mark.parametrize("what", ["", "Python.h"])
def test_headers_that_others_could_have_written_are_left_alone(what, machine):
    include = machine.install(machine.home / ".pyenv/versions/3.12.9", "3.12")
    assert machine.found()["cp312"] == str(include)
    os.chown(include / what, BOB, BOB)
    assert machine.found().get("cp312") != str(include)
    os.chown(include / what, 0, 0)
    (include / what).chmod(0o777)
    assert machine.found().get("cp312") != str(include)
