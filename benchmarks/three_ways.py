"""One program counted, sampled and traced: what each costs, for the guide.

    python benchmarks/three_ways.py [--rounds N]      prints the table, and writes it into docs/guide/count-sample-trace.md

library.py runs plain and under each of them, in turn, with 3.13; the best of each counts, in CPU time as the program itself
measures it. Memory is the most the program had resident, beyond what it has without us.
"""
import argparse
import os
import re
import subprocess
import tempfile

from in_turn import HERE, best, interpreters, ours

LABEL = "3.13"
WAYS = {"run": [], "run --trace": ["--trace"], "run --count": ["--count"], "run --count=lines,opcodes": ["--count=lines,opcodes"], "run --lines=count": ["--lines=count"]}
CHAPTER = HERE.parent / "docs" / "guide" / "count-sample-trace.md"
MARKS = "<!-- benchmarks/three_ways.py writes what follows -->", "<!-- up to here -->"


def resident_mb(command, env):
    """The most that the program itself (the last of the processes to end below us) had resident."""
    with tempfile.NamedTemporaryFile() as said:
        subprocess.run([*command[:-2], "/usr/bin/time", "-f", "%M", "-o", said.name, *command[-2:]], env=env, check=True, capture_output=True)
        return int(said.read().split()[-1]) / 1024


def measure(rounds):
    command = interpreters.require(LABEL).command(str(HERE / "library.py"))
    with tempfile.TemporaryDirectory() as own:
        recording, n_bytes = f"{own}/x.lead", {}
        commands = {"plain": command, **{name: [*ours(recording, *options), *command] for name, options in WAYS.items()}}

        def look(name):
            n_bytes[name] = os.path.getsize(recording) if name != "plain" else 0

        least = best(commands, rounds, recording, lambda name: os.environ, look)
        memory = {}
        for name in commands:
            if os.path.exists(recording):
                os.unlink(recording)
            memory[name] = resident_mb(commands[name], os.environ)
    return least, n_bytes, memory


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    least, n_bytes, memory = measure(parser.parse_args().rounds)
    rows = [f"| `{name}` | {least[name] / least['plain']:.2f} × | {n_bytes[name] / 1000:.0f} kB | {max(memory[name] - memory['plain'], 0):.1f} MB |" for name in WAYS]
    table = "\n".join(["| | it takes | recording | more memory |", "|---|--:|--:|--:|", *rows])
    print(table)
    text = CHAPTER.read_text()
    begin, end = map(re.escape, MARKS)
    CHAPTER.write_text(re.sub(f"({begin}\n).*?({end})", lambda m: f"{m[1]}{table}\n{m[2]}", text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
