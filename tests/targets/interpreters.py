"""A program with two sub-interpreters, each in a thread of its own, for `leadline dump`.

Says "ready" when both wait, then waits for the end of its input."""
import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
import os

def inside_{0}():
    os.write({1}, b"x")
    os.read({2}, 1)

inside_{0}()
"""
came, said = os.pipe()
waits, leave = os.pipe()


def run(number):
    interpreters.run_string(interpreters.create(), CODE.format(number, said, waits))


threads = [threading.Thread(target=run, args=(i,), name=f"host-{i}") for i in range(2)]
for t in threads:
    t.start()
    os.read(came, 1)
print("ready", flush=True)
sys.stdin.read()
os.write(leave, b"xx")
