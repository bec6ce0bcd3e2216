"""What a program of this folder did, by its own clocks: seconds of CPU and of wall time in each function, threads, processes.

    TRUTH = Truth(sys.argv[1])
    def leaf():
        with TRUTH.of("leaf"):
            burn(0.001)
    TRUTH.write()

With GO in the environment it makes the file TRUTH.waits and begins when the one that GO names is there: for who attaches.
Processes that end before the last one leave their part with part(); write() adds up what all of them left, and says what the
kernel counted for this process and those it has waited for (before the program proper began, and in all). No profiler is asked for anything here.
"""
import contextlib
import glob
import json
import os
import resource
import sys
import threading
import time


def burn(cpu_s):
    """Computes until this thread has had that much CPU time."""
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        for _ in range(200):
            pass


def burn_until(end):
    """Computes until the monotonic clock says so."""
    while time.monotonic() < end:
        for _ in range(200):
            pass


def kernel_cpu_s():
    """Of this process and those below it that have been waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def wait_for(go, waits):
    with open(waits, "w"):
        pass
    while not os.path.exists(go):
        time.sleep(0.01)


class Truth:
    def __init__(self, path):
        self.path = path
        if "GO" in os.environ:
            wait_for(os.environ.pop("GO"), path + ".waits")
        self.began, self.cpu_before_s = time.monotonic(), kernel_cpu_s()
        self.threads = 1  # of this process, the first one among them
        self.other_processes = 0  # that leave no part
        self.told = {}  # further keys of what write() writes
        self.calls = []  # (function, seconds of CPU, of wall time)

    @contextlib.contextmanager
    def of(self, name):
        """Around the whole body of a function: it must run on one thread from here to there."""
        wall, cpu = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            cpu, wall = time.thread_time() - cpu, time.monotonic() - wall
            self.add(name, cpu, wall)

    def add(self, name, cpu_s, wall_s):
        """Without a lock: who waits for one would be in a function whose clock has stopped."""
        self.calls.append((name, cpu_s, wall_s))

    def start(self, target, *args):
        """A thread, counted."""
        thread = threading.Thread(target=target, args=args)
        self.threads += 1
        thread.start()
        return thread

    def part(self):
        """Leaves what this process did so far; called at the end of one that is not the last, or before it becomes another program."""
        functions = {}
        for name, cpu_s, wall_s in self.calls:
            f = functions.setdefault(name, {"cpu_s": 0.0, "wall_s": 0.0, "calls": 0})
            f["cpu_s"] += cpu_s
            f["wall_s"] += wall_s
            f["calls"] += 1
        own = {"pid": os.getpid(), "threads": self.threads, "functions": functions}
        name = "%s.part.%d.%d" % (self.path, os.getpid(), time.monotonic_ns())
        with open(name + ".new", "w") as f:
            json.dump(own, f)
        os.rename(name + ".new", name)
        self.calls, self.threads = [], 0

    def forget(self):
        """In a process just forked: what it did is to be told by itself."""
        self.calls, self.threads = [], 1

    def write(self):
        """The truth of all processes together."""
        self.part()
        functions, threads, pids = {}, 0, set()
        for name in glob.glob(glob.escape(self.path) + ".part.*"):
            with open(name) as f:
                part = json.load(f)
            os.unlink(name)
            pids.add(part["pid"])
            threads += part["threads"]
            for function, own in part["functions"].items():
                whole = functions.setdefault(function, dict.fromkeys(own, 0))
                for key in own:
                    whole[key] += own[key]
        truth = {"python": sys.version.split()[0], "functions": functions, "threads": threads + self.other_processes,
                 "processes": len(pids) + self.other_processes, "wall_s": time.monotonic() - self.began, "cpu_s": kernel_cpu_s(), "cpu_before_s": self.cpu_before_s}
        truth.update(self.told)
        with open(self.path + ".new", "w") as f:
            json.dump(truth, f, indent=1)
        os.rename(self.path + ".new", self.path)
