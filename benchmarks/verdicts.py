"""`bench` and `compare` against the truth and against their peers, live.

    python benchmarks/verdicts.py [--only NAME …] [--count N] [--keep FILE]

Each figure is one function and can be run alone. `aa` needs ten minutes and wants a machine on which other things go on; with --keep it
writes the blocks it has run, which `resampled` then takes. The others want a quiet one and need a minute or two each.
"""
import argparse
import json
import math
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEADLINE = os.environ.get("LEADLINE", str(ROOT / "build" / "leadline"))
PYTHON = sys.executable
LOOP = "i = 0\nwhile i < {n}: i += 1"
Z_95 = 1.96


def run(*command, **kwargs):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **kwargs).stdout


def compare(*args):
    return json.loads(run(LEADLINE, "compare", "--json", *args))


def judge(blocks):
    return json.loads(run(LEADLINE, "compare", "--judge", "-", "--json", input=json.dumps({"times": blocks})))


def mean_interval(values):
    """Mean and half its 95 % interval."""
    return statistics.fmean(values), Z_95 * statistics.stdev(values) / math.sqrt(len(values))


def agree(ours, theirs):
    """Whether two means differ by less than their intervals allow."""
    (a, da), (b, db) = mean_interval(ours), mean_interval(theirs)
    return f"ours {a:.4g} ± {da:.2g} s, theirs {b:.4g} ± {db:.2g} s: {'agree' if abs(a - b) <= math.hypot(da, db) else 'DIFFER'}"


def loops_of(*seconds):
    """How often a loop turns in an interpreter that shall take so long from begin to end, of one calibration for all."""
    code = "import time\nb = 9\nfor _ in range(9):\n t = time.perf_counter()\n i = 0\n while i < 200000: i += 1\n b = min(b, time.perf_counter() - t)\nprint(b)"
    start = min(timed(PYTHON, "-S", "-c", "pass") for _ in range(9))
    per_second = 200000 / float(run(PYTHON, "-S", "-c", code))
    return [max(1, int(per_second * (s - start))) for s in seconds]


def timed(*command):
    begin = time.perf_counter()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


# ---- verdicts -------------------------------------------------------------------------------------------------


def aa(options):
    """A against itself, 10 s each, whatever else goes on (bar: faster or slower in 5 % at most of 60)."""
    kinds = {"statement": ["-s", "x = list(range(1000))", "sum(x)", "sum(x)"], "interpreter": ["-N", "-c", f"{PYTHON} -S -c pass", "-c", f"{PYTHON} -S -c pass"],
             "command": ["-N", "-c", "/bin/true", "-c", "/bin/true"]}
    kept, words = [], {}
    for i in range(options.count or 60):
        kind = list(kinds)[i % len(kinds)]
        v = compare("--time", 10, *kinds[kind])
        words.setdefault(kind, []).append(v["verdict"])
        kept.append({"kind": kind, "verdict": v["verdict"], "times": v["times"], "load": os.getloadavg()[0]})
        if options.keep:
            pathlib.Path(options.keep).write_text(json.dumps(kept))
    said = [word for each in words.values() for word in each]
    wrong = sum(word in ("faster", "slower") for word in said)
    counts = {word: said.count(word) for word in ("faster", "slower", "equivalent", "undecided")}
    print(f"A against itself: {wrong} of {len(said)} wrong ({wrong / len(said):.1%}); {counts}; load {min(k['load'] for k in kept):.1f} to {max(k['load'] for k in kept):.1f}")


def pyperf_tells_apart(a, b):
    """pyperf compare_to: Student's t of two samples, 95 %. True: it calls them different."""
    pooled = (statistics.variance(a) * (len(a) - 1) + statistics.variance(b) * (len(b) - 1)) / (len(a) + len(b) - 2)
    t = (statistics.fmean(a) - statistics.fmean(b)) / math.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    return abs(t) > 1.98  # of about 120 degrees of freedom


def hyperfine_tells_apart(a, b):
    """hyperfine: "x ± y times faster", y from the standard deviations. True: x − y is above 1."""
    slow, fast = sorted((a, b), key=statistics.fmean, reverse=True)
    ratio = statistics.fmean(slow) / statistics.fmean(fast)
    spread = ratio * math.hypot(statistics.stdev(slow) / statistics.fmean(slow), statistics.stdev(fast) / statistics.fmean(fast))
    return ratio - spread > 1


def looked_at(draw, most=80):
    """As compare does it: looks after 10, 15, 23 … blocks until it is clear. The last verdict."""
    blocks, look = [], 10
    while True:
        blocks += [draw() for _ in range(min(look, most) - len(blocks))]
        v = judge(blocks)
        if v["final"] or len(blocks) >= most:
            return v["verdict"]
        look = v["next_look"]


def resampled(options):
    """A against itself, drawn anew from the blocks of aa (bar: 5 % wrong), beside pyperf's and hyperfine's rules on the same times."""
    if not options.keep:
        sys.exit("resampled takes the blocks that aa --keep FILE has written: --keep FILE")
    rng = random.Random(5)
    runs = [r["times"] for r in json.loads(pathlib.Path(options.keep).read_text()) if len(r["times"]) >= 10]
    n = options.count or 300
    wrong = {"leadline": 0, "pyperf": 0, "hyperfine": 0}
    for _ in range(n):
        run_of = rng.choice(runs)
        wrong["leadline"] += looked_at(lambda: rng.sample(rng.choice(run_of), 3)) in ("faster", "slower")
        sides = [[rng.choice(rng.choice(run_of)) for _ in range(60)] for _ in range(2)]
        wrong["pyperf"] += pyperf_tells_apart(*sides)
        wrong["hyperfine"] += hyperfine_tells_apart(*(side[:10] for side in sides))
    print(f"{n} times A against itself from recorded blocks, called different: " + ", ".join(f"{name} {count / n:.1%}" for name, count in wrong.items()))


def planted(options):
    """3 % more work, live (bar: found in 90 % within the blocks projected, which are 2 · 10.5 (sd/δ)² at most)."""
    found, within, n = 0, 0, options.count or 5
    a, b = (f"{PYTHON} -S -c '{LOOP.format(n=k)}'" for k in loops_of(0.03, 0.0309))
    for _ in range(n):
        first = compare("-N", "--blocks", 10, "-c", a, "-c", b)
        logs = [math.log(t[1] / t[0]) for t in first["times"]]
        if first["verdict"] == "slower":
            found, within = found + 1, within + 1
            print(f"  found in 10 blocks: {first['ratio']:.3f}")
            continue
        projected = 10 + (first["more_blocks"] or 0)
        bar = max(2 * 10.5 * (statistics.stdev(logs) / abs(math.log(first["ratio"]))) ** 2, 15)
        within += projected <= bar + 1
        if projected * 0.13 > 80:
            print(f"  undecided after 10 blocks ({first['ratio']:.3f}); {projected} projected, too many for now")
            continue
        v = compare("-N", "--blocks", projected, "-c", a, "-c", b)
        found += v["verdict"] == "slower"
        print(f"  {projected} blocks projected (bar {bar:.0f}): {v['verdict']} {v['ratio']:.3f} [{v['low']:.3f}, {v['high']:.3f}]")
    print(f"3 % planted: found in {found} of {n} within the projection; {within} of {n} projections within the bar")


# ---- times ----------------------------------------------------------------------------------------------------


def bench_values(*args):
    out = json.loads(run(LEADLINE, "bench", "--json", "--python", PYTHON, *args))
    return [v for r in out["benchmarks"][0]["runs"] for v in r["values"]], [statistics.fmean(r["values"]) for r in out["benchmarks"][0]["runs"]]


def loop(options):
    """bench pass and timeit's (bar: ± 2 ns)."""
    ours = min(bench_values("--time", 2, "pass")[0]) * 1e9
    text = run(PYTHON, "-m", "timeit", "-n", 20000, "-r", 3000, "-u", "nsec", "pass")
    theirs = float(text.split("best of 3000: ")[1].split()[0])
    print(f"bench pass {ours:.2f} ns, timeit {theirs:.2f} ns: {ours - theirs:+.2f} ns")


def pyperf(options):
    """A statement of 1 µs and one of 1 s, means over processes (bar: within their intervals)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, setup, statement, ours, theirs in (
                ("1 µs", "x = list(range(150))", "sum(x)", ["--processes", 12, "--time", 8], ["--processes", 12, "--values", 3]),
                ("1 s", "import time", "time.sleep(1)", ["--processes", 3, "--time", 9], ["--processes", 3, "--values", 2, "--warmups", 0, "--loops", 1])):
            means = bench_values("-s", setup, *ours, statement)[1]
            file = f"{folder}/{len(statement)}.json"
            run(PYTHON, "-m", "pyperf", "timeit", "-o", file, *theirs, "-s", setup, statement)
            runs = [r["values"] for r in json.loads(pathlib.Path(file).read_text())["benchmarks"][0]["runs"] if "values" in r]
            print(f"{name}: {agree(means, [statistics.fmean(v) for v in runs])}")


def hyperfine(options):
    """sleep 0.1 and a command of about 2 ms (bar: within their intervals), runs in turns of ten."""
    with tempfile.TemporaryDirectory() as folder:
        for command, runs in (("sleep 0.1", 10), ("sh -c :", 100)):
            times = {"ours": [], "theirs": []}
            for _ in range(5):
                run(LEADLINE, "bench", "--runs", runs, "--export-json", f"{folder}/ours", "--", *command.split(maxsplit=2))
                run("hyperfine", "-N", "--style", "none", "--runs", runs, "--export-json", f"{folder}/theirs", command)
                for name, values in times.items():
                    values += [statistics.median(json.loads(pathlib.Path(f"{folder}/{name}").read_text())["results"][0]["times"])]
            print(f"{command}: medians of {runs} runs, {agree(times['ours'], times['theirs'])}")


def overhead(options):
    """What measuring a command costs beside the command: CPU and wall time of 500 runs of true, in turns (bar: hyperfine's)."""
    walls, said, cpus = ({"leadline": [], "hyperfine": []} for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(7):
            for name, command in (("leadline", [LEADLINE, "bench", "--runs", 500, "--export-json", f"{folder}/o", "--", "true"]),
                                  ("hyperfine", ["hyperfine", "-N", "--style", "none", "--runs", 500, "--export-json", f"{folder}/o", "true"])):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                walls[name].append(timed(*command))
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpus[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                said[name].append(statistics.median(json.loads(pathlib.Path(f"{folder}/o").read_text())["results"][0]["times"]))
    for name in walls:
        print(f"{name}: 500 runs of true take {min(cpus[name]):.3f} s of CPU at best ({statistics.median(cpus[name]):.3f} median), {min(walls[name]):.3f} s of time ({statistics.median(walls[name]):.3f}); a run is said to take {statistics.median(said[name]) * 1e3:.3f} ms")


def verdict_time(options):
    """10 % on a command of 50 ms: until compare says so, and until pyperf's command and compare_to with their defaults have (bar: 60 %)."""
    short, long = loops_of(0.05, 0.055)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, words = [], [], []
        for name, n in (("a", short), ("b", long)):
            pathlib.Path(f"{folder}/{name}.py").write_text(LOOP.format(n=n))
        a, b = ([PYTHON, "-S", f"{folder}/{name}.py"] for name in "ab")
        for i in range(options.count or 3):
            begin = time.perf_counter()
            v = compare("-N", "-c", " ".join(a), "-c", " ".join(b))
            ours.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            for name, command in (("a", a), ("b", b)):
                run(PYTHON, "-m", "pyperf", "command", "-o", f"{folder}/{name}{i}.json", "--name", "x", "--", *command)
            said = run(PYTHON, "-m", "pyperf", "compare_to", f"{folder}/a{i}.json", f"{folder}/b{i}.json")
            theirs.append(time.perf_counter() - begin)
            words.append((v["verdict"], round(v["ratio"], 3), said.strip().rpartition(":")[2].strip()))
    print(f"10 % of 50 ms: compare {statistics.median(ours):.1f} s, pyperf {statistics.median(theirs):.1f} s: {statistics.median(ours) / statistics.median(theirs):.0%}; {words}")


FIGURES = {f.__name__: f for f in (aa, resampled, planted, loop, pyperf, hyperfine, overhead, verdict_time)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=FIGURES, help="one figure; may be repeated")
    parser.add_argument("--count", type=int, help="trials of a figure that has some")
    parser.add_argument("--keep", help="file for the blocks of aa, and of resampled")
    options = parser.parse_args()
    if not shutil.which("hyperfine"):
        print("hyperfine is not here: its figures fail")
    for name in options.only or [n for n in FIGURES if n != "resampled" or options.keep]:
        print(f"{name}: {FIGURES[name].__doc__.splitlines()[0]}", flush=True)
        FIGURES[name](options)


if __name__ == "__main__":
    main()
