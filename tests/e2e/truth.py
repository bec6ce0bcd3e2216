"""Sampled stacks against what a program can do; for the tests and the benchmarks."""
import json
import pathlib
import subprocess

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "targets" / "pairs.py"


def parse_collapsed(text):
    """Collapsed stacks, `name (file:line)` from the root on, as {(name, …): count}."""
    stacks = {}
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        names = tuple(f.partition(" (")[0] for f in frames.split(";"))
        stacks[names] = stacks.get(names, 0) + int(count)
    return stacks


def legal_pairs(interpreter, script, *args, oracle=ORACLE):
    """Which function calls which in a run of this script, by names. Paths are those the interpreter sees."""
    command = interpreter.command(str(oracle), str(script), *args)
    r = subprocess.run(command, capture_output=True, text=True, check=True)
    return {tuple(p) for p in json.loads(r.stderr.splitlines()[-1])}


def stacks_from(stacks, name):
    """The stacks that hold this function, from it on."""
    found = {}
    for names, count in stacks.items():
        if name in names:
            rest = names[names.index(name):]
            found[rest] = found.get(rest, 0) + count
    return found


def told_parts(stacks, parts):
    """Of `flutter.py clocked`: the share of each part it measures itself, of the samples in any of them."""
    counts = dict.fromkeys(parts, 0)
    for names, count in stacks_from(stacks, "clocked").items():
        # Recursions are measured by what runs, the other two with all they call.
        part = next((n for n in ("tojson", "regex") if n in names), names[-1])
        counts[part] = counts.get(part, 0) + count
    total = sum(counts[part] for part in parts)
    return {part: counts[part] / total for part in parts}


def bare(name):
    """Without what it is defined in: up to 3.10 code objects, and so the oracle, know no more."""
    return name.rpartition(".")[2]


def impossible(stacks, pairs):
    """The share of samples with a caller → callee pair that the program cannot make; [cut] leaves are no pair."""
    def is_legal(a, b):
        return b == "[cut]" or (a, b) in pairs or (bare(a), bare(b)) in pairs

    bad = sum(count for names, count in stacks.items() if not all(map(is_legal, names, names[1:])))
    return bad / sum(stacks.values())
