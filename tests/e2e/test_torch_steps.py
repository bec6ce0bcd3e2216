"""Steps and phases of trainings, against programs that count and time their own (tests/targets/torch)."""
import json
import subprocess
import sys

import pytest
from conftest import LEADLINE, ROOT

TARGETS = ROOT / "tests" / "targets" / "torch"
SECONDS = 300


class Run:
    """A program under `run --torch`, and what it told of itself."""

    def __init__(self, folder, how, program, *arguments):
        pytest.importorskip("torch")
        self.lead = folder / "x.lead"
        done = subprocess.run([LEADLINE, "run", how, "--force", "--python", sys.executable, "-o", self.lead, TARGETS / program, *map(str, arguments)],
                              cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        self.error = done.stderr
        self.truths = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.truth = self.truths[0]

    def report(self, *options):
        done = subprocess.run([LEADLINE, "report", self.lead, "--json", *options], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def overview(self, *options):
        return self.report("--overview", *options)["overview"]

    def phases(self):
        return {p["name"]: p for p in self.overview()["phases"]}

    def text(self, *options):
        return subprocess.run([LEADLINE, "report", self.lead, *options], capture_output=True, text=True, timeout=SECONDS, check=False)


# ---- set-up


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_set_up_is_not_step_0(tmp_path, draw, how):
    run = Run(tmp_path, how, "lm.py", 40)
    seen = run.overview()
    assert seen["steps"] == run.truth["steps"] == 40 and seen["steps_found"] == "optimizer" and seen["optimizer_calls"] == 1 and seen["micro_batches"] == 1
    steps = run.report("--steps", "--limit=0")["steps"]
    assert len(steps) == 40
    truth = run.truth["seconds"]
    draw.share(f"{how}: training", seen["total_s"], truth["training"], 0.85, 1.05)
    if how == "--torch":  # torch's own profiler is not on from the first moment on
        draw.share("set-up", run.phases()["set-up"]["total_s"] + run.phases()["imports"]["total_s"], truth["set-up"] + truth["imports"], 0.7, 1.6)


def test_steps_that_torchs_profiler_saw_whole(tmp_path):
    run = Run(tmp_path, "--torch=full", "lm.py", 6)  # two to wait and to warm up, four, and then what follows them
    assert run.overview()["steps"] == 4 and run.overview()["steps_found"] == "marked"
    assert run.phases()["unseen"]["total_s"] > 0 and "4 steps in" in " ".join(run.text("--overview").stdout.split())
    few = Run(tmp_path, "--torch=full", "lm.py", 2)
    assert "the optimizer made 2 steps, and recording begins after 2: --torch=full:all records the whole run" in few.error
    assert few.text("--overview").returncode == 6
    one = Run(tmp_path, "--torch=full", "lm.py", 3)
    assert one.overview()["steps"] == 1 and "1 step in" in one.text("--overview").stdout


# ---- several optimizers


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_two_optimizers_make_one_step(tmp_path, how):
    run = Run(tmp_path, how, "gan.py", 30)
    seen = run.overview()
    assert seen["steps"] == run.truth["steps"] == 30 and seen["optimizer_calls"] == 2
    assert "30 steps (each ends with the last of 2 optimizer calls)" in " ".join(run.text("--overview").stdout.split())


def test_the_profilers_marks_hold_both_optimizers(tmp_path):
    seen = Run(tmp_path, "--torch=full", "gan.py", 15).overview()
    assert seen["steps"] == 10 and seen["optimizer_calls"] == 2


# ---- validation, saving, accumulation


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_validation_and_saving_are_phases_of_their_own(tmp_path, draw, how):
    run = Run(tmp_path, how, "cnn.py", 4)
    seen, phases, truth = run.overview(), run.phases(), run.truth
    assert seen["steps"] == truth["steps"] == phases["training"]["times"] and seen["micro_batches"] == 1
    assert phases["validation"]["passes"] == truth["validation_batches"] and phases["validation"]["times"] >= 4
    assert phases["saving"]["times"] >= 4 and phases["training"]["total_s"] == pytest.approx(seen["total_s"])
    for name, low, high in (("training", 0.85, 1.1), ("validation", 0.8, 1.1), ("saving", 0.6, 1.3)):
        draw.share(f"{how}: {name}", phases[name]["total_s"], truth["seconds"][name], low, high)
    longest = max(s["duration_s"] for s in run.report("--steps", "--limit=0")["steps"])
    draw.share(f"{how}: no step holds a validation", longest, truth["seconds"]["validation"] / 4 + longest, 0, 0.75)


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_batches_whose_gradients_are_added_up(tmp_path, how):
    run = Run(tmp_path, how, "cnn.py", 2, 3)
    seen = run.overview()
    assert seen["steps"] == run.truth["steps"] == 24 and seen["micro_batches"] == run.truth["micro_batches"] == 3
    assert "Each adds up the gradients of 3 batches (gradient accumulation)." in " ".join(run.text("--overview").stdout.split())
    assert run.phases()["validation"]["passes"] == run.truth["validation_batches"]


# ---- phases as a choice


@pytest.fixture(scope="module")
def cnn(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("cnn"), "--torch", "cnn.py", 4)


def test_a_phase_chooses_operators(cnn):
    def calls(*options):
        return {o["name"]: o["calls"] for o in cnn.report("--ops", "--limit=0", *options)["operators"]}

    everything, training, validation = calls(), calls("--phase", "training"), calls("--phase", "validation")
    n, m = cnn.truth["steps"], cnn.truth["validation_batches"]
    assert everything["aten::conv2d"] == 2 * (n + m) and training["aten::conv2d"] == 2 * n and validation["aten::conv2d"] == 2 * m
    assert training["Optimizer.step#SGD.step"] == n and "Optimizer.step#SGD.step" not in validation and "aten::argmax" not in training
    assert cnn.overview("--phase", "training")["steps"] == n


def test_a_phase_chooses_samples(cnn, tmp_path):
    def names(*options):
        return {f["name"]: f for f in cnn.report("--functions", "--limit=0", "--idle", *options)["functions"]}

    def seconds(*options):
        return sum(f["self"] for f in names(*options).values())

    whole, training, saving = names(), names("--phase", "training"), names("--phase", "saving")
    assert "_save" in saving and "_save" not in training and "_engine_run_backward" in training and "_engine_run_backward" not in saving
    assert whole["[imports]"]["self"] > 10 * training.get("[imports]", {"self": 0})["self"]  # the first step may import something, too
    phases = cnn.phases()
    assert seconds("--phase", "training") < 0.5 * seconds()
    assert phases["imports"]["total_s"] > 0 and "[imports]" in names("--phase", "imports")
    done = subprocess.run([LEADLINE, "export", cnn.lead, "--phase", "saving", "--format", "collapsed", "-o", tmp_path / "x.folded"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "x.folded").read_text().splitlines()
    assert lines and sum("save" in line for line in lines) > len(lines) / 2
    assert subprocess.run([LEADLINE, "diff", cnn.lead, cnn.lead, "--phase", "training"], capture_output=True, text=True, check=False).returncode == 0


def test_a_phase_that_is_not_there_is_refused(cnn, tmp_path):
    done = cnn.text("--phase", "lunch")
    assert done.returncode == 2 and "phase 'lunch': there are imports, set-up, training, validation, saving and other" in done.stderr
    (tmp_path / "x.py").write_text("sum(range(3000000))\n")
    subprocess.run([LEADLINE, "run", "--python", sys.executable, "-o", tmp_path / "y.lead", "--report=/dev/null", tmp_path / "x.py"], check=True, capture_output=True)
    done = subprocess.run([LEADLINE, "report", tmp_path / "y.lead", "--phase", "training"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stdout == "" and "its phases are unknown: they come from PyTorch operators (leadline run --torch)" in done.stderr


# ---- ranks


def test_steps_belong_to_a_process_and_one_recording_holds_both_ranks(tmp_path):
    run = Run(tmp_path, "--torch", "ddp.py", 20, tmp_path)
    assert sorted(t["rank"] for t in run.truths) == [0, 1] and {t["steps"] for t in run.truths} == {20}
    seen = run.overview()
    assert seen["steps"] == 20 and seen["processes"] == 2
    assert "one of 2 that make steps; --distributed compares all." in " ".join(run.text("--overview").stdout.split())
    seen = run.report("--distributed")["distributed"]
    assert [(r["rank"], r["steps"]) for r in seen["ranks"]] == [(0, 20), (1, 20)]
    assert {c["name"]: c["calls"] for c in seen["collectives"]}["all_reduce"] == 40 and "all_gather" not in {c["name"] for c in seen["collectives"]}  # not those of the set-up


# ---- compare


TOLD = """
import sys
sys.path.insert(0, sys.argv[1])
import leadline.torch
for _ in range(40):
    sum(range(20000))
    leadline.torch.step()
"""


def compared(folder, *files):
    done = subprocess.run([LEADLINE, "compare", "--unit", "step", "--json=x.json", *files], cwd=folder, capture_output=True, text=True, check=False)
    assert (folder / "x.json").exists(), done.stderr
    return json.loads((folder / "x.json").read_text())


def test_compare_takes_any_kind_of_steps(tmp_path):
    (tmp_path / "told.py").write_text(TOLD)
    subprocess.run([LEADLINE, "run", "--python", sys.executable, "-o", tmp_path / "told.lead", "--report=/dev/null", tmp_path / "told.py", ROOT / "python"], check=True, capture_output=True)
    by_optimizer = Run(tmp_path, "--torch", "gan.py", 60).lead
    for file in (tmp_path / "told.lead", by_optimizer):
        assert compared(tmp_path, file, file)
        (tmp_path / "x.json").unlink()
