"""What the page is answered of a recording with samples and operators: one clock for both, lines of the user's own, and phases."""
import os
import shutil
import subprocess
import sys

import conftest
import pytest
from test_view import view

pytestmark = pytest.mark.alone  # it runs programs with torch, and looks at their times

PROGRAM = """
import time
import torch

model = torch.nn.Linear(64, 64)


def work():
    for _ in range(40):
        model(torch.randn(32, 64)).sum().backward()


work()
time.sleep(1)
work()
"""


@pytest.mark.parametrize("how", ["--torch", "--torch=full:all"])
def test_operators_lie_beside_the_samples_of_the_same_moments(how, tmp_path):
    pytest.importorskip("torch")
    script, lead = tmp_path / "pause.py", tmp_path / "pause.lead"
    script.write_text(PROGRAM)
    done = subprocess.run([conftest.LEADLINE, "run", how, f"--python={sys.executable}", "-o", lead, script], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with view(lead) as server:
        spans = server.get("torch", what="timeline", px=10000)
        times = server.get("timeline", px=10000)
        overview = server.get("overview")
    assert [one["has_operators"] for one in overview["recordings"]] == [True]
    # The pause: no operator at all, and a main thread that waits.
    operators = sorted((t, t + d) for lane in spans["lanes"] for t, d, kind in zip(lane["t"], lane["d"], lane["kind"]) if kind == 0)
    ends, gap = operators[0][1], (0, 0)
    for begin, end in operators[1:]:
        gap = max(gap, (begin - ends, ends))
        ends = max(ends, end)
    assert gap[0] / 1e9 > 0.9
    begin = spans["begin_s"] + gap[1] / 1e9
    end = begin + gap[0] / 1e9
    main = next(thread for thread in times["threads"] if thread["tid"] == thread["pid"])
    waiting = times["states"].index("waiting")
    slept = sum(max(0, min(after, end) - max(at, begin)) for at, after, state in zip(main["t"], main["t"][1:], main["s"]) if state == waiting)
    assert slept > 0.8  # of one second; another clock would have it elsewhere


def test_phases_of_a_training_in_a_browser(tmp_path):
    pytest.importorskip("torch")
    page = conftest.ROOT / "ui"
    if not (page / "node_modules" / "playwright-core").exists() or not shutil.which("chromium"):
        pytest.skip("no npm packages or no Chromium: tools/setup test")
    lead = tmp_path / "training.lead"
    done = subprocess.run([conftest.LEADLINE, "run", "--torch", f"--python={sys.executable}", "-o", lead, conftest.ROOT / "tests/targets/torch/cnn.py", "3"],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([page / "node_modules" / ".bin" / "vitest", "run", "--dir", "e2e", "--testTimeout=300000", "--hookTimeout=300000", "phases"], cwd=page,
                          env={**os.environ, "LEADLINE": str(conftest.LEADLINE), "LEADLINE_TRAINING": str(lead), "NO_COLOR": "1"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
