"""The package keeps the promise of its py.typed."""
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("mypy", reason="needs mypy: run tools/setup test")


def test_types_are_strict(tmp_path):
    user = tmp_path / "user.py"
    user.write_text("from typing import List\n\nimport leadline\n\n"
                    "def work() -> int:\n    return 1\n\n"
                    "with leadline.trace() as t, leadline.region('x'):\n    number: int = t.runcall(work)\n"
                    "t.print_stats('cumtime')\nt.save('x.lead')\nt.snapshot_stats()\n"
                    "calls: List[int] = [row[1] for row in t.stats.values()]\n"
                    "p = leadline.Profile(builtins=False, exclude=['a.py'])\np.enable()\np.disable()\np.print_stats(('cumtime', 'name'))\n"
                    "same: int = leadline.runcall(work)\nleadline.run('work()', None, 'cumtime')\nleadline.runctx('work()', globals(), {}, sort=2)\n\n"
                    "@leadline.trace(exclude='a.py')\n@leadline.region('y')\ndef both(text: str) -> str:\n    return text\n\n"
                    "words: str = both('x')\nwith leadline.lines(work, both) as counted:\n    work()\ncounted.print_stats()\n"
                    "with leadline.sample(rate=100) as s:\n    work()\ns.print_stats(limit=3)\n"
                    "prof = leadline.torch.profile(record_shapes=True, on_trace_ready=leadline.torch.trace_handler('t'))\n"
                    "text: str = prof.key_averages(group_by_input_shape=True).table(sort_by='count', row_limit=3)\nleadline.torch.step(samples=3)\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
                           "python/leadline", str(user)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
