"""Every way of calling that tracers get wrong; what is called and how often is decided by nothing but this text."""

import functools
import sys


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def deep(n):
    return deep(n - 1) + 1 if n else 0


# ---- generators


def numbers(n):
    for i in range(n):
        yield i


def delegating(n):
    yield from numbers(n)
    return (yield -1)


def catching():
    while True:
        try:
            yield 1
        except ValueError:
            yield 2


def raising():
    yield 1
    raise KeyError("from a generator")


def tree(n):
    if n:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)


def use_generators():
    list(numbers(5))
    list(delegating(3))
    sum(x for x in numbers(4))
    g = catching()
    next(g)
    g.throw(ValueError("in"))
    next(g)
    g.close()
    try:
        for _ in raising():
            pass
    except KeyError:
        pass
    half = numbers(10)
    next(half)
    next(half)
    half.close()  # while suspended
    numbers(3).close()  # never begun
    unbegun = numbers(3)
    try:
        unbegun.throw(ValueError("before it began"))
    except ValueError:
        pass
    list(tree(4))
    list(zip(numbers(3), numbers(5)))


# ---- exceptions


def fails(depth):
    if depth == 0:
        raise RuntimeError("deep")
    return fails(depth - 1)


def key_fails(x):
    if x == 3:
        raise ValueError(x)
    return -x


def handles():
    try:
        fails(5)
    except RuntimeError:
        pass
    try:
        sorted([1, 2, 3, 4], key=key_fails)  # through a C frame
    except ValueError:
        pass
    try:
        int("x")
    except ValueError:
        pass
    try:
        len(5)
    except TypeError:
        pass
    try:
        [].pop()
    except IndexError:
        pass
    try:
        getattr(handles, "nothing")
    except AttributeError:
        pass
    try:
        fib()  # wrong arguments: never begins
    except TypeError:
        pass


# ---- other callables


def doubled(f):
    @functools.wraps(f)
    def twice(*args):
        f(*args)
        return f(*args)

    return twice


@doubled
def decorated(x):
    return abs(x)


@functools.lru_cache(maxsize=None)
def cached(n):
    return n if n < 2 else cached(n - 1) + cached(n - 2)


class Base:
    made = [i * i for i in range(3)]

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return hash(self.x)

    def __lt__(self, other):
        return self.x < other.x

    def __del__(self):
        Base.gone = getattr(Base, "gone", 0) + 1

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return True

    def __call__(self, y):
        return self.x + y

    def __getattr__(self, name):
        if name == "missing":
            raise AttributeError(name)
        return len(name)

    @property
    def double(self):
        return 2 * self.x

    @classmethod
    def make(cls, x):
        return cls(x)

    @staticmethod
    def plain(x):
        return max(x, 0)


class Derived(Base):
    def __init__(self, x):
        super().__init__(x)


class Listing(list):
    def append(self, x):
        super().append(x)
        list.append(self, x)


def use_objects():
    things = [Derived(i) for i in range(10)]
    sorted(things)
    min(things)
    things[0] == things[1]
    {things[0]: 1, things[1]: 2}
    things[0](3)
    things[0].double
    Derived.make(4)
    Base.plain(4)
    things[0].something
    hasattr(things[0], "missing")
    with things[0]:
        raise ValueError("swallowed")
    listing = Listing()
    for i in range(3):
        listing.append(i)
    "a,b".split(",")
    str.split("a b")
    list(map(abs, [1, -2]))
    list(map(lambda x: x + 1, [1, 2, 3]))
    functools.reduce(lambda a, b: a + b, [1, 2, 3])
    functools.partial(fib, 3)()
    print(*[], sep="", end="")
    fib(*[4])
    fib(**{"n": 4})
    abs(*[4])
    dict.fromkeys("ab")


def comprehensions():
    [fib(i) for i in range(3)]
    {fib(i) for i in range(3)}
    {i: fib(i) for i in range(3)}
    any(fib(i) for i in range(3))
    [j for i in range(3) for j in [len(str(k)) for k in range(i)]]


def use_exec():
    for i in range(5):
        exec("def made(x):\n    return len(str(x))\nmade(%d)\nmade(1)" % i, {})
        eval("(lambda: abs(-1))()")
    type("Made", (), {"f": lambda self: 1})().f()


for _ in range(3):
    fib(8)
even(9)
deep(300)
use_generators()
handles()
decorated(-1)
cached(10)
use_objects()
comprehensions()
use_exec()
sys.exit(0)
