"""Many threads: 200 that wait beside one that works, or 200 that work in turn.

    threads.py SECONDS idle      prints what pace.py says of the one that works
    threads.py SECONDS turns     each thread works 2 ms of every 400; prints how long each was at it ("truth", seconds)
    threads.py SECONDS alone     the one that works, without the others
"""
import json
import sys
import threading
import time

import pace

THREADS = 200
TURN_S = 0.002

# Functions of their own, so that any profiler's names tell the threads apart.
TURN = """
def turn_{0:03}(begin, end, truth):
    spent = 0.0
    while begin < end:
        time.sleep(max(begin - time.monotonic(), 0))
        start = time.monotonic()
        work_{0:03}(begin + TURN_S)
        spent += time.monotonic() - start
        begin += TURN_S * THREADS
    truth["work_{0:03}"] = spent

def work_{0:03}(until):
    while time.monotonic() < until:
        pass
"""


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def unit():
    fib(15)


def wait_beside():
    never = threading.Event()
    for _ in range(THREADS):
        threading.Thread(target=never.wait, daemon=True).start()


def take_turns(seconds):
    functions = {"time": time, "TURN_S": TURN_S, "THREADS": THREADS}
    for i in range(THREADS):
        exec(TURN.format(i), functions)
    truth = {}
    begin = time.monotonic() + 0.5
    threads = [threading.Thread(target=functions[f"turn_{i:03}"], args=(begin + i * TURN_S, begin + seconds, truth))
               for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(json.dumps({"truth": truth, "marks": [[begin, 0], [time.monotonic(), 1]]}))


if __name__ == "__main__":
    duration, mode = float(sys.argv[1]), sys.argv[2]
    if mode == "turns":
        take_turns(duration)
    else:
        if mode == "idle":
            wait_beside()
        pace.run(unit, duration)
