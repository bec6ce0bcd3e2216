"""What sampled instructions work with: types, sizes and callees against programs in which they are known."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import EXPECTED, inside, require

pytestmark = pytest.mark.alone  # it waits for programs by the clock, or looks at the machine

ROOT = Path(__file__).resolve().parents[2]
LEADLINE = Path(os.environ.get("LEADLINE") or ROOT / "build" / "leadline")
OPERATIONS = ROOT / "tests" / "targets" / "operations.py"
SECONDS = 120

# Of each function: (operand, type, name, size) that may be seen, and the operation.
TRUTH = {
    "in_list": ({(0, "list", None, 10000), (1, "int", None, 1)}, "in list"),
    "add_ints": ({(1, "int", None, 400000), (2, "int", None, 500000)}, "int + int"),
    "subscript_dict": ({(0, "dict", None, 1000), (1, "str", None, 4)}, "dict[…]"),
    "subscript_slice": ({(0, "bytes", None, 20000), (1, "slice", None, None)}, "bytes[…]"),
    "call_sorted": ({(0, "builtin_function_or_method", "sorted", None), (1, "list", None, 5003)}, "sorted()"),
    "call_match": (
        {(0, "method_descriptor", "re.Pattern.match", None), (1, "re.Pattern", None, None), (2, "str", None, 3000)},
        "re.Pattern.match()",
    ),
    "call_keywords": (
        {(0, "builtin_function_or_method", "sorted", None), (1, "list", None, 5003), (2, "bool", None, 1)},
        "sorted()",
    ),
    "call_star": ({(0, "builtin_function_or_method", "sorted", None), (1, "tuple", None, 1)}, "sorted()"),
    "call_type": ({(0, "type", "list", None), (1, "tuple", None, 3000)}, "list()"),
    "compare_lists": ({(1, "list", None, 10000), (2, "list", None, 10000)}, "list == list"),
    "run": ({(0, "builtin_function_or_method", "sorted", None), (1, "list", None, 5003)}, "sorted()"),
}
TOO_SHORT = {"subscript_dict"}  # to be seen but by chance; then rightly
MIXED = {
    (type_, size)
    for type_, sizes in {
        "int": (20000000, 25000000, 25000001, 1, 2),
        "list": (300000, 600000),
        "str": (3000000, 6000000),
        "bytes": (3000000, 6000000),
        "tuple": (300000, 600000),
        "float": (None,),
    }.items()
    for size in sizes
}


def record(command, tmp_path):
    """The probes of a run, as the report has them."""
    file = tmp_path / "run.lead"
    run = [LEADLINE, "run", "-o", file, f"--report={os.devnull}", "--", *command]
    subprocess.run(run, check=True, capture_output=True, timeout=SECONDS)
    shown = subprocess.run(
        [LEADLINE, "report", "--json", file], check=True, capture_output=True, text=True, timeout=SECONDS
    )
    return json.loads(shown.stdout)["probes"]


def hottest(probes, function):
    """The site of a function that most of its time ended at."""
    return max((p for p in probes if p["function"].split(".")[-1] == function), key=lambda p: p["self_s"], default=None)


def operands(site):
    """(operand, type, name, size) with their counts; several sizes count as the two ends."""
    for o in site["operands"]:
        for size in {o["size_min"], o["size_max"]}:
            yield (o["operand"], o["type"], o["name"], size), o["count"]


@pytest.mark.parametrize("label", EXPECTED)
def test_operands_are_those_the_program_works_with(label, tmp_path):
    """Types, sizes and callees of operations that last are all right, and each is found."""
    names = [name.replace("run", "in_generator") for name in TRUTH]
    with inside(label, OPERATIONS) as script:
        probes = record([*require(label).command(str(script)), "0.3", *names], tmp_path)
    for function, (truth, operation) in TRUTH.items():
        site = hottest(probes, function)
        if function in TOO_SHORT and not (site and site["operation"]):
            continue
        assert site, (function, probes)
        assert site["operation"] == operation, site
        wrong = [seen for seen, _ in operands(site) if seen not in truth]
        assert not wrong, (function, wrong, site)


@pytest.mark.parametrize("label", EXPECTED)
def test_operands_that_change_are_not_mixed_up(draw, label, tmp_path):
    """Where types change all the time, or slots are used by others in turn, what is seen still was there."""
    with inside(label, OPERATIONS) as script:
        probes = record([*require(label).command(str(script)), "1", "mixed", "short"], tmp_path)
    n = wrong = 0
    for site in probes:
        if site["function"] == "mixed" and site["instruction"] in ("BINARY_OP", "BINARY_ADD", "COMPARE_OP"):
            for (_, type_, _, size), count in operands(site):
                n += count
                wrong += count if (type_, size) not in MIXED else 0
        if site["function"] == "short" and site["operation"] in ("dict[…]", "in dict", "str + str"):
            right = {"dict[…]": {(0, "dict"), (1, "str")}, "in dict": {(0, "dict"), (1, "str")}}
            for (operand, type_, _, _), count in operands(site):
                n += count
                wrong += count if (operand, type_) not in right.get(site["operation"], {(1, "str"), (2, "str")}) else 0
    assert n > 0, probes
    draw.hold("wrong operands", sum(draw.add("wrong", wrong)), high=1 + sum(draw.add("all", n)) // 100)


def test_arrays_tell_their_dtype(tmp_path):
    """numpy: the function behind a dispatcher, dtype and number of elements."""
    pytest.importorskip("numpy")
    probes = record([sys.executable, str(OPERATIONS), "0.5", "numpy_add", "numpy_dot"], tmp_path)
    add, dot = hottest(probes, "numpy_add"), hottest(probes, "numpy_dot")
    assert {seen for seen, _ in operands(add)} <= {(i, "numpy.ndarray", "float32", 100000) for i in (1, 2)}, add
    assert dot["operation"].endswith("dot()"), dot
    assert {seen for seen, _ in operands(dot) if seen[0]} <= {(i, "numpy.ndarray", "float64", 14400) for i in (1, 2)}
