"""Files that hold what a program did: for their owner alone, as those of the tool are. One that is there keeps its mode."""

import os


def private(path: str, flags: int) -> int:
    """An opener for open()."""
    return os.open(path, flags, 0o600)
