"""Whether 95 % intervals hold the truth that often, on recordings of a program that stamped its own truth.

tests/data/windows-*.lead are `run --no-source --rate=1k` of tests/targets/windows.py for 11 s; the files beside them tell, from
the stamps it printed, the seconds that each thread was in each function in each of 100 windows. No time is measured here.
"""
import json
import math

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data"
COVERED = 93  # of 100
WIDEST = 1.5  # times the binomial interval of as many samples
Z = 1.959964


def interval(functions, name):
    """Of the time in a function; one that no sample saw has none of its own in the report."""
    if name in functions:
        return functions[name]["total_low"], functions[name]["total_high"]
    whole = functions["turns"]
    return 0, whole["total"] * Z * Z / (whole["total_samples"] + Z * Z)


@pytest.mark.parametrize("thread", ["Planted", "Left", "Right", "Sleeper"])
@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_intervals_hold_the_truth(tool, version, thread):
    """Planted shares; two threads that fight for the GIL; one that sleeps."""
    truth = json.loads((DATA / f"windows-{version}.json").read_text())
    names, rows = truth["threads"][thread]["functions"], truth["threads"][thread]["seconds"]
    inside = dict.fromkeys(names, 0)
    for i, seconds in enumerate(rows):
        begin = truth["from_s"] + i * truth["window_s"]
        r = tool("report", DATA / f"windows-{version}.lead", "--thread", thread, "--from", f"{begin:.6f}s",
                 "--to", f"{begin + truth['window_s']:.6f}s", "--limit", "0", "--json")
        functions = {f["name"]: f for f in json.loads(r.stdout)["functions"]}
        whole = functions["turns"]
        for name, true in zip(names, seconds):
            low, high = interval(functions, name)
            inside[name] += low <= true <= high
            share, n = true / truth["window_s"], whole["total_samples"]
            if n * share * (1 - share) > 5:  # else a binomial interval is not one
                binomial = 2 * Z * math.sqrt(share * (1 - share) / n)
                assert (high - low) / whole["total"] <= WIDEST * binomial, (name, i)
    assert len(rows) == 100
    assert all(n >= COVERED for n in inside.values()), inside
