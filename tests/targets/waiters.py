"""Forty threads that wait beside one that works. Now and then one of them works, too, and half-way all of them go and
wait elsewhere.

    waiters.py SECONDS      prints how long they were at what, in thread-seconds
"""
import json
import sys
import threading
import time

THREADS, EVERY_S, WORK_S = 40, 0.25, 0.04
move, end = threading.Event(), threading.Event()
turns = [threading.Event() for _ in range(THREADS)]
spent = {"work": 0.0, "first": 0.0, "second": 0.0}
lock = threading.Lock()


def work():
    until = time.monotonic() + WORK_S
    while time.monotonic() < until:
        pass


def first(turn):
    while not move.is_set():
        turn.wait()
        turn.clear()
        if not move.is_set():
            begin = time.monotonic()
            work()
            with lock:
                spent["work"] += time.monotonic() - begin


def second():
    end.wait()


def waiter(turn):
    times = [time.monotonic()]
    for place, args in ((first, [turn]), (second, [])):
        place(*args)
        times.append(time.monotonic())
    with lock:
        spent["first"] += times[1] - times[0]
        spent["second"] += times[2] - times[1]


def busy(seconds):
    begin = time.monotonic()
    for i in range(round(seconds / EVERY_S)):
        while time.monotonic() < begin + i * EVERY_S:
            pass
        if i * EVERY_S < seconds / 2:
            turns[i % THREADS].set()
        else:
            move.set()
            for turn in turns:
                turn.set()


if __name__ == "__main__":
    threads = [threading.Thread(target=waiter, args=(turn,)) for turn in turns]
    for t in threads:
        t.start()
    busy(float(sys.argv[1]))
    end.set()
    for t in threads:
        t.join()
    print(json.dumps(spent))
