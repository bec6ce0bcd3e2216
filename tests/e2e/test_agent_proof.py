"""An agent refuses an interpreter whose structs lie otherwise than in the headers it was built with, and nothing is followed that is wrong."""

import shutil
from pathlib import Path

import pytest
from interpreters import require
from test_build_agent import Place

# Of each version: what is put before what, in which header, and what the agent then finds out of place.
CHANGES = [
    ("3.9", "cpython/code.h", "int co_flags;", "int other[2];", "co_"),
    ("3.9", "cpython/frameobject.h", "struct _frame *f_back;", "void *other;", "frame"),
    ("3.11", "internal/pycore_frame.h", "PyObject *localsplus[1];", "void *other;", "frame"),
    ("3.12", "cpython/pystate.h", "_PyCFrame *cframe;", "void *other;", "a thread's dict"),
    ("3.13", "internal/pycore_frame.h", "struct _PyInterpreterFrame *previous;", "void *other;", "frame"),
]


class Other(Place):
    """An interpreter that says its headers are elsewhere."""

    def __init__(self, label, folder):
        super().__init__("cp" + label.replace(".", ""), folder)
        real = require(label)
        self.real = real.exe
        self.include = folder / "include"
        shutil.copytree(Path(real.exe).parents[1] / "include" / f"python{label}", self.include)
        self.python = folder / "python"
        minor = label.split(".")[1]
        answer = rf"cpython\t3\t{minor}\t{real.version}\t-\t1\t{self.include}\n"
        self.python.write_text(f'#!/bin/sh\ncase "$*" in *sysconfig*) printf \'{answer}\' >&2;; *) exec {real.exe} "$@";; esac\n')
        self.python.chmod(0o755)

    def change(self, header, old, new):
        file = self.include / header
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))


@pytest.mark.parametrize(("label", "header", "before", "put", "found"), CHANGES)
def test_other_headers_are_refused(label, header, before, put, found, tmp_path):
    other = Other(label, tmp_path)
    other.change(header, before, f"{put} {before}")
    r = other.run("doctor", "--build-agent", other.python)
    assert r.returncode == 6, r.stderr
    assert "built with the headers of CPython" in r.stderr and "does not fit this interpreter" in r.stderr and found in r.stderr
    assert not list(tmp_path.glob("cache/leadline/agents/*/*.so"))


def test_another_patch_release_fits(tmp_path):
    other = Other("3.12", tmp_path)
    other.change("patchlevel.h", "#define PY_MICRO_VERSION        1", "#define PY_MICRO_VERSION        9")
    r = other.run("doctor", "--build-agent", other.python)
    assert r.returncode == 0, r.stderr


def test_a_pre_release_fits_itself_alone(tmp_path):
    other = Other("3.12", tmp_path)
    other.change("patchlevel.h", "PY_RELEASE_LEVEL        PY_RELEASE_LEVEL_FINAL", "PY_RELEASE_LEVEL        PY_RELEASE_LEVEL_ALPHA")
    r = other.run("doctor", "--build-agent", other.python)
    assert r.returncode == 6 and "a pre-release" in r.stderr
