"""When nobody listens any more the hooks come out, and the program goes on as if it had never been traced."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import require, shared_folder

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 60
HOOKS = ("--trace", "--count", "--trace=timeline", "--lines=work")

# Says how it went through a file: the tool's own output ends with the tool.
PROGRAM = """
import os, signal, sys, time

def small(n):
    return n + 1

def is_hooked():
    if not hasattr(sys, "monitoring"):
        return None
    return any(sys.monitoring.get_tool(i) == "leadline" for i in range(6))

def work(seconds):
    end = time.monotonic() + seconds
    n = 0
    while time.monotonic() < end and is_hooked():
        n = small(n)
    return sum(small(i) for i in range(1000))

def main():
    before = is_hooked()
    if sys.argv[2] == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
    total = work(40)
    with open(sys.argv[1] + ".part", "w") as out:
        print(before, is_hooked(), total, file=out)
    os.rename(sys.argv[1] + ".part", sys.argv[1])

main()
"""


@pytest.mark.parametrize("how", HOOKS)
@pytest.mark.parametrize("label", ("3.8", "3.11", "3.12", "3.13t", "3.15"))
def test_tool_killed(label, how):
    said = run(label, "kill", how)
    assert said == ("None None 500500" if label in ("3.8", "3.11") else "True False 500500")


@pytest.mark.parametrize("how", HOOKS)
def test_seen_enough(how):
    """--duration is over (long after the program has begun, also on a busy machine): it runs on without hooks."""
    assert run("3.13", "stay", how, "--duration", "2") == "True False 500500"


def run(label, end, *options):
    """What the program says when it is done, long after its tool was."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        script = Path(folder) / "program.py"
        script.write_text(PROGRAM)
        said = Path(folder) / "said"
        tool = subprocess.Popen(
            [LEADLINE, "run", "-o", f"{own}/x.lead", *options, "--", *require(label).command(str(script), str(said), end)],
            env={**os.environ, "TMPDIR": folder}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        tool.communicate(timeout=SECONDS)  # until the program, which has the pipe too, ends
        return said.read_text().strip()
