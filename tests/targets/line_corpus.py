"""Every way a line can be begun, left and come back to. Does the same thing each time it runs."""
import asyncio
import sys
import threading


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def count_to(n):
    i = 0
    while i < n:
        got = yield i
        i += got or 1
    return "done"


def delegate(n):
    result = yield from count_to(n)
    yield result


def generators():
    total = sum(count_to(7))
    g = count_to(10)
    next(g)
    g.send(3)
    g.close()
    for item in delegate(3):
        total += item != "done"
    left_alone = count_to(3)
    next(left_alone)
    thrown = catcher()
    next(thrown)
    try:
        thrown.throw(KeyError)
        thrown.throw(ValueError)
    except ValueError:
        total += 1
    return total


def catcher():
    while True:
        try:
            yield 1
        except KeyError:
            continue
        finally:
            sys.getsizeof(1)


async def worker(name, log):
    for i in range(4):
        log.append((name, i))
        await asyncio.sleep(
            0)
    return (await helper(name)) + await helper(name)


async def helper(name):
    await asyncio.sleep(0)
    return len(name)


async def numbers(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def gather():
    log = []
    results = await asyncio.gather(worker("a", log), worker("bb", log), worker("ccc", log))
    squares = [x * x async for x in numbers(3)]
    async for x in numbers(2):
        squares.append(x)
    return results, squares


def raises(depth):
    if depth:
        raises(depth - 1)
    raise ValueError(depth)


def exceptions():
    caught = 0
    for depth in range(4):
        try:
            raises(depth)
        except KeyError:
            caught -= 1
        except ValueError as e:
            caught += len(e.args)
        else:
            caught -= 10
        finally:
            caught += 1
    try:
        list(map(raises, [2]))
    except ValueError:
        pass
    return caught


class Guard:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return exc[0] is KeyError


def withs():
    with Guard() as a, \
            Guard():
        b = a
    with Guard():
        raise KeyError
    for i in range(3):
        with Guard():
            if i == 1:
                continue
            if i == 2:
                break
    return b


def comprehensions(n):
    a = [i * i
         for i in range(n)
         if i % 2]
    b = {i: [j for j in range(i)] for i in a}
    c = sum(
        x
        for x in a
    )
    d = {x for x in a}; e = (lambda x: x + 1)(c)
    return a, b, d, e


def loops(n):
    found = 0
    for i in range(n):
        if i == 99:
            break
    else:
        found += 1
    while n:
        n -= 1
        if n == 2:
            break
    else:
        found += 10
    for i in range(3): found += i
    while found < 9: found += 1
    return found


def expressions(a, b):
    x = (a +
         b *
         len(
             str(a)
         ))
    y = dict(
        one=a,
        two=[
            b,
            x,
        ],
    )
    z = a if a > b else \
        b
    return x and y and \
        z


def outer(n):
    def inner(k):
        nonlocal n
        n += k
        return n

    for k in range(3):
        inner(k)
    return sorted([3, 1, 2], key=lambda v:
                  -v)


class Thing:
    size = 3

    def __init__(self):
        self.items = list(range(self.size))

    @property
    def total(self):
        return sum(self.items)

    @staticmethod
    def make():
        return Thing()

    def __del__(self):
        self.items = None


def threads(n):
    seen = []

    def body(k):
        for i in range(5):
            seen.append(i * k)

    all_threads = [threading.Thread(target=body, args=(k,)) for k in range(n)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    return len(seen)


def empty(): pass


def main():
    fib(9)
    is_even(9)
    generators()
    asyncio.run(gather())
    exceptions()
    withs()
    comprehensions(5)
    loops(5)
    loops(100)
    expressions(3, 4)
    expressions(5, 4)
    outer(1)
    Thing.make().total
    threads(8)
    empty()
    exec(compile("a = 1\nfor i in range(3):\n    a += i\n", __file__, "exec"), {})


if __name__ == "__main__":
    main()
