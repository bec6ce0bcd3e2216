"""Ways of calling, each of a length to measure, by their own clocks.

    phases.py SIZE [fitted|kept]

Prints {phase: [[seconds, waited, unit], …]}. A phase comes in pieces: the CPU time a piece took, how long it waited for a CPU meanwhile, and how long
a fixed piece of work took before and after it, which is one call of a C function, so that no tracing makes it slower. That tells the pace of
the CPU, which changes by half from one moment to the next where others use it.

There are five shapes of calls: recursion, C functions, methods, generators, and calls that do some work. The intervals of corrected times
were fitted on the `fitted` programs; the `kept` ones were never used for that and judge them.
"""
import json
import sys
import time
from collections import deque

PIECES = 40
TABLE = list(range(100000, 100400))


def unit():
    """Seconds of the fixed work just now: the least of three, as the CPU may be taken away during one."""
    least = 1.0
    for _ in range(3):
        began = time.perf_counter()
        deque(map(str, TABLE), 0)
        least = min(least, time.perf_counter() - began)
    return least


# ---- fitted ---------------------------------------------------------------------------------------------------------


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


def depth(tree):
    left, right = tree
    return 1 + max(depth(left) if left else 0, depth(right) if right else 0)


def recursion_2(n):
    tree = (None, None)
    for _ in range(9):
        tree = (tree, tree)
    for _ in range(n):
        depth(tree)


def builtins_2(n):
    words = {"a": 1, "b": 2}
    for i in range(n * 2000):
        words.get("b")
        "some text".startswith("some")
        isinstance(i, int)
        (i).bit_length()


class Queue:
    def __init__(self):
        self.items = [0] * 64
        self.at = 0

    def put(self, value):
        self.items[self.at & 63] = value
        self.at += 1

    def get(self):
        self.at -= 1
        return self.items[self.at & 63]


def methods_2(n):
    q = Queue()
    for i in range(n * 1300):
        q.put(i)
        q.get()


def pairs(n):
    for i in range(n):
        for k in range(i):
            yield i, k


def generators_2(n):
    for _ in range(n * 3):
        sum(i * k for i, k in pairs(40))


def smooth(row):
    out = row[:]
    for i in range(1, len(row) - 1):
        out[i] = (row[i - 1] + 2 * row[i] + row[i + 1]) / 4
    return out


def work_2(n):
    row = [float(i % 7) for i in range(60)]
    for _ in range(n * 30):
        row = smooth(row)




def tak(x, y, z):
    if y >= x:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


def recursion_3(n):
    for _ in range(n):
        tak(10, 5, 1)


def hanoi(n, source, target, spare, moves):
    if n:
        hanoi(n - 1, source, spare, target, moves)
        moves[target] += 1
        hanoi(n - 1, spare, target, source, moves)


def recursion_4(n):
    for _ in range(n):
        hanoi(11, 0, 2, 1, [0, 0, 0])


def builtins_3(n):
    seen = set()
    for i in range(n * 2000):
        seen.add(i & 255)
        chr(65 + (i & 15))
        pow(i, 2)
        hash(i)


def builtins_4(n):
    stack = list(range(50))
    text = "north,south"
    for i in range(n * 1500):
        stack.append(i)
        stack.pop()
        text.find("s")
        divmod(i, 7)
        callable(i)


class Account:
    rate = 3

    def __init__(self):
        self.balance = 100

    @property
    def interest(self):
        return self.balance * self.rate // 100

    def deposit(self, amount):
        self.balance += amount
        if self.balance > 1000000:
            self.balance = 0

    @staticmethod
    def checked(amount):
        return amount & 1023


class Savings(Account):
    def deposit(self, amount):
        super().deposit(amount + self.interest % 3)


def methods_3(n):
    a = Account()
    for i in range(n * 900):
        a.deposit(a.checked(i))
        a.interest


def methods_4(n):
    a = Savings()
    for i in range(n * 600):
        a.deposit(i & 63)


def walk(tree):
    if tree:
        left, value, right = tree
        yield from walk(left)
        yield value
        yield from walk(right)


def generators_3(n):
    tree = None
    for i in range(6):
        tree = (tree, i, tree)
    for _ in range(n * 8):
        for _ in walk(tree):
            pass


def running(first):
    total = first
    while True:
        total = (total + (yield total)) & 0xFFFF


def generators_4(n):
    average = running(0)
    next(average)
    for i in range(n * 2500):
        average.send(i)


def tokens(line):
    out = []
    for word in line.split():
        if word.isdigit():
            out.append(int(word))
        elif word in "+-*":
            out.append(word)
        else:
            out.append(word.strip("()").lower())
    return out


def work_3(n):
    lines = ["alpha + 12 * (beta - 7) * gamma + 99 - delta * 3"] * 20
    for _ in range(n * 5):
        for line in lines:
            tokens(line)


def sieve(limit):
    flags = bytearray([1]) * limit
    for i in range(2, int(limit ** 0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = bytes(len(range(i * i, limit, i)))
    return [i for i, flag in enumerate(flags) if flag]


def work_4(n):
    for _ in range(n * 4):
        sieve(1500)


# ---- kept -----------------------------------------------------------------------------------------------------------


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def kept_recursion(n):
    for _ in range(n * 4):
        ackermann(2, 18)


def place_queens(size, row, columns, rising, falling):
    if row == size:
        return 1
    found = 0
    for column in range(size):
        bit, up, down = 1 << column, 1 << (row + column), 1 << (row - column + size)
        if not (columns & bit or rising & up or falling & down):
            found += place_queens(size, row + 1, columns | bit, rising | up, falling | down)
    return found


def kept_recursion_2(n):
    for _ in range(n * 2):
        place_queens(6, 0, 0, 0, 0)


def kept_builtins(n):
    pair = (3, 4)
    for i in range(n * 1800):
        min(i, 7)
        round(2.5)
        id(pair)
        issubclass(bool, int)


def kept_builtins_2(n):
    table = {}
    seen = {1, 2, 3}
    text = "a line of text"
    for i in range(n * 1500):
        table.setdefault(i & 63, 0)
        seen.discard(i)
        text.endswith("text")
        text.isalpha()


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def dot(self, other):
        return self.x * other.x + self.y * other.y


def kept_methods(n):
    a, b = Vector(1, 2), Vector(3, 5)
    for _ in range(n * 500):
        (a + b).dot(b)


class Stack:
    def __init__(self):
        self.head = None
        self.depth = 0

    def push(self, value):
        self.head = (value, self.head)
        self.depth += 1

    def is_empty(self):
        return self.head is None

    def pop(self):
        value, self.head = self.head
        self.depth -= 1
        return value


def kept_methods_2(n):
    stack = Stack()
    for i in range(n * 700):
        stack.push(i)
        if not stack.is_empty():
            stack.pop()


def squares(n):
    for i in range(n):
        yield i * i


def even(source):
    for i in source:
        if not i & 1:
            yield i


def kept_generators(n):
    for _ in range(n):
        for _ in even(squares(1800)):
            pass


def countdown(n):
    while n:
        n -= 1
        yield n


def chained(n):
    yield from countdown(n)
    yield from countdown(n)


def kept_generators_2(n):
    for _ in range(n * 20):
        source = chained(40)
        for _ in range(80):
            next(source)


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            best = row[j] if row[j] < row[j - 1] else row[j - 1]
            before, row[j] = row[j], before if x == y else (best if best < before else before) + 1
    return row[-1]


def kept_work(n):
    for _ in range(n * 14):
        distance("profile", "benchmark")


def tally(text):
    counts = {}
    for word in text:
        counts[word] = counts[word] + 1 if word in counts else 1
    return sorted(counts, key=counts.__getitem__)


def kept_work_2(n):
    text = ("the quick brown fox jumps over the lazy dog and runs away from the other dog " * 4).split()
    for _ in range(n * 30):
        tally(text)


SHAPES = ("recursion", "builtins", "methods", "generators", "work")
FITTED = [globals()[shape + suffix] for suffix in ("", "_2", "_3", "_4") for shape in SHAPES]
KEPT = [globals()["kept_" + shape + suffix] for suffix in ("", "_2") for shape in SHAPES]


def pieces(phase, n):
    """Of each piece: the CPU time it took, how long it waited for a CPU, and the fixed work's time around it."""
    out = []
    before = unit()
    for _ in range(PIECES):
        cpu, began = time.thread_time(), time.perf_counter()
        phase(n)
        took, cpu = time.perf_counter() - began, time.thread_time() - cpu
        after = unit()
        out.append((min(cpu, took), max(took - cpu, 0), (before + after) / 2))
        before = after
    return out


if __name__ == "__main__":
    size = max(1, int(sys.argv[1]) // PIECES)
    print(json.dumps({phase.__name__: pieces(phase, size) for phase in (KEPT if sys.argv[2:] == ["kept"] else FITTED)}))
