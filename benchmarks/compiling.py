"""Call-heavy pure Python of the standard library: compiles regular expressions, each new to re's cache.

    compiling.py SECONDS      prints what pace.py says
"""
import sys

import pace
import re

SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu".split()


class Patterns:
    def __init__(self):
        self.n = 0

    def compile_next(self):
        self.n += 1
        word = SYLLABLES[self.n % len(SYLLABLES)]
        re.compile(rf"\b({word}|{self.n})+(?P<rest>s|ed|ing)?\s+[a-l]*\b")


if __name__ == "__main__":
    pace.run(Patterns().compile_next, float(sys.argv[1]))
