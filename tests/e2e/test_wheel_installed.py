"""What people do with the wheel, where they do it: in a fresh environment of each interpreter and in clean roots of Debian, as
an ordinary user, with nothing on the PATH but the environment (so without a compiler).

Debian sid is the root that 3.14 and 3.15 are in; bullseye and bookworm have its own interpreters of their time. The roots have no
/proc of their own; each command gets one in a mount namespace that ends with it.
"""
import contextlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from consumers import data
from interpreters import EXPECTED, cache, missing, newer_torch, require
from test_wheel import wheel, wheels  # noqa: F401 (fixtures)
from users import ALICE, needs_root, open_folder, run_as

pytestmark = needs_root
DEBIAN = {"bullseye": "3.9", "bookworm": "3.11"}  # suite and its interpreter
ENTER = 'mount --rbind /proc "$1/proc" && mount --bind "$2" "$1$3/shell" && exec chroot --userspec="$4:$4" "$1" env -C "$3" "${@:5}"'

WORK = """
import sys, time

def leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total

def busy():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        leaf(1000)

def counted():
    for k in range(250):
        leaf(3)

counted() if "counted" in sys.argv else busy()
"""
BENCHMARKS = """
def test_fast(benchmark):
    assert benchmark(sum, [1, 2]) == 3
"""
MAGICS = r"""
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in ["%load_ext leadline", "def leaf(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n",
             "%leadtrace -o calls.lead [leaf(3) for k in range(25)]", "%leadlines -f leaf leaf(7)", "%lead leaf(3000000)"]:
    shell.run_cell(cell, store_history=True).raise_error()
"""
TORCH = """
import torch, leadline
with leadline.torch.profile() as prof:
    torch.ones(8, 8) @ torch.ones(8, 8)
print(prof.key_averages().table(sort_by="cpu_time_total"))
"""


@dataclass(frozen=True)
class Place:
    """An environment of the ordinary user's that holds the wheel."""

    label: str  # of the interpreter
    root: Path  # "/", or a Debian root
    folder: Path  # the user's own, as seen in the root

    def run(self, *command, **environment):
        """As that user, there. What is named without a folder is of the environment."""
        own = {"PATH": f"{self.folder}/venv/bin", "HOME": str(self.folder), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **environment}
        if self.root == Path("/"):
            return run_as(ALICE, *command, environment=own, cwd=self.folder, timeout=120)
        entered = ["unshare", "--mount", "bash", "-c", ENTER, "bash", self.root, shells(self.label), self.folder, ALICE]
        return run_as(0, *entered, "env", "-i", *(f"{name}={value}" for name, value in own.items()), *command, environment={"PATH": os.environ["PATH"]}, timeout=120)

    def must_run(self, *command, **environment):
        done = self.run(*command, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def path(self, name):
        return self.root / str(self.folder / name).lstrip("/")

    @property
    def shell(self):
        """Where pytest and IPython for it are, as seen in the root."""
        return str(shells(self.label) if self.root == Path("/") else self.folder / "shell")


def shells(label):
    return data(f"shells/{label}")


def interpreter(name):
    """The label, the root and the executable in it."""
    if name not in DEBIAN:
        found = require(name)
        return name, Path(found.root), found.exe
    root = cache() / "roots" / name
    return DEBIAN[name], root, "/usr/bin/python3" if (root / "usr/bin/python3").exists() else missing(f"no root of Debian {name}: run tools/interpreters")


@pytest.fixture(scope="module", params=[*EXPECTED, *DEBIAN])
def place(request, wheel):  # noqa: F811
    label, root, exe = interpreter(request.param)
    with contextlib.ExitStack() as ended:
        folder = ended.enter_context(open_folder(ALICE))
        if root != Path("/"):
            inside = root / str(folder).lstrip("/")
            inside.mkdir()
            ended.callback(shutil.rmtree, inside, ignore_errors=True)
            os.chown(inside, ALICE, ALICE)
        made = Place(label, root, folder)
        made.path("shell").mkdir()
        shutil.copy(wheel, made.path(wheel.name))
        for name, text in (("work.py", WORK), ("test_fast.py", BENCHMARKS), ("magics.py", MAGICS), ("multiply.py", TORCH)):
            made.path(name).write_text(text)
        made.must_run(exe, "-m", "venv", "venv")
        made.must_run("venv/bin/python", "-m", "pip", "install", "--no-index", wheel.name)
        yield made


def test_samples(place):
    place.must_run("leadline", "run", "-o", "s.lead", "work.py")
    said = place.must_run("leadline", "report", "s.lead")
    assert re.search(r"^ *\d.*\bleaf +.*work\.py:4\b", said, re.MULTILINE), said


def test_traces(place):
    place.must_run("leadline", "run", "--trace", "-o", "t.lead", "work.py", "counted")
    said = place.must_run("leadline", "report", "t.lead")
    assert re.search(r"^ +250 .*work\.py:4\(leaf\)$", said, re.MULTILINE), said


def test_counts_lines(place):
    said = place.must_run("leadline", "lines", "-v", "-p", "leaf", "work.py", "counted")
    assert re.search(r"^ *7 +750\b.*total \+= i$", said, re.MULTILINE), said


def test_pytest_has_the_plugin(place):
    said = place.must_run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_fast.py", PYTHONPATH=place.shell)
    assert "test_fast" in said and "1 passed" in said, said


def test_magics(place):
    said = place.must_run("python", "magics.py", PYTHONPATH=place.shell, IPYTHONDIR=str(place.folder / "ipython"))
    assert re.search(r"^ +25 .*leaf\)", said, re.MULTILINE), said  # %leadtrace
    assert re.search(r"^ *4 +7\b.*total \+= i$", said, re.MULTILINE), said  # %leadlines
    assert re.search(r"\d %.*\bleaf\b", said), said  # %lead


def test_torch(place):
    paths = {}
    if place.label == "3.11" and place.root == Path("/"):
        torch = cache() / "venv" / "lib" / "python3.11" / "site-packages"
        paths = {"PYTHONPATH": str(torch)} if (torch / "torch").is_dir() else {}
    elif place.label == "3.14":
        paths = dict(re.findall(r"(LD_LIBRARY_PATH|PYTHONPATH)=([^$ \n]+)", (Path(newer_torch().root) / "opt/torch/python").read_text()))
    done = place.run("python", "multiply.py", **paths)
    if paths:
        assert done.returncode == 0 and "aten::mm" in done.stdout, done.stdout + done.stderr
    else:
        assert place.must_run("python", "-c", "import leadline.torch; leadline.torch.step(samples=1)") == ""
        said = place.run("python", "-c", "import leadline; leadline.torch.profile()").stderr.splitlines()[-1]
        assert said.startswith("leadline._host.Error: there is no torch in this environment"), said


def test_wheel_is_typed(place):
    assert place.must_run("python", "-c", "import leadline, os; print(os.path.exists(os.path.dirname(leadline.__file__) + '/py.typed'))") == "True\n"
