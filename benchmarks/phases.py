"""Ways of calling, each of a length to measure: prints for each "name seconds", by its own clock."""
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursion(n):
    for _ in range(n):
        fib(17)


def builtins(n):
    items = []
    for i in range(n * 3000):
        items.append(ord("a"))
        len(items)
        abs(i)
        if len(items) > 1000:
            items.clear()


class Point:
    def __init__(self, x):
        self.x = x

    def step(self, d):
        self.x = (self.x + d) % 1000003
        return self.x

    def far(self, d):
        return self.step(d) + self.step(-d)


def methods(n):
    p = Point(1)
    for i in range(n * 900):
        p.far(i)


def numbers(n):
    for i in range(n):
        yield i


def doubled(source):
    for i in source:
        yield i * 2


def generators(n):
    for _ in range(n):
        for _ in doubled(numbers(2200)):
            pass


def handle(record):
    fields = record.split(",")
    fields.sort()
    key = "-".join(fields).upper()
    return hash(key) ^ sum(map(int, fields)) ^ max(fields, key=len).count("1")


def work(n):
    records = [",".join(str(i * k) for k in range(30)) for i in range(10)]
    for _ in range(n * 4):
        for record in records:
            handle(record)


if __name__ == "__main__":
    for phase in (recursion, builtins, methods, generators, work):
        began = time.perf_counter()
        phase(int(sys.argv[1]))
        print(phase.__name__, time.perf_counter() - began)
