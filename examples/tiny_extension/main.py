"""Sums the squares of a list of floats in a small C extension, tinyext.c, which it builds on first use.

Needs a C compiler and Python.h. Run:  python main.py [scale]   (scale 1 sums 40 lists)
"""

# what is wrong with it: node_at() in tinyext.c walks from the head for each element, n * n / 2 steps; follow ->next
import hashlib
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tinyext.c")
LENGTH = 8000


def skip(reason):
    print(f"main.py needs a C compiler and Python.h: {reason}", file=sys.stderr)
    sys.exit(77)


def build_directory():
    """A directory for the built library that only this user can write to; kept, so that symbols can be read later."""
    path = os.path.join(tempfile.gettempdir(), f"tinyext-{os.getuid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    status = os.lstat(path)
    if status.st_uid != os.getuid() or status.st_mode & 0o022 or os.path.islink(path):
        return tempfile.mkdtemp(prefix="tinyext-")
    return path


def build():
    """The path of the built library, compiled unless an earlier run has left the same one."""
    with open(SOURCE, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    library = os.path.join(build_directory(), f"tinyext-{digest}{sysconfig.get_config_var('EXT_SUFFIX')}")
    if os.path.exists(library):
        return library
    command = os.environ.get("CC", "cc").split()
    include = sysconfig.get_path("include")
    if not command or shutil.which(command[0]) is None:
        skip("no compiler found (set CC, or install gcc)")
    if not os.path.exists(os.path.join(include, "Python.h")):
        skip(f"no Python.h in {include} (install python3-dev)")
    unfinished = f"{library}.{os.getpid()}"
    flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-fPIC", "-shared", f"-I{include}"]
    subprocess.run([*command, *flags, SOURCE, "-o", unfinished], check=True)
    os.replace(unfinished, library)
    return library


def load():
    spec = importlib.util.spec_from_file_location("tinyext", build())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def total(tinyext, rounds):
    numbers = [random.random() for _ in range(LENGTH)]
    return sum(tinyext.sum_of_squares(numbers) for _ in range(rounds))


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = max(1, round(40 * scale))
    random.seed(0)
    print(f"{rounds} lists of {LENGTH}: total {total(load(), rounds):.3f}")


if __name__ == "__main__":
    main()
