"""The Python package in programs that `run` starts: found in any environment, its regions in the run's own recording."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from interpreters import EXPECTED, require, shared_folder

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
SECONDS = 60

PROGRAM = """
import os, signal, subprocess, sys
import leadline

def load():
    with leadline.region("load"):
        return sum(range(1000))

@leadline.region("step two")
def step():
    return 1

for i in range(5):
    load()
    step()
if sys.argv[1] == "all":
    child = os.fork()
    if child == 0:
        with leadline.region("in the child"):
            pass
        os._exit(0)
    os.waitpid(child, 0)
    subprocess.run([sys.executable, __file__, "few"], check=True)
    print(leadline.__file__, leadline.__version__, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(label, source, *options, arguments=("all",), env=(), beside=()):
    """What the program printed, and the report on its recording."""
    with tempfile.TemporaryDirectory(dir=shared_folder(label)) as folder, tempfile.TemporaryDirectory() as own:
        os.chmod(folder, 0o755)
        script = Path(folder) / "program.py"
        script.write_text(source)
        for name, text in beside:
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(text)
        result = subprocess.run(
            [LEADLINE, "run", "-o", f"{own}/x.lead", *options, "--", *require(label).command(str(script), *arguments)],
            env={**os.environ, "TMPDIR": shared_folder(label), **dict(env)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=SECONDS)
        report = subprocess.run([LEADLINE, "report", f"{own}/x.lead", "--json"], check=True, stdout=subprocess.PIPE, timeout=SECONDS)
        return result, json.loads(report.stdout)


@pytest.mark.parametrize("label", EXPECTED)
@pytest.mark.parametrize("how", ((), ("--trace",), ("--lines=load",)))
def test_regions(label, how):
    """Of the program, of a forked child and of one it starts; it is killed in the end, and none is lost."""
    result, report = run(label, PROGRAM, *how)
    assert result.returncode == 128 + 9, result.stderr
    assert {r["name"]: r["times"] for r in report["regions"]} == {"load": 10, "step two": 10, "in the child": 1}
    assert "package/leadline" in result.stdout and "unknown" not in result.stdout


def test_installed_one_wins():
    result, _ = run("3.12", "import leadline\nprint(leadline.it_is)\n", "--trace", env=(("PYTHONPATH", str(ROOT / "nowhere")),),
                    beside=(("leadline/__init__.py", "it_is = 'the other one'\n"),))
    assert result.returncode == 0 and result.stdout == "the other one\n"


def test_no_trace_of_it_otherwise():
    """A sampled program that does not ask for the package finds its environment as it was."""
    source = "import os, sys\nprint(os.environ.get('PYTHONPATH'), [str(m) for m in sys.meta_path if '_Package' in str(m)], 'sitecustomize' in sys.modules)\n"
    plain = subprocess.run([require("3.12").exe, "-c", source], stdout=subprocess.PIPE, text=True, check=True, timeout=SECONDS)
    result, _ = run("3.12", source)
    assert result.stdout == plain.stdout


def test_its_own_recorders_work():
    """sample() and trace() find the executable that runs the program."""
    source = """
import leadline
def work():
    return sum(i * i for i in range(200000))
with leadline.trace() as t:
    work()
print(t.stats.stats[next(k for k in t.stats.stats if k[2] == "work")][0])
print(leadline.find_binary())
"""
    result, _ = run("3.12", source, env=(("PATH", "/nowhere"),))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[0] == "1" and result.stdout.split()[1].endswith("/leadline")
