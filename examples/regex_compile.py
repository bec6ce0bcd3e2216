"""Searches a text for a thousand patterns in turn with re.search.

Needs nothing. Run:  python regex_compile.py [scale]   (scale 1 goes through the patterns 30 times)
"""

# what is wrong with it: 1000 patterns in turn defeat re's cache of 512, so each search compiles; compile once and keep
import random
import re
import sys

PATTERNS = 1000
SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu".split()


def make_word():
    return "".join(random.choice(SYLLABLES) for _ in range(3))


def make_pattern():
    return rf"\b({make_word()}|{make_word()})(s|ed|ing)?\s+[a-l]*\b"


def count_matches(patterns, text):
    return sum(1 for pattern in patterns if re.search(pattern, text))


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = max(1, round(30 * scale))
    random.seed(0)
    patterns = [make_pattern() for _ in range(PATTERNS)]
    text = " ".join(make_word() for _ in range(40))
    matches = sum(count_matches(patterns, text) for _ in range(rounds))
    print(f"{rounds} rounds of {PATTERNS} patterns: {matches} matches")


if __name__ == "__main__":
    main()
