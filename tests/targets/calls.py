"""A single-threaded program whose calls are many and known: recursion, generators, methods, C functions, callbacks."""
import json


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def squares(n):
    for i in range(n):
        yield i * i


class Book:
    def __init__(self):
        self.items = []

    def add(self, x):
        self.items.append(x)
        return len(self.items)

    def save(self):
        return json.dumps(self.items)


def fails(n):
    if n == 0:
        raise ValueError("the end")
    fails(n - 1)


def main():
    book = Book()
    for x in squares(300):
        book.add(x)
    book.save()
    sorted(range(50), key=lambda v: -v)
    try:
        fails(5)
    except ValueError:
        pass
    return fib(12), is_even(40)


if __name__ == "__main__":
    main()
