"""What agents ask of the C library and the interpreter: names that are on a list, and no version of either.

The list holds what glibc 2.17 has, under the same meaning in its oldest version, which is the one that a name without version is bound to.
"""

import os
import subprocess
from pathlib import Path

import pytest
from interpreters import EXPECTED, require

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 100
KNOWN = {line for line in (Path(__file__).parent / "agent_symbols.txt").read_text().split("\n") if line and not line.startswith("#")}
KEEP = "import os, shutil, sys\nshutil.copytree(os.environ['LEADLINE_SESSION'] + '/agents', sys.argv[1])\n"


def readelf(option, file):
    r = subprocess.run(["readelf", "-W", option, file], capture_output=True, text=True, check=True, timeout=SECONDS)
    return r.stdout


def undefined(file):
    """Names, each with its version where it has one."""
    rows = [line.split() for line in readelf("--dyn-syms", file).splitlines()]
    return {" ".join(row[7:]) for row in rows if len(row) > 7 and row[6] == "UND"}


def problems(file):
    """What it asks for and should not."""
    needed = [line for line in readelf("--dynamic", file).splitlines() if "(NEEDED)" in line]
    versions = [line for line in readelf("--version-info", file).splitlines() if "Name: " in line]
    return sorted(undefined(file) - KNOWN) + needed + versions


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """The folder of those that travel in the executable, as a traced program has them."""
    folder = tmp_path_factory.mktemp("agents")
    (folder / "keep.py").write_text(KEEP)
    subprocess.run(
        [LEADLINE, "run", "--trace", "-o", folder / "x.lead", "--python", require("3.13").exe, folder / "keep.py", folder / "all"],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return folder / "all"


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """The library that samples allocations, as a program has it in LD_PRELOAD."""
    folder = tmp_path_factory.mktemp("preloaded")
    (folder / "keep.py").write_text("import os, shutil, sys\nshutil.copy(os.environ['LD_PRELOAD'].split(':')[0], sys.argv[1])\n")
    subprocess.run(
        [LEADLINE, "memory", "-o", folder / "x.lead", "--python", require("3.13").exe, folder / "keep.py", folder / "memory.so"],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return folder / "memory.so"


# What every C library has: musl, and glibc before 2.34 in programs without threads.
EVERYWHERE = {"__errno_location", "clock_gettime", "close", "connect", "getpid", "getppid", "memcpy", "memset", "memcmp", "send", "socket", "strlen", "syscall"}


def test_the_preloaded_library_keeps_no_program_from_starting(preloaded):
    """It is loaded into whatever the program starts: what is not everywhere is weak."""
    assert problems(preloaded) == []
    rows = [line.split() for line in readelf("--dyn-syms", preloaded).splitlines()]
    assert {row[7] for row in rows if len(row) > 7 and row[6] == "UND" and row[4] != "WEAK"} <= EVERYWHERE


@pytest.mark.parametrize("label", EXPECTED)
def test_agents_ask_for_what_every_supported_libc_has(label, agents):
    assert problems(agents / f"cp{label.replace('.', '')}.so") == []


def test_the_list_holds_nothing_that_nobody_asks_for(agents, preloaded):
    assert KNOWN - set().union(*(undefined(file) for file in [*agents.iterdir(), preloaded])) == set()


def test_one_built_on_the_machine_asks_for_no_more(agents, tmp_path):
    """By another way, with flags of its own: from sources that travel in the executable. It is not built where one is there that works."""
    tool = tmp_path / "leadline"
    before = LEADLINE.read_bytes()
    tool.write_bytes(before.replace(b"agents/cp313.so\0", b"agents/xx313.so\0"))
    tool.chmod(0o755)
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([tool, "doctor", "--build-agent", require("3.13").exe], env=env, check=True, capture_output=True, timeout=SECONDS)
    (built,) = tmp_path.glob("cache/leadline/agents/*/cp313.so")
    assert problems(built) == []


def test_a_list_that_lacks_a_name_is_noticed(agents):
    """The check can fail: a library that is linked as libraries usually are."""
    found = problems(Path(subprocess.check_output(["sh", "-c", "ldconfig -p | sed -n 's/.*libzstd.so.1 .*=> //p' | head -1"], text=True).strip()))
    assert any("GLIBC_" in one for one in found) and any("NEEDED" in one for one in found)
