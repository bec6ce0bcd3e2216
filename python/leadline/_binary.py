"""Finds the leadline executable that belongs to this package, and its version.

In this order: the script installed together with this package, the executable whose run lent it to a program, $LEADLINE_BINARY,
the PATH, and for a checkout what its build has made. Nothing is run to find out.
"""

import os
import re
import shutil
import sysconfig
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Iterator, NoReturn, Optional

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent.parent  # python/leadline is two folders below it; so it is in the directory of a run
NAME = "leadline"


class BinaryNotFound(FileNotFoundError):
    """There is no leadline executable in any of the places; the message names them."""


def find_binary() -> str:
    """The path of the executable. Raises BinaryNotFound."""
    for path in _candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    if _is_without_tool(_own_distribution()):
        raise BinaryNotFound(what_runs_where())
    raise BinaryNotFound(
        "there is no leadline executable beside this package, in LEADLINE_BINARY, or on the PATH; "
        "install it with 'pip install --force-reinstall leadline'"
    )


def what_runs_where() -> str:
    """One line for machines that the wheel with the tool is not for."""
    import platform

    system, machine = platform.system(), platform.machine()
    here = f"{'macOS' if system == 'Darwin' else system} on {machine}"
    if (system, machine) == ("Linux", "x86_64") and platform.libc_ver()[0] == "glibc":
        return "this is the package without the tool, which runs here: upgrade pip, then 'pip install --force-reinstall leadline'"
    if system == "Linux":
        here += f", {platform.libc_ver()[0] or 'without glibc'}"
    return f"the tool runs on Linux on x86-64 with glibc 2.17 or later; here ({here}) programs can import leadline, but nothing is recorded"


def say_what_runs_where() -> NoReturn:
    """The command of the wheel without the tool; 127 as env(1) has it."""
    import sys

    print(f"leadline: {what_runs_where()}", file=sys.stderr)
    sys.exit(127)


def version() -> str:
    """Of the installed package; of a checkout what meson.build says; else 'unknown'."""
    installed = _own_distribution()
    if installed is not None:
        return installed.version
    try:
        return (CHECKOUT / "version").read_text(encoding="utf-8")
    except OSError:
        pass
    try:
        text = (CHECKOUT / "meson.build").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    found = re.search(r"^\s*version: '([^']+)'", text, re.MULTILINE)
    return found.group(1) if found else "unknown"


def _candidates() -> Iterator[Path]:
    installed = _own_distribution()
    is_without_tool = _is_without_tool(installed)
    if installed is not None and not is_without_tool:
        yield from _installed_scripts(installed)
    yield CHECKOUT / NAME
    named = os.environ.get("LEADLINE_BINARY")
    if named:
        yield Path(named)
    on_path = None if is_without_tool else shutil.which(NAME)  # else it would be the command that only says so
    if on_path:
        yield Path(on_path)
    if (CHECKOUT / "meson.build").is_file():
        yield CHECKOUT / "build" / NAME


def _own_distribution() -> Optional[Distribution]:
    """The installation this package is part of; None for a checkout, even beside an installed one."""
    try:
        found = distribution(NAME)
    except PackageNotFoundError:
        return None
    is_ours = Path(str(found.locate_file(NAME))).resolve() == PACKAGE
    return found if is_ours else None


def _is_without_tool(installed: Optional[Distribution]) -> bool:
    """Whether it came from the wheel for machines that the tool does not run on, whose command is only a script."""
    return installed is not None and "Root-Is-Purelib: true" in (installed.read_text("WHEEL") or "")


def _installed_scripts(installed: Distribution) -> Iterator[Path]:
    """Where an installer may have put the script: as it wrote down, else where it usually goes."""
    for file in installed.files or ():
        if file.name == NAME and file.parent.name == "bin":
            yield Path(str(installed.locate_file(file)))
    yield PACKAGE.parent / "bin" / NAME  # pip install --target moves files and keeps its old notes
    for scripts in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")):
        yield Path(scripts) / NAME
