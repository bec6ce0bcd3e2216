"""The wheel: one file for every interpreter, with a really static executable on the PATH.

It is built once, from a copy of what git would commit, so build folders of the checkout do not matter.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from interpreters import require

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "python" / "leadline"
SECONDS = 900
PT_DYNAMIC, PT_INTERP = 2, 3


def environment(**changes):
    """Ours, without what would lead to another leadline."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LEADLINE", "PYTHON", "VIRTUAL_ENV"))}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **changes}


def run(*command, **options):
    """Runs it to its end; what it said is in the result and shown when a check of it fails."""
    options.setdefault("env", environment())
    return subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        **options,
    )


def must_run(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def project_version():
    return re.search(r"^\s*version: '([^']+)'", (CHECKOUT / "meson.build").read_text(), re.MULTILINE).group(1)


# ---- what is in it


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    pytest.importorskip("mesonpy", reason="needs meson-python: run tools/setup test")
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = must_run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT)
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, source / name)
    must_run(sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation",
             "--wheel-dir", made, ".", cwd=source)
    (built,) = made.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def executable(wheel):
    """The bytes of the script called leadline, and its mode."""
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [e for e in archive.infolist() if e.filename.endswith(".data/scripts/leadline")]
        return archive.read(entry), entry.external_attr >> 16


def test_serves_every_python_3(wheel):
    assert re.fullmatch(rf"leadline-{re.escape(project_version())}-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        (tags,) = [archive.read(n).decode() for n in archive.namelist() if n.endswith(".dist-info/WHEEL")]
    assert re.findall(r"^Tag: (.*)$", tags, re.MULTILINE) == [wheel.stem.split("-", 2)[2]]


def test_nothing_is_in_platlib(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    # Files outside .data and .dist-info would go to platlib, because the wheel is not pure.
    places = {re.sub(r"^leadline-[^/]*?\.(data/[^/]*|dist-info)/.*", r"\1", name) for name in names}
    assert places == {"dist-info", "data/scripts", "data/purelib"}
    assert not [name for name in names if name.endswith((".so", ".pyd", ".a"))]


def test_whole_package_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name.split("/purelib/", 1)[1] for name in archive.namelist() if "/purelib/" in name}
    assert packed == {f"leadline/{path.name}" for path in PACKAGE.iterdir() if path.is_file()}


def test_pytest_finds_the_plugin(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (text,) = [archive.read(n).decode() for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt")]
    assert re.search(r"^\[pytest11\]\nleadline ?= ?leadline\._pytest$", text, re.MULTILINE)


def test_executable_is_static(executable):
    image, mode = executable
    assert mode & 0o111 == 0o111
    assert image[:6] == b"\x7fELF\x02\x01"  # 64 bits, little endian
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    kinds = {struct.unpack_from("<I", image, table + i * size)[0] for i in range(count)}
    assert kinds and PT_INTERP not in kinds and PT_DYNAMIC not in kinds


# ---- installed


@dataclass(frozen=True)
class Installed:
    """A fresh environment that holds the wheel and nothing else."""

    folder: Path

    @property
    def python(self):
        return self.folder / "bin" / "python"

    def environment(self):
        return environment(PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")

    def must_run(self, *command):
        return must_run(*command, env=self.environment(), cwd=self.folder)


@pytest.fixture(scope="session", params=["own", "3.8"])
def installed(request, wheel, tmp_path_factory):
    python = [sys.executable] if request.param == "own" else require(request.param).command()
    folder = tmp_path_factory.mktemp("environment") / "venv"
    must_run(*python, "-m", "venv", folder)
    must_run(folder / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    return Installed(folder)


def test_command_is_on_the_path(installed):
    assert installed.must_run("leadline", "--version").stdout == f"leadline {project_version()}\n"
    where = installed.must_run("sh", "-c", "command -v leadline").stdout.strip()
    assert where == str(installed.folder / "bin" / "leadline")


def test_command_works(installed):
    assert re.search(r"real .*user .*system ", installed.must_run("leadline", "time", "true").stderr)


def test_module_is_the_command(installed):
    by_module = installed.must_run(installed.python, "-m", "leadline", "help")
    assert by_module.stdout == installed.must_run("leadline", "help").stdout != ""
    done = run(installed.python, "-m", "leadline", "time", "sh", "-c", 'exit "$1"', "sh", "7",
               env=installed.environment())
    assert done.returncode == 7


def test_package_knows_its_executable(installed):
    code = "import leadline; print(leadline.__version__, leadline.find_binary())"
    # Neither the PATH nor LEADLINE_BINARY comes before the executable of the same installation.
    said = must_run(installed.python, "-c", code, env=environment(PATH="/usr/bin:/bin", LEADLINE_BINARY="/bin/false"))
    version, binary = said.stdout.split()
    assert version == project_version()
    assert os.path.samefile(binary, installed.folder / "bin" / "leadline")


def test_target_folder(wheel, tmp_path):
    python = require("3.8").command()
    must_run(*python, "-m", "pip", "install", "--no-index", "--no-deps", "--target", tmp_path, wheel)
    bare = environment(PATH="/usr/bin:/bin", PYTHONPATH=str(tmp_path))
    said = must_run(*python, "-c", "import leadline; print(leadline.find_binary())", env=bare, cwd="/")
    assert said.stdout.strip() == str(tmp_path / "bin" / "leadline")
    assert must_run(*python, "-m", "leadline", "--version", env=bare, cwd="/").stdout.startswith("leadline ")


# ---- not installed: the package of a checkout


@pytest.fixture
def checkout(tmp_path):
    """Only the package, and a meson.build that tells the version."""
    shutil.copytree(PACKAGE, tmp_path / "python" / "leadline", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "meson.build").write_text("project('leadline', 'c',\n  version: '9.8.7')\n")
    return tmp_path


def fake(path):
    """An executable that says where it is and what it was given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho {path} "$@"\n')
    path.chmod(0o755)
    return path


def run_module(checkout, *arguments, **changes):
    here = environment(PATH="/nowhere", PYTHONPATH=str(checkout / "python"), **changes)
    return run(sys.executable, "-m", "leadline", *arguments, env=here, cwd="/")


def test_checkout_finds_in_order(checkout):
    built = fake(checkout / "build" / "leadline")
    assert run_module(checkout, "help").stdout == f"{built} help\n"
    on_path = fake(checkout / "bin" / "leadline")
    here = environment(PATH=str(on_path.parent), PYTHONPATH=str(checkout / "python"))
    assert run(sys.executable, "-m", "leadline", "a b", env=here, cwd="/").stdout == f"{on_path} a b\n"
    named = fake(checkout / "named")
    here["LEADLINE_BINARY"] = str(named)
    assert run(sys.executable, "-m", "leadline", env=here, cwd="/").stdout == f"{named}\n"


def test_checkout_without_a_build_says_so(checkout):
    done = run_module(checkout, "help", LEADLINE_BINARY=str(checkout / "missing"))
    assert done.returncode == 127
    assert done.stderr.startswith("leadline: there is no leadline executable beside this package")
    assert done.stderr.count("\n") == 1


def test_executable_that_cannot_run_says_so(checkout):
    fake(checkout / "named").write_text("#!/no/such/interpreter\n")
    done = run_module(checkout, "help", LEADLINE_BINARY=str(checkout / "named"))
    assert done.returncode == 126
    assert done.stderr == f"leadline: cannot execute {checkout / 'named'}: No such file or directory\n"


def test_checkout_knows_its_version(checkout):
    here = environment(PYTHONPATH=str(checkout / "python"))
    code = "import leadline; print(leadline.__version__)"
    assert must_run(sys.executable, "-c", code, env=here, cwd="/").stdout == "9.8.7\n"
