"""Commands run in turn, round after round, the best of each: what tracing.py, lines.py, times.py and three_ways.py have in common."""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "e2e"))
import interpreters  # noqa: E402, F401

LEADLINE = HERE.parent / "build" / "leadline"
NODES = HERE.parent / "build" / "tests" / "nodes"


def recorded(recording):
    """What is in a recording, as tests/targets/nodes.c prints it."""
    return json.loads(subprocess.run([NODES, recording], stdout=subprocess.PIPE, check=True).stdout)


def ours(recording, *options):
    """The beginning of a command line that records and says nothing."""
    return [LEADLINE, "run", *options, "--report=/dev/null", "-o", recording, "--"]


def seconds(command, env):
    """What the program itself says: T and the seconds."""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return float(re.search(r"^T ([0-9.]+)$", done.stdout + done.stderr, re.MULTILINE).group(1))


def best(commands, rounds, recording, env, look=lambda name: None):
    """{name: least seconds}. env: of each command, by name. look(name) is called after each run, while its recording is there."""
    least = {}
    for _ in range(rounds):
        for name, command in commands.items():
            if os.path.exists(recording):
                os.unlink(recording)
            least[name] = min(least.get(name, 1e9), seconds(command, env(name)))
            look(name)
    return least
