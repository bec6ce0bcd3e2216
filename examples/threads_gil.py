"""Does the same amount of work in 1, 2, 4, ... threads and prints how long each took.
Run it on an ordinary build and on a free-threaded one (3.13t or later, or -X gil=0 there).

Needs nothing. Run:  python threads_gil.py [scale [most_threads]]   (scale 1 with at most 4 threads)
"""

# what is wrong with it: with the GIL one thread runs bytecode at a time, so more gain nothing; use 3.13t or processes
import sys
import threading
import time

NUMBERS = 300_000


def is_prime(n):
    if n < 2:
        return False
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True


def count_primes(numbers, results, slot):
    results[slot] = sum(1 for n in numbers if is_prime(n))


def run_with(threads, limit):
    """Count the primes below limit; the odd numbers are dealt out to that many threads: (count, seconds)."""
    results = [0] * threads
    workers = [
        threading.Thread(target=count_primes, args=(range(3 + 2 * slot, limit, 2 * threads), results, slot), name=f"primes-{slot}")
        for slot in range(threads)
    ]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 1 + sum(results), time.perf_counter() - start  # and 2


def describe_build():
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    version = "{}.{}".format(*sys.version_info[:2])
    return f"Python {version} {'with' if gil else 'without'} the GIL"


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    limit = max(10, round(NUMBERS * scale))
    times = []
    threads = 1
    while threads <= most:
        count, seconds = run_with(threads, limit)
        times.append(f"{threads} thread{'s' if threads > 1 else ''} {seconds:.2f} s")
        threads *= 2
    print(f"{describe_build()}: {count} primes below {limit}: {', '.join(times)}")


if __name__ == "__main__":
    main()
