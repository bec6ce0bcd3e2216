"""The cyclic collector's share of the time: told in reports as on the page."""
import json

import pytest
from interpreters import require

PROGRAM = """
import gc, time
class Node:
    pass
kept = []
for _ in range(100_000):
    a, b = Node(), Node()
    a.b, b.a = b, a
    kept.append(a)
end = time.process_time() + 1
while time.process_time() < end:
    gc.collect()
"""


@pytest.mark.parametrize("label", ["3.8", "3.11", "3.13"])
def test_reports_tell_the_collectors_share(tool, tmp_path, label):
    script = tmp_path / "collects.py"
    script.write_text(PROGRAM)
    path = tmp_path / "gc.lead"
    r = tool("run", "-o", path, "--", *require(label).command(script))
    assert "Garbage collection: " in r.stderr, r.stderr
    told = dict(json.loads(tool("report", "--json", path).stdout)["states"])
    assert set(told) - {"runnable"} == {"running", "gil_wait", "gc", "waiting", "late"}
    assert told["gc"] > told["running"] / 2 and told["gc"] > 0.1, told
    assert "Garbage collection: " in tool("report", "--threads", path).stdout
    assert "Garbage collection: " not in tool("report", "--tasks", path).stdout


def test_what_hardly_took_time_is_not_told(tool, tmp_path):
    script = tmp_path / "computes.py"
    script.write_text("import gc\ngc.disable()\nimport os, time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\nos._exit(0)\n")
    r = tool("run", "-o", tmp_path / "no.lead", "--", *require("3.13").command(script))
    assert "Functions" in r.stderr and "Garbage collection" not in r.stderr
