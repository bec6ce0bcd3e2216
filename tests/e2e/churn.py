"""How much memory the recorder takes while what it watches comes and goes (tests/edges/churn.py); for the test and `make soak`."""
import pathlib
import statistics
import subprocess
import tempfile
import time

import edges
from interpreters import require

EVERY_S = 0.5
EDGE = edges.Edge("churn")


def resident_bytes(pid):
    """VmRSS of a process."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has ended")


def watch(binary, label, seconds, options=(), tell=None):
    """Records the program for that long: [(seconds since it began, bytes of the recorder)], and how many rounds it made. `tell` is called
    with each of the former."""
    readings = []
    with edges.place(EDGE, label) as (outside, inside), tempfile.TemporaryDirectory() as folder:
        program = require(label).command(str(inside / EDGE.file), str(seconds), str(inside / "ready"))
        tool = subprocess.Popen([binary, "run", *options, "-o", f"{folder}/x.lead", "--report=/dev/null", "--", *program], stdout=subprocess.PIPE, text=True)
        try:
            edges.exists(outside / "ready", tool)
            began = time.monotonic()
            while (now := time.monotonic() - began) < seconds - EVERY_S:  # later on it reads what it wrote
                readings.append((now, resident_bytes(tool.pid)))
                if tell:
                    tell(*readings[-1])
                time.sleep(EVERY_S)
            said, _ = tool.communicate(timeout=seconds + edges.SECONDS)
        finally:
            tool.kill()
            tool.wait()
    assert tool.returncode == 0 and said.endswith("rounds\n"), said
    return readings, int(said.split()[0])


def middle(readings, begin, end):
    """The median of the bytes between two moments."""
    return statistics.median(size for at, size in readings if begin <= at <= end)
