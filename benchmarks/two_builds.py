"""Two builds of leadline side by side: did a change of the tool itself cost anything?

    python benchmarks/two_builds.py OLD NEW [--time SECONDS] [--python EXE] [--only WORD,…]

OLD and NEW are executables. Each row is judged by NEW's own `compare` (blocks of A, B and A again): the ratio of new to old, with its 95 %
interval, and the verdict at 1 %. Rows that record time the whole command, rows that read use one recording made by OLD.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data"


def rows(python, folder):
    """(name, arguments of leadline): what is timed with both builds. {out} is a file of the row's own."""
    recording, traced = folder / "calls.lead", folder / "traced.lead"
    trace = next(iter(sorted((DATA / "torch").glob("*conv*.json*"))), None)
    run = f"run --report=/dev/null -o {{out}} {python}"
    yield "start", f"time --report=/dev/null {python} -c pass"
    yield "sampling", f"{run} {HERE / 'calls.py'}"
    yield "sampling, 200 threads", f"{run} {HERE / 'threads.py'} 0.7 idle"
    yield "tracing", f"run --report=/dev/null --trace -o {{out}} {python} {HERE / 'calls.py'}"
    yield "lines", f"run --report=/dev/null --lines=hot -o {{out}} {python} {HERE / 'loop.py'}"
    yield "counting", f"run --report=/dev/null --count -o {{out}} {python} {HERE / 'calls.py'}"
    for name, options in ("report", "--lines"), ("report of a trace", "--tree"):
        yield name, f"report {options} {recording if name == 'report' else traced}"
    yield "flame graph", f"export {recording} -f svg -o {{out}}"
    yield "page", f"view {recording} -o {{out}}.html"
    if trace:
        yield "operators", f"report --ops {trace}"


def record(tool, python, folder):
    for options, name in ((["--rate", "5000"], "calls.lead"), (["--trace"], "traced.lead")):
        subprocess.run([tool, "run", "--report=/dev/null", *options, "-o", str(folder / name), python, str(HERE / "calls.py")], check=True, capture_output=True)


def judge(old, new, arguments, seconds, folder):
    """compare's answer for the same command with both builds."""
    commands = [f"{shlex.quote(str(pathlib.Path(tool).resolve()))} {arguments.format(out=folder / f'{side}.out')} >/dev/null 2>&1"
                for side, tool in (("a", old), ("b", new))]
    done = subprocess.run([new, "compare", "--json", f"--time={seconds}", "--prepare", f"rm -f {folder}/*.out*", "-c", commands[0], "-c", commands[1]], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
    return json.loads(done.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("old")
    p.add_argument("new")
    p.add_argument("--time", type=float, default=20, help="seconds for each row")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--only", default="")
    o = p.parse_args()
    sizes = [pathlib.Path(t).stat().st_size for t in (o.old, o.new)]
    print(f"executable: {sizes[0] / 1e6:.2f} MB → {sizes[1] / 1e6:.2f} MB ({sizes[1] / sizes[0]:.3f})", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record(o.old, o.python, folder)
        for what, arguments in rows(o.python, folder):
            if o.only and not any(word in what for word in o.only.split(",")):
                continue
            try:
                r = judge(o.old, o.new, arguments, o.time, folder)
                interval = "too few blocks" if None in (r["low"], r["high"]) else f"{r['low']:.3f} … {r['high']:.3f}"
                print(f"{what:24} {r['ratio']:.3f} ({interval})  {r['verdict']}, {r['blocks']} blocks", flush=True)
            except (RuntimeError, ValueError, KeyError) as e:
                print(f"{what:24} failed: {e}", flush=True)


if __name__ == "__main__":
    main()
