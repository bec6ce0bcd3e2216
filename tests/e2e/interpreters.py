"""The CPython interpreters that tools/interpreters has put into the cache.

This only reads what that script wrote; it makes and looks for nothing itself.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

# What the tests run against, in the order to report it in.
EXPECTED = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.15")


@dataclass(frozen=True)
class Interpreter:
    """One interpreter: a line of pythons.tsv."""

    label: str  # of EXPECTED
    root: str  # "/", or the folder to chroot into (as root)
    exe: str  # its path as seen inside root
    version: str  # in full, such as "3.13.5"

    @property
    def free_threaded(self) -> bool:
        """Whether it is a build without the GIL."""
        return self.label.endswith("t")

    def command(self, *args: str) -> list[str]:
        """The command line that runs it with these arguments.

        Paths among the arguments must be paths inside root.
        """
        prefix = [] if self.root == "/" else ["chroot", self.root]
        return [*prefix, self.exe, *args]


def cache() -> Path:
    """The cache folder, chosen as tools/interpreters chooses it."""
    if os.environ.get("LEADLINE_CACHE"):
        return Path(os.environ["LEADLINE_CACHE"])
    if os.geteuid() == 0:
        return Path("/var/cache/leadline")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadline"


def load() -> dict[str, Interpreter]:
    """What there is, by label; empty where tools/interpreters has not run."""
    try:
        lines = (cache() / "pythons.tsv").read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {line.split("\t")[0]: Interpreter(*line.split("\t")) for line in lines}


def require(label: str) -> Interpreter:
    """The interpreter of that label, without which a test fails; or the one with that path, for benchmarks.

    With LEADLINE_PYTHONS=available in the environment it is skipped instead.
    """
    if "/" in label:
        return at_path(label)
    found = load().get(label)
    return found if found is not None else missing(f"python {label} is missing: run tools/interpreters")


@functools.lru_cache(maxsize=None)
def at_path(path: str) -> Interpreter:
    """One that nobody has put into the cache."""
    try:
        version = subprocess.run([path, "-c", "import platform; print(platform.python_version())"],
                                 capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError) as e:
        raise LookupError(f"{path} is no Python that runs: {e}") from e
    if not version:
        raise LookupError(f"{path} is no Python: it does not tell its version")
    return Interpreter(path, "/", path, version)


def missing(reason: str):
    """What a test needs is not there."""
    if os.environ.get("LEADLINE_PYTHONS") == "available":
        pytest.skip(reason)
    raise LookupError(reason)


def newer_torch() -> Interpreter:
    """The interpreter with the PyTorch of tools/torch, newer than ours; required as interpreters are, where there is a root to hold it."""
    found = load().get("3.14")
    if found is None or found.root == "/":
        pytest.skip("a newer PyTorch needs Debian's root for Python 3.14: tools/interpreters makes it for root")
    own = replace(found, exe="/opt/torch/python")
    return own if os.access(own.root + own.exe, os.X_OK) else missing("the newer PyTorch is missing: run tools/torch")


@contextlib.contextmanager
def inside(label, script, *beside):
    """The script's path as the interpreter sees it: copied where that has a root of its own, with the files it needs
    beside it."""
    root = require(label).root
    if root == "/":
        yield script
        return
    with tempfile.TemporaryDirectory(dir=Path(root) / "tmp") as folder:
        os.chmod(folder, 0o755)
        for file in (script, *beside):
            shutil.copy(file, folder)
        yield Path("/tmp") / Path(folder).name / Path(script).name


def shared_folder(label):
    """A folder for temporary files that has the same path inside the interpreter's root and outside. Nobody but its owner can
    write there, so that leadline makes its own in it (docs/SESSION.md)."""
    root = Path(require(label).root)
    if str(root) == "/":
        return tempfile.gettempdir()
    link = root / str(root).lstrip("/")
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            link.symlink_to("/")
    return str(root / "run")
