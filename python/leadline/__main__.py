"""python -m leadline: the executable, or `python -m cProfile` with the same habits.

    python -m leadline CMD …                            the first word is a command, a file, or --help: the executable
    python -m leadline [-o FILE] [-s SORT] script.py …  a script or -m module: runs it under the tracer and prints the
                                                        table on standard output, or writes FILE for pstats
"""

import os
import sys
from typing import Any, Dict, List, NoReturn, Optional, Tuple

# As env(1), and as leadline itself for a program it cannot start.
NOT_EXECUTABLE, NOT_FOUND = 126, 127
USAGE = "usage: python -m leadline [-o FILE] [-s SORT] [-m module | script.py] [arguments]"


def main() -> NoReturn:
    """Ends by SystemExit, or becomes the executable."""
    words = sys.argv[1:]
    if is_profile(words):
        sys.exit(profile(words))
    become_executable()


def is_profile(words: List[str]) -> bool:
    """Whether this is what `python -m cProfile` takes: its options, or a script."""
    if not words:
        return False
    if words[0] in ("-o", "-s", "-m") or words[0].startswith(("-o", "-s", "--outfile", "--sort")):
        return True
    return words[0].endswith(".py") or is_python_script(words[0])


def is_python_script(path: str) -> bool:
    """A file whose first line names Python; recordings and files of other tools begin otherwise."""
    try:
        with open(path, "rb") as file:
            line = file.readline(200)
    except OSError:
        return False
    return line.startswith(b"#!") and b"python" in line


def become_executable() -> NoReturn:
    """Replaces this process; returns only by SystemExit, when there is nothing to become."""
    from leadline._binary import BinaryNotFound, find_binary

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


# ---- as cProfile ----------------------------------------------------------------------------------------------


def profile(words: List[str]) -> int:
    """Runs the program in this process, as its __main__; the exit status is the program's, 125 for failures of ours."""
    from leadline._binary import BinaryNotFound
    from leadline._host import Error

    try:
        output, sort, module, program = parse(words)
        code, names = module_code(program) if module else script_code(program)
    except ValueError as error:
        print(f"leadline: {error}\n{USAGE}", file=sys.stderr)
        return 125
    except OSError as error:
        print(f"leadline: cannot read {program[0]}: {error.strerror}", file=sys.stderr)
        return 125
    try:
        return run(code, names, output, sort)
    except (Error, BinaryNotFound) as error:
        print(f"leadline: {error}", file=sys.stderr)
        return 125


def parse(words: List[str]) -> Tuple[Optional[str], Any, bool, List[str]]:
    """Options up to the program, as cProfile has them: -o FILE, -s SORT, -m. Raises ValueError."""
    import getopt

    from leadline._stats import sort_key

    try:
        options, rest = getopt.getopt(words, "o:s:m", ["outfile=", "sort="])
    except getopt.GetoptError as error:
        raise ValueError(str(error)) from None
    given = {{"--outfile": "-o", "--sort": "-s"}.get(name, name): value for name, value in options}
    if not rest:
        raise ValueError("which program?")
    return given.get("-o"), sort_key(given.get("-s", "2")), "-m" in given, rest


def script_code(program: List[str]) -> Tuple[Any, Dict[str, Any]]:
    """A script as `python script.py` would run it: sys.argv and sys.path[0] are its own."""
    import io

    path = program[0]
    sys.argv[:] = program
    with io.open_code(path) as file:
        text = file.read()
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    return text, {"__name__": "__main__", "__file__": path, "__package__": None, "__cached__": None, "__builtins__": __builtins__}


def module_code(program: List[str]) -> Tuple[Any, Dict[str, Any]]:
    """A module as `python -m module` would run it."""
    sys.argv[:] = program
    code = "import runpy\nrunpy.run_module(modname, run_name='__main__', alter_sys=True)"
    return compile(code, "<leadline>", "exec"), {"modname": program[0], "__name__": "__main__"}


def run(code: Any, names: Dict[str, Any], output: Optional[str], sort: Any) -> int:
    """Under the tracer, with a module __main__ of its own, so that pickle and `import __main__` find the program."""
    import types

    from leadline._tracer import Tracer

    tracer = Tracer()
    module = types.ModuleType("__main__")
    module.__dict__.update(names)
    sys.modules["__main__"] = module
    status = 0
    try:
        if isinstance(code, bytes):
            code = compile(code, names["__file__"], "exec", dont_inherit=True)
        tracer.runctx(code, module.__dict__, module.__dict__)
    except SystemExit as end:
        status = status_of(end)
    except BaseException:
        finish(tracer, output, sort)
        raise
    finish(tracer, output, sort)
    return status


def finish(tracer: Any, output: Optional[str], sort: Any) -> None:
    """What the user asked for, on standard output after the program's own."""
    if output is not None:
        tracer.dump_stats(output)
    else:
        sys.stdout.flush()
        tracer.print_stats(sort)


def status_of(end: SystemExit) -> int:
    """As the interpreter does it: a number, nothing, or words on standard error."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
