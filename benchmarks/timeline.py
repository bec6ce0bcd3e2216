"""What a timeline takes: bytes an event, events lost, memory of the tool, and what it adds to the program.

    python benchmarks/timeline.py [--events N] [LABEL …]

A mix of short calls (recursion, methods, C functions, generators, json) runs plain, under --trace and under --trace=timeline until there
are at least N events, 10 M unless said otherwise. An event is a begin or an end. The bar: 6 bytes an event, none lost.
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile

from in_turn import LEADLINE, interpreters, ours

BAR = 6
EVENTS_PER_ROUND = 95_000  # of MIX, at least, on every version

MIX = """
import json, sys, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

class Point:
    def __init__(self, x):
        self.x = x
    def step(self, d):
        self.x = abs(self.x + d) % 1000003
        return len("abc")

def numbers(n):
    for i in range(n):
        yield i

def work():
    fib(20)
    p = Point(1)
    for i in range(5000):
        p.step(i)
    sum(x for x in numbers(5000))
    for i in range(100):
        json.loads(json.dumps({"a": [1, 2, {"b": i}], "c": "text"}))

begin = time.perf_counter()
for i in range(int(sys.argv[1])):
    work()
print(time.perf_counter() - begin)
"""


def measure(label, rounds):
    """Seconds plain, traced and with a timeline; what the recording says of itself; its size."""
    python = interpreters.require(label)
    with tempfile.TemporaryDirectory(dir=interpreters.shared_folder(label)) as folder:
        os.chmod(folder, 0o755)
        script, out = f"{folder}/mix.py", f"{folder}/x.lead"
        with open(script, "w") as file:
            file.write(MIX)
        command = python.command(script, str(rounds))
        env = {**os.environ, "TMPDIR": interpreters.shared_folder(label)}

        def seconds(*words):
            r = subprocess.run([*words, *command], env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            return float(r.stdout)

        plain = seconds()
        traced = seconds(*ours(f"{folder}/t.lead", "--trace"))
        timeline = seconds(*ours(out, "--trace=timeline"))
        report = subprocess.run([LEADLINE, "report", out, "--json"], check=True, stdout=subprocess.PIPE)
        return plain, traced, timeline, json.loads(report.stdout)["fidelity"], os.stat(out).st_size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("labels", nargs="*", default=["3.8", "3.11", "3.13", "3.13t"])
    options = parser.parse_args()
    rounds = options.events // EVENTS_PER_ROUND + 1
    print("python   events  bytes each   file/event   lost   added: trace  timeline")
    for label in options.labels:
        plain, traced, timeline, f, size = measure(label, rounds)
        events, each = f["timeline_events"], f["timeline_bytes"] / f["timeline_events"]
        print(f"{label:6} {events / 1e6:7.1f} M {each:9.2f} {size / events:12.2f} {f['timeline_lost']:6.0f} {traced - plain:11.2f} s"
              f" {timeline - plain:6.2f} s   {'ok' if each <= BAR and not f['timeline_lost'] and events >= options.events else 'MISSED'}")
    print(f"largest process of all of these: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
