"""Three recursions: Fibonacci numbers, a small Ackermann function and a walk over a tree.

Needs nothing. Run:  python recursive.py [scale]   (scale 1 goes up to fib(30), 16 times)
"""

# what is wrong with it: fib works out the same values again and again, 1.6 ** n calls; functools.lru_cache makes it n
import random
import sys


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def make_tree(depth):
    """A tree as (value, children), with up to three children to a node."""
    children = [make_tree(depth - 1) for _ in range(random.randint(1, 3))] if depth else []
    return random.randrange(100), children


def tree_sum(tree):
    value, children = tree
    return value + sum(tree_sum(child) for child in children)


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = max(1, round(16 * scale))
    random.seed(0)
    tree = make_tree(10)
    for _ in range(rounds):
        results = fib(30), ackermann(2, 60), tree_sum(tree)
    print("{} rounds: fib {}, ackermann {}, tree {}".format(rounds, *results))


if __name__ == "__main__":
    main()
