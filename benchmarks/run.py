"""`make bench`: leadline and its peers in one run, as ratios. Figures drift between machines; ratios hold.

    python benchmarks/run.py [NAME …]      all, or those named below
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LEADLINE = str(BUILD / "leadline")
STORM = str(BUILD / "tests" / "storm")


def run(*command, **kwargs):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **kwargs)


def store():
    """Writing and opening the recording (bars: 5 M records/s; 1 GB opened in 50 ms)."""
    with tempfile.TemporaryDirectory() as folder:
        print(run(BUILD / "benchmarks" / "store_bench", cwd=folder).stdout, end="")


def clock():
    """Cost of one reading of the clock."""
    print(run(BUILD / "benchmarks" / "clock_bench").stdout, end="")


def time_start():
    """What `time` adds to a `true`, GNU time beside it, hyperfine as judge (bar: 2 ms)."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/hyperfine.json"
        run("hyperfine", "-N", "--warmup", "50", "--runs", "500", "--export-json", out, "true",
            "/usr/bin/time -o /dev/null true", f"{LEADLINE} time --report=/dev/null true")
        base, gnu, ours = (r["median"] * 1e3 for r in json.load(open(out))["results"])
    print(f"true {base:.2f} ms; GNU time adds {gnu - base:.2f} ms, leadline time {ours - base:.2f} ms")


def own_cpu(prefix, program):
    """CPU time of the wrapper alone: all below it as wait4 says, less what the program itself says it used."""
    report = tempfile.NamedTemporaryFile(delete=False)
    pid = os.posix_spawn(prefix[0], [*prefix, "/usr/bin/time", "-o", report.name, "-f", "%U %S", *program], os.environ)
    _, _, usage = os.wait4(pid, 0)
    inside = sum(map(float, open(report.name).read().split()))
    os.unlink(report.name)
    return usage.ru_utime + usage.ru_stime - inside


def time_running():
    """CPU leadline uses while a program runs (bar: 0.5 % of a core), and whether the program gets slower."""
    for name, program, seconds in (("sleep", ["sleep", "10"], 10), ("busy", [STORM, "busy", "10"], 10)):
        ours = own_cpu([LEADLINE, "time", "--report=/dev/null"], program)
        gnu = own_cpu(["/usr/bin/time", "-o", "/dev/null"], program)
        print(f"{name} for {seconds} s: leadline time uses {ours / seconds:.2%} of a core, GNU time {gnu / seconds:.2%}")


def size():
    """The executable."""
    with tempfile.NamedTemporaryFile() as stripped:
        run("strip", "-o", stripped.name, LEADLINE)
        print(f"build/leadline: {os.path.getsize(LEADLINE) / 1e6:.2f} MB, {os.path.getsize(stripped.name) / 1e6:.2f} MB stripped")


def run_script(name):
    """One that has options of its own; here with none."""
    subprocess.run([sys.executable, ROOT / "benchmarks" / name], check=True)


def sampler():
    """The sampler on programs whose stacks never stand still."""
    run_script("sampler.py")


def edges():
    """Threads and processes that come and go, stops, ends: shares within their intervals, ≤ 2 % of CPU not seen, ≤ 5 % late (twelve minutes)."""
    subprocess.run([sys.executable, ROOT / "benchmarks" / "edges.py", "--python", "3.8,3.13,3.14"], check=False)  # 1: a cell is missed, and told


def tracing():
    """Exact calls, cProfile in the same run."""
    run_script("tracing.py")


def timeline():
    """Calls in the order of time: bytes an event, none lost."""
    run_script("timeline.py")


def lines():
    """Exact lines, line_profiler in the same run."""
    run_script("lines.py")


def times():
    """Corrected times beside what the program measures untraced."""
    run_script("times.py")


def three_ways():
    """One program counted, sampled and traced: the guide's table."""
    run_script("three_ways.py")


def inactive():
    """What the package costs while nothing records (bar: 60 ns for a region)."""
    from tools import interpreters

    for python in interpreters.load().values():
        if python.root == "/":
            print(f"{python.label}\n{run(python.exe, ROOT / 'benchmarks' / 'inactive.py').stdout}", end="")


def reading():
    """Other tools' JSON profiles (bar: 200 MB/s)."""
    run_script("reading.py")


def torch():
    """Traces of torch.profiler and its own tables (bars: 400 MB/s; 1 GB in 5 s and 300 MB; 50 times as fast as key_averages())."""
    run_script("torch_trace.py")


def torch_collect():
    """What run --torch adds to the steps of a training, torch.profiler in the same process (bars: 0.9 of its; 0.3 with stop and table)."""
    run_script("torch_collect.py")


def verdicts():
    """bench and compare against the truth, pyperf and hyperfine (A against itself alone takes ten minutes)."""
    run_script("verdicts.py")


def view():
    """Slices of a tree of ten million nodes (bars: 20 ms, 1 MB)."""
    run_script("view.py")


BENCHMARKS = {f.__name__: f for f in (store, clock, time_start, time_running, size, sampler, edges, tracing, timeline, lines, times, three_ways, inactive, reading, torch, torch_collect, verdicts, view)}

for wanted in sys.argv[1:] or BENCHMARKS:
    print(f"== {wanted}: {BENCHMARKS[wanted].__doc__}")
    BENCHMARKS[wanted]()
