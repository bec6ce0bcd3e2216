"""Advice on real programs, each with a flaw and a switch that takes it out (tests/targets/torch/flaws): the rule speaks on the slow one, at the line
that has the flaw, and says nothing on the fast one and on those that look alike; its bound is one, by the CPU time that both take."""
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import conftest
import pytest

FLAWS = conftest.ROOT / "tests" / "targets" / "torch" / "flaws"
SECONDS = 300
LIGHT, TRACE = "run --torch", "torch.profiler"


@dataclass
class Flaw:
    program: str
    rule: str
    way: str  # how it is recorded
    line: str  # a part of the line that the finding names; "": it names none
    change: str  # a part of what to do
    silent: tuple  # switches on which the rule says nothing
    steps: int


TABLE = [
    Flaw("token_loop", "overhead", LIGHT, "out.append(torch.relu(layer(token)))", "give the layer the whole batch", ("fast", "large", "beside"), 15),
    Flaw("cell_loop", "overhead", LIGHT, "h, c = cell(token, (h, c))", "nn.LSTM", ("fast", "large", "once"), 12),
    Flaw("select_loop", "select-backward", LIGHT, "return [x[:, t] for t in range(TOKENS)]", "unbind()", ("fast", "plain", "few"), 15),
    Flaw("adam_loop", "optimizer-loop", LIGHT, "optimizer.step()", "fused=True", ("fast", "sgd", "batch"), 20),
    Flaw("copies", "copies", LIGHT, "weight.t().contiguous()).sum()  # in the loop", "once", ("fast", "already", "once"), 12),
    Flaw("eval_grad", "no-grad", TRACE, "", "torch.inference_mode()", ("fast", "inference", "metric"), 5),
    Flaw("float64", "float64", TRACE, "", "float32", ("fast", "loss", "input"), 12),
    Flaw("leak", "growth", TRACE, "", "loss.item()", ("fast", "fills", "swings"), 40),
    Flaw("serving", "batching", TRACE, "", "stack 8 of them", ("fast", "large", "training"), 25),
]
TIMED = [flaw for flaw in TABLE if flaw.rule not in ("no-grad", "growth")]  # what the others save is memory


def said(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def plain(program, *words):
    return said(subprocess.run([sys.executable, FLAWS / f"{program}.py", *map(str, words)], capture_output=True, text=True, timeout=SECONDS))


def recorded(folder, way, program, *words):
    """The overview of a run of it."""
    command = [sys.executable, FLAWS / f"{program}.py", *map(str, words)]
    environment = dict(os.environ)
    if way == LIGHT:
        path = folder / "x.lead"
        command = [conftest.LEADLINE, "run", "--torch", "-o", path, f"--report={folder}/report", "--", *command]
    else:
        path = folder / "x.json"
        environment["FLAW_TRACE"] = str(path)
    said(subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS))
    report = subprocess.run([conftest.LEADLINE, "report", "--overview", "--json", path], capture_output=True, text=True, timeout=SECONDS)
    assert report.returncode == 0, report.stderr
    return json.loads(report.stdout)["overview"]


def advice(overview):
    return {found["rule"]: found for found in overview["advice"]}


def lines_of(program, text):
    lines = (FLAWS / f"{program}.py").read_text().splitlines()
    return [i for i, line in enumerate(lines, 1) if text in line]


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The slow one of each program, recorded once."""
    pytest.importorskip("torch")
    kept = {}

    def get(flaw):
        if flaw.program not in kept:
            kept[flaw.program] = recorded(tmp_path_factory.mktemp(flaw.program), flaw.way, flaw.program, "slow", flaw.steps)
        return kept[flaw.program]
    return get


@pytest.mark.parametrize("flaw", TABLE, ids=lambda flaw: flaw.program)
def test_a_rule_speaks_on_the_program_that_has_the_flaw(slow, flaw):
    overview = slow(flaw)
    assert overview["steps"] == flaw.steps and overview["steps_marked"]
    found = advice(overview)[flaw.rule]
    assert flaw.change in found["change"]
    if flaw.line:
        assert found["file"].endswith(f"flaws/{flaw.program}.py") and [found["line"]] == lines_of(flaw.program, flaw.line)
    saving = found["saving"]
    if flaw.rule == "no-grad":
        assert saving is None
    else:
        assert 0 < saving["estimate"] <= saving["value"] * (1 + 1e-9) and (saving["unit"] == "bytes" or saving["value"] <= saving["whole"] * (1 + 1e-9))


@pytest.mark.parametrize("flaw,switch", [(flaw, switch) for flaw in TABLE for switch in flaw.silent], ids=lambda x: x if isinstance(x, str) else x.program)
def test_a_rule_says_nothing_on_programs_that_look_alike(tmp_path, flaw, switch):
    pytest.importorskip("torch")
    overview = recorded(tmp_path, flaw.way, flaw.program, switch, 4 if switch == "batch" else flaw.steps)
    assert overview["steps"] and flaw.rule not in advice(overview)


@pytest.mark.parametrize("flaw", TIMED, ids=lambda flaw: flaw.program)
def test_what_the_fix_brings_is_within_the_bound(slow, draw, flaw):
    """By the CPU time of a step, plainly run; the strict bars are those of benchmarks/advice_pairs.py, these hold on a busy machine."""
    told = advice(slow(flaw))[flaw.rule]["saving"]
    times = {switch: plain(flaw.program, switch, flaw.steps)["step_s"] for switch in ("slow", "fast")}
    saved = 1 - times["fast"] / times["slow"]
    draw.median(f"{flaw.program}: bound, of what was saved", told["value"] / told["whole"] / saved, low=0.8, high=4)
    draw.median(f"{flaw.program}: estimate, of what was saved", told["estimate"] / told["whole"] / saved, low=0.4, high=2.5)


# ---- a DataLoader, which waits by the clock


def loading(folder, switch, epochs):
    pytest.importorskip("torch")
    return advice(recorded(folder, LIGHT, "loader", switch, epochs)).get("dataloader")


@pytest.mark.alone  # whether CPUs are free
def test_workers_that_start_in_each_epoch_are_kept_not_added(tmp_path):
    found = loading(tmp_path, "start", 4)
    assert "persistent_workers=True" in found["change"] and "num_workers" not in found["change"]
    assert "were started 4 times" in found["evidence"]
    assert 0 < found["saving"]["estimate"] < found["saving"]["value"]  # the first time stays


@pytest.mark.alone  # whether CPUs are free
def test_workers_that_are_kept_are_not_advised_again(tmp_path):
    found = loading(tmp_path, "persistent", 4)
    assert not found or "persistent_workers" not in found["change"]


def test_the_line_that_takes_long_in_a_sample_is_named(tmp_path):
    found = loading(tmp_path, "heavy", 3)
    assert found["file"].endswith("flaws/loader.py") and found["line"] in lines_of("loader", "the loop that takes long")
    assert "of loading is at" in found["evidence"] and "(distort)" in found["evidence"]
    if len(os.sched_getaffinity(0)) > 1:
        assert "give the DataLoader num_workers" in found["change"] and found["saving"]["estimate"] > 0


def test_workers_without_a_cpu_are_not_told_to_be_more(tmp_path, draw):
    found = loading(tmp_path, "crowded", 3)
    draw.verdict("crowded workers", "cheaper" if found and "make loading a sample cheaper" in found["change"] else "more", "cheaper")


def test_workers_that_wait_may_be_more(tmp_path, draw):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU is never free")
    found = loading(tmp_path, "waits", 3)
    draw.verdict("workers that wait", "more" if found and "more num_workers" in found["change"] else "other", "more")


# ---- threads


@pytest.mark.alone
@pytest.mark.parametrize("switch", ["one", "python"])
def test_threads_that_want_no_cpu_are_not_too_many(tmp_path, switch):
    pytest.importorskip("torch")
    assert "threads" not in advice(recorded(tmp_path, LIGHT, "threads", switch, 15))


def test_more_threads_than_cpus_are_told(tmp_path, draw):
    pytest.importorskip("torch")
    found = advice(recorded(tmp_path, LIGHT, "threads", "slow", 15)).get("threads")
    draw.verdict("threads", "told" if found and "torch.set_num_threads()" in found["change"] else "silent", "told")
