"""A program for `leadline dump`: threads with names, and locals of many types, all standing still.

Says "ready" when all are in place, then waits for the end of its input."""
import collections
import sys
import threading

Point = collections.namedtuple("Point", "x y")


class Plain:
    def __init__(self):
        self.attribute = 1


class Text(str):
    pass


ready = threading.Semaphore(0)
leave = threading.Event()


def wait_here():
    ready.release()
    leave.wait()


def holds_values(first, *rest, key=3, **others):
    none, yes, no = None, True, False
    small, negative, zero, large = 42, -7, 0, 2**100
    huge = 10**400
    pi, tiny, whole, inf = 3.14159, 1e-7, 100.0, float("inf")
    cplx = 1 - 2j
    text, quoted, wide = "hello", "it's", "größe 数 🙂"
    raw = b"\x00bytes\xff"
    numbers, empty = [1, 2, 3], []
    many = list(range(100))
    pair, single = (1, "two"), (1,)
    table = {"a": 1, 2: [3, {"deep": (4, [5])}]}
    unique, frozen, nothing = {7}, frozenset({8}), set()
    point = Point(1, 2)
    error = ValueError("bad", 3)
    plain = Plain()
    special = Text("sub")
    function, module, cls = wait_here, sys, Plain
    shared = "in a cell"

    def inner(argument):
        local = shared * 1
        wait_here()
        return local

    inner(first)
    return locals()


def worker(number):
    wait_here()


threads = [threading.Thread(target=worker, args=(i,), name=f"worker-{i}") for i in range(3)]
threads.append(threading.Thread(target=holds_values, args=(1, 2, 3), kwargs={"key": 4, "more": 5}, name="Wörter 数"))
for t in threads:
    t.start()
for t in threads:
    ready.acquire()
print("ready", flush=True)
sys.stdin.read()
leave.set()
