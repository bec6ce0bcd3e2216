"""A program whose interpreter stands still while it ends, with no frame of Python on its stack: held_at_end.py atexit|teardown

Prints "ready" on its last line; then a C function waits for ever, called by atexit or as the __del__ of an object that is released last.
"""
import atexit
import io
import os
import sys

READING, WRITING = os.pipe()


class Held:
    __del__ = io.FileIO(READING).readall  # nobody writes


if sys.argv[1] == "atexit":
    atexit.register(os.read, READING, 1)
else:
    sys.held = Held()
print("ready", flush=True)
