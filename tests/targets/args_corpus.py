"""Functions called with arguments of all kinds, some again and again; prints how often an object of its own was asked anything."""

import os
import sys
import threading

asked = 0


def ask(self, *rest):
    global asked
    asked += 1
    return 1


class Hostile:
    """Must be left alone."""

    __slots__ = ()
    __hash__ = __len__ = __repr__ = __eq__ = __str__ = __index__ = __bool__ = __float__ = __iter__ = __getattribute__ = ask


class Text(str):
    __hash__ = __len__ = __repr__ = __eq__ = __str__ = __iter__ = ask


class Number(int):
    __hash__ = __repr__ = __eq__ = __str__ = __index__ = __bool__ = __int__ = ask


class Meta(type):
    __hash__ = __repr__ = __eq__ = __instancecheck__ = __subclasscheck__ = ask


Odd = Meta("Odd", (), {})


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def distinct(i):
    return i


def twice(i):
    return i


def in_threads(i):
    return i


def kinds(none, truth, number, big, real, text, raw, pair, items, table, *rest, key=None, **more):
    return lambda: (number, key)  # these two lie in cells


def texts(text):
    return None


def objects(o):
    return None


def generate(n):
    yield n
    yield n


def none():
    return None


def many(a, b, c, d, e, f, g, h, i, j, k, l, m, n):
    return None


def work():
    for i in range(1000):
        in_threads(i)


def main():
    fib(20)
    for i in range(20000):
        distinct(i)
        twice(i // 2)
    for _ in range(30):
        kinds(None, True, -7, 1 << 80, 0.5, "ab", b"abc", (1, (2, "x")), [1, 2], {}, 1, key=3, other=4)
        none()
        many(*range(14))
    for i in range(30):
        texts("x%d" % (i % 3))
    for o in (Hostile(), Text("a"), Number(3), Odd()):
        for _ in range(10):
            objects(o)
    for i in range(40):
        list(generate(i % 4))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    sys.stdout.write("asked %d\n" % asked)


main()
if not os.fork():
    for i in range(10):
        objects(i % 2)
    os._exit(0)
os.wait()
