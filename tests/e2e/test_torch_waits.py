"""What looks slow and waits: a rank for one that is late, an operator for a CPU that others have."""
import contextlib
import json
import os
import subprocess
import sys

import pytest
from conftest import LEADLINE
from test_torch_steps import Run

pytestmark = pytest.mark.alone  # it waits for programs by the clock

STEPS, LATE_MS = 12, 60


def test_a_rank_that_sleeps_is_the_late_one(tmp_path, draw):
    run = Run(tmp_path, "--torch", "ddp.py", STEPS, tmp_path, LATE_MS)
    seen = run.report("--distributed")["distributed"]
    assert seen["straggler"] == 1 and [r["rank"] for r in seen["ranks"]] == [0, 1]
    first, late = seen["ranks"]
    assert late["times_last"] > first["times_last"]
    # It may only wait longer than the other sleeps: for a CPU.
    draw.share("rank 0 waits as long as rank 1 sleeps", first["waiting_s"], STEPS * LATE_MS / 1000, 0.7, 3)
    said = " ".join(run.text("--distributed").stdout.split())
    assert "rank 1" in said and "wait" in said


LONG = """
import json, os, time, torch
os.sched_setaffinity(0, {int(os.environ["ONE_CPU"])})
torch.set_num_threads(1)
x = torch.randn(1200, 1200)
torch.mm(x, x)
wall, cpu = time.monotonic(), time.thread_time()
x.matrix_power(4)
print(json.dumps({"wall": time.monotonic() - wall, "cpu": time.thread_time() - cpu}))
"""


@contextlib.contextmanager
def hogs(cpu, n):
    """Others that want that CPU, and have begun to."""
    text = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nprint(flush=True)\nwhile True: pass"
    running = [subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) for _ in range(n)]
    try:
        for one in running:
            one.stdout.readline()
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()
            one.stdout.close()


def test_an_operator_that_got_no_cpu_is_told_as_such(tmp_path, draw):
    pytest.importorskip("torch")
    cpu = min(os.sched_getaffinity(0))
    (tmp_path / "long.py").write_text(LONG)
    with hogs(cpu, 4):
        done = subprocess.run([LEADLINE, "run", "--torch", "--python", sys.executable, "-o", tmp_path / "x.lead", tmp_path / "long.py"], env={**os.environ, "ONE_CPU": str(cpu)},
                              capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    truth = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    said = subprocess.run([LEADLINE, "report", tmp_path / "x.lead", "--ops", "--json", "--limit=0"], capture_output=True, text=True, timeout=100, check=True)
    waited = sum(row.get("waited_s", 0) for row in json.loads(said.stdout)["operators"] if row["name"] in ("aten::mm", "aten::matmul", "aten::matrix_power", "aten::linalg_matrix_power"))
    # What is told is what is certain of it.
    draw.share("waited, of what the clock has more than the CPU time", waited, truth["wall"] - truth["cpu"], 0.4, 1.6)
    shown = subprocess.run([LEADLINE, "report", tmp_path / "x.lead", "--ops"], capture_output=True, text=True, timeout=100, check=True)
    assert "aten::mm is not that slow: it waited at least" in " ".join(shown.stdout.split())
