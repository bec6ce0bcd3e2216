"""python -m leadline CMD …: becomes the executable, with the same arguments."""

import os
import sys
from typing import NoReturn

from leadline._binary import BinaryNotFound, find_binary

# As env(1), and as leadline itself for a program it cannot start.
NOT_EXECUTABLE, NOT_FOUND = 126, 127


def main() -> NoReturn:
    """Replaces this process; returns only by SystemExit, when there is nothing to become."""
    try:
        binary = find_binary()
    except BinaryNotFound as error:
        print(f"leadline: {error}", file=sys.stderr)
        sys.exit(NOT_FOUND)
    try:
        os.execv(binary, ["leadline", *sys.argv[1:]])
    except OSError as error:
        print(f"leadline: cannot execute {binary}: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_EXECUTABLE)


if __name__ == "__main__":
    main()
