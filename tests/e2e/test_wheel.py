"""The wheel: one file for every interpreter, with a really static executable on the PATH; and the one for other machines.

They are built once, from a copy of what git would commit, so build folders of the checkout do not matter. With
LEADLINE_WHEELS=FOLDER in the environment those of that folder are tested instead. test_wheel_installed.py does what people do with it.
"""

import base64
import csv
import fcntl
import hashlib
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

from interpreters import EXPECTED, require

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
def wheels(tmp_path_factory):
    """The folder that has both; all workers of pytest-xdist share it."""
    if os.environ.get("LEADLINE_WHEELS"):
        return Path(os.environ["LEADLINE_WHEELS"])
    pytest.importorskip("mesonpy", reason="needs meson-python: run tools/setup test")
    own = tmp_path_factory.getbasetemp()
    made = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "wheels"
    with open(made.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            build(tmp_path_factory.mktemp("source"), made.with_suffix(".new"))
            made.with_suffix(".new").rename(made)
    return made


def build(source, made):
    listed = must_run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT)
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, source / name)
    (source / "ui" / "node_modules").symlink_to(CHECKOUT / "ui" / "node_modules")
    must_run(sys.executable, "tools/wheel.py", made, cwd=source)


@pytest.fixture(scope="session")
def wheel(wheels):
    (built,) = wheels.glob("leadline-*linux*.whl")
    return built


@pytest.fixture(scope="session")
def pure_wheel(wheels):
    (built,) = wheels.glob("leadline-*-any.whl")
    return built


@pytest.fixture(scope="session")
def executable(wheel):
    """The bytes of the script called leadline, and its mode."""
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = [e for e in archive.infolist() if e.filename.endswith(".data/scripts/leadline")]
        return archive.read(entry), entry.external_attr >> 16


def test_serves_every_python_3_on_every_linux_since_2014(wheel):
    machine = os.uname().machine
    tags = f"py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}"
    assert wheel.name == f"leadline-{project_version()}-{tags}.whl"
    with zipfile.ZipFile(wheel) as archive:
        (text,) = [archive.read(n).decode() for n in archive.namelist() if n.endswith(".dist-info/WHEEL")]
    assert re.findall(r"^Tag: (.*)$", text, re.MULTILINE) == [f"py3-none-{name}" for name in tags.split("-")[2].split(".")]


def test_files_are_small(wheel, pure_wheel):
    assert wheel.stat().st_size <= 4_000_000 and pure_wheel.stat().st_size <= 100_000


def test_lists_what_it_holds(wheel, pure_wheel):
    for path in (wheel, pure_wheel):
        with zipfile.ZipFile(path) as archive:
            (record,) = [n for n in archive.namelist() if n.endswith(".dist-info/RECORD")]
            listed = {name: (digest, size) for name, digest, size in csv.reader(archive.read(record).decode().splitlines())}
            assert set(listed) == set(archive.namelist()) and len(archive.namelist()) == len(set(archive.namelist()))
            for name, (digest, size) in listed.items():
                data = archive.read(name)
                ours = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert name == record or (digest, int(size)) == (f"sha256={ours}", len(data))


def test_every_interpreter_of_the_matrix_has_its_agent(executable):
    image, _ = executable
    found = {name.decode() for name in re.findall(rb"agents/(cp3\d+t?)\.so\0", image)}
    assert found >= {"cp" + label.replace(".", "") for label in EXPECTED}


def test_the_matrix_is_the_same_for_tools_and_tests():
    assert tuple(must_run(CHECKOUT / "tools" / "interpreters", "--labels").stdout.split()) == EXPECTED


def test_a_version_without_an_agent_is_named(tmp_path):
    bare = environment(LEADLINE_CACHE=str(tmp_path), HOME=str(tmp_path), PYENV_ROOT=str(tmp_path))
    here = {line.split()[0] for line in must_run(CHECKOUT / "tools" / "agent_headers", env=bare).stdout.splitlines()}
    missing = [label for label in EXPECTED if "cp" + label.replace(".", "") not in here]
    done = run(sys.executable, CHECKOUT / "tools" / "wheel.py", tmp_path / "made", env=bare)
    assert missing and done.returncode == 1 and not (tmp_path / "made").exists()
    assert done.stderr == f"make wheel: no agent for CPython {', '.join(missing)}: no headers of it are here; run tools/setup test\n"


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


# ---- the wheel for machines that the tool does not run on


@pytest.fixture(scope="session")
def elsewhere(pure_wheel, tmp_path_factory):
    """An environment with it. That this machine is another kind of machine is told to the interpreter, which is all that can be done here."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    must_run(*require("3.8").command(), "-m", "venv", folder)
    must_run(folder / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", pure_wheel)
    (site,) = folder.glob("lib/python3.8/site-packages")
    (site / "machine.pth").write_text("import os, platform; os.environ.get('MACHINE') and vars(platform).update("
                                      "system=lambda: os.environ['MACHINE'].split()[0], machine=lambda: os.environ['MACHINE'].split()[1])\n")
    return Installed(folder)


MAC = "the tool runs on Linux on x86-64 with glibc 2.17 or later; here (macOS on arm64) programs can import leadline, but nothing is recorded"


@pytest.mark.parametrize("command", [["leadline", "run", "x.py"], ["leadline"], ["python", "-m", "leadline", "run", "x.py"]])
def test_elsewhere_the_command_says_what_runs_where(elsewhere, command):
    done = run(elsewhere.folder / "bin" / command[0], *command[1:], env={**elsewhere.environment(), "MACHINE": "Darwin arm64"})
    assert (done.returncode, done.stdout, done.stderr) == (127, "", f"leadline: {MAC}\n")


def test_elsewhere_a_program_still_runs(elsewhere):
    code = """
import leadline
with leadline.region("load"):
    pass
leadline.torch.step(samples=3)
try:
    with leadline.trace(): pass
except leadline.BinaryNotFound as error:
    print(error)
"""
    done = run(elsewhere.python, "-c", code, env={**elsewhere.environment(), "MACHINE": "Darwin arm64"})
    assert (done.returncode, done.stdout) == (0, MAC + "\n"), done.stderr


@pytest.mark.parametrize("machine, begins", [("Linux aarch64", "the tool runs on Linux on x86-64"), ("Windows AMD64", "the tool runs on Linux"),
                                             ("Linux x86_64", "this is the package without the tool, which runs here: upgrade pip")])
def test_elsewhere_names_the_machine(elsewhere, machine, begins):
    done = run(elsewhere.folder / "bin" / "leadline", env={**elsewhere.environment(), "MACHINE": machine})
    assert done.stderr.startswith(f"leadline: {begins}") and done.stderr.count("\n") == 1
    assert machine == "Linux x86_64" or f"here ({machine.replace(' ', ' on ')}" in done.stderr


# ---- make install


def test_make_install(tmp_path):
    said = must_run("make", "--no-print-directory", "install", "PREFIX=/opt/leadline", f"DESTDIR={tmp_path}", cwd=CHECKOUT).stdout
    made = tmp_path / "opt" / "leadline" / "bin" / "leadline"
    assert said.splitlines()[-1] == str(made)
    assert must_run(made, "--version").stdout == f"leadline {project_version()}\n"
    assert {path.name for path in (tmp_path / "opt" / "leadline").iterdir()} == {"bin", "share"}


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
