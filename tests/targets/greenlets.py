"""Greenlets that take turns: two that ping and pong, a hub with many, one that fails, one that is given up, one in another thread; prints how long
the steps of the first two took. With an argument it takes the trace function of greenlet away; "chained": and puts one of its own before it, whose calls are counted."""

import json
import sys
import threading
import time

import greenlet

took = {"step_a": 0.0, "step_b": 0.0}
switches = []


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def step_a():
    spin(0.001)


def step_b():
    spin(0.003)


def timed(step):
    begun = time.perf_counter()
    step()
    took[step.__name__] += time.perf_counter() - begun


def ping(n):
    for _ in range(n):
        timed(step_a)
        other.switch(n)


def pong(n):
    for _ in range(n):
        timed(step_b)
        one.switch()


def deep(n):
    if n:
        return deep(n - 1) + 1
    hub.switch()
    return 0


def worker(n):
    for i in range(n):
        deep(i % 5)
    return n


def run_hub():
    """As an event loop does: all others wait for it, and it goes on with whoever is next."""
    ready = [greenlet.greenlet(worker) for _ in range(20)]
    for g in ready:
        g.switch(10)
    while ready:
        for g in ready:
            g.switch()
        ready = [g for g in ready if not g.dead]


def failing():
    try:
        hub.switch()
    finally:
        cleaned()
    raise KeyError


def cleaned():
    pass


def abandoned():
    try:
        hub.switch()
    finally:
        cleaned()


def in_thread():
    me = greenlet.getcurrent()

    def body():
        for _ in range(5):
            me.switch()

    g = greenlet.greenlet(body)
    for _ in range(6):
        g.switch()


one = greenlet.greenlet(ping)
other = greenlet.greenlet(pong)


def main():
    global hub
    one.switch(40)
    hub = greenlet.greenlet(run_hub)
    hub.switch()
    hub = greenlet.getcurrent()
    g = greenlet.greenlet(failing)
    g.switch()
    try:
        g.switch()
    except KeyError:
        pass
    g = greenlet.greenlet(abandoned)
    g.switch()
    del g
    t = threading.Thread(target=in_thread)
    t.start()
    t.join()


if sys.argv[1:]:
    before = greenlet.settrace(None)
if sys.argv[1:] == ["chained"]:
    greenlet.settrace(lambda event, args: (switches.append(event), before and before(event, args)))
main()
sys.stdout.write(json.dumps(dict(took, switches=len(switches))))
