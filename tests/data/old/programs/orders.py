import os
import threading
import time


def price(rows):
    total = 0
    for row in range(rows):
        total += row * row % 7
    return total


def parse(text):
    return [int(part) for part in text.split(",")]


def load(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        price(800)
        parse("1,2,3,4,5,6,7,8" * 40)


def fetch(seconds):
    time.sleep(seconds)


def main(seconds):
    threads = [threading.Thread(target=load, args=(seconds,), name="loader"), threading.Thread(target=fetch, args=(seconds,), name="fetcher")]
    child = os.fork()
    if child == 0:
        load(seconds / 2)
        os._exit(0)
    for thread in threads:
        thread.start()
    load(seconds)
    for thread in threads:
        thread.join()
    os.waitpid(child, 0)


main(0.12)
