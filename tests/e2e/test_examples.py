"""The programs in examples/: documented alike, listed in the README, and each one runs."""

import ast
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = sorted(
    path.relative_to(EXAMPLES).as_posix() for path in [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*/main.py")]
)
EXTENSION = "tiny_extension/main.py"
MODULES = {"numpy", "torch"}
FLAW = "# what is wrong with it: "
SKIPPED = 77
SMALL = "0.02"
SECONDS = 60

every_program = pytest.mark.parametrize("program", PROGRAMS)


def readme_table():
    """{program: needs} from the README's table."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+?) \| ([^|]+?) \|$", text, re.MULTILINE)
    assert len(rows) == len({name for name, _, _ in rows}), "a program is listed twice"
    return {name: needs for name, needs, _ in rows}


def imported_modules(program):
    tree = ast.parse((EXAMPLES / program).read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.split(".")[0])
    return names


def needed_modules(program):
    return imported_modules(program) & MODULES


def unmet_need(program):
    """What keeps the program from running under this interpreter, or None."""
    for module in sorted(needed_modules(program)):
        if importlib.util.find_spec(module) is None:
            return f"needs {module}"
    if program == EXTENSION:
        compiler = os.environ.get("CC", "cc").split()
        header = Path(sysconfig.get_path("include")) / "Python.h"
        if not compiler or shutil.which(compiler[0]) is None or not header.exists():
            return "needs a C compiler and Python.h"
    return None


def run(arguments, tmp_path, **environment):
    """Run Python with its temporary files under tmp_path; nothing is written next to the examples."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def run_or_skip(program, tmp_path):
    """One small run: its result line. Skips the test when, and only when, a need is really unmet."""
    unmet = unmet_need(program)
    done = run([str(EXAMPLES / program), SMALL], tmp_path)
    if unmet:
        name = Path(program).name
        assert done.returncode == SKIPPED, done.stderr
        assert done.stderr.startswith(f"{name} {unmet}: "), done.stderr
        assert done.stdout == ""
        pytest.skip(f"{name} {unmet}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """run_or_skip() in a folder of its own, once for each program."""
    return functools.cache(lambda program: run_or_skip(program, tmp_path_factory.mktemp("first")))


def test_there_are_examples():
    assert len(PROGRAMS) >= 15


def test_readme_lists_exactly_the_programs():
    assert sorted(readme_table()) == PROGRAMS


@every_program
def test_is_documented(program):
    source = (EXAMPLES / program).read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring and 2 <= len(docstring.splitlines()) <= 4
    assert f"Run:  python {Path(program).name} [scale" in docstring
    assert source.count("what is wrong with it") == 1
    (flaw,) = [line for line in source.splitlines() if line.startswith(FLAW)]
    assert len(flaw) > len(FLAW) + 20


@every_program
def test_says_what_it_needs(program):
    needs = readme_table()[program]
    docstring = ast.get_docstring(ast.parse((EXAMPLES / program).read_text(encoding="utf-8")))
    assert f"Needs {needs}. Run:" in docstring
    if program != EXTENSION:
        assert needs == (", ".join(sorted(needed_modules(program))) or "nothing")


@every_program
def test_stands_alone(program):
    siblings = {Path(other).stem for other in PROGRAMS if other != program}
    assert not imported_modules(program) & siblings
    if hasattr(sys, "stdlib_module_names"):
        assert imported_modules(program) <= set(sys.stdlib_module_names) | MODULES


@every_program
def test_parses_as_python_3_8(program):
    ast.parse((EXAMPLES / program).read_text(encoding="utf-8"), feature_version=(3, 8))


@every_program
def test_runs(program, first_run):
    output = first_run(program)
    assert output.endswith("\n") and output.count("\n") == 1
    assert 10 < len(output) < 160


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p != "asyncio_mixed.py"])  # that one counts its timers
def test_prints_the_same_again(program, tmp_path, first_run):
    first, second = (re.sub(r"[\d.]+ s\b", "_ s", output) for output in (first_run(program), run_or_skip(program, tmp_path)))
    assert first == second


@pytest.mark.parametrize("program", [p for p in PROGRAMS if needed_modules(p)])
def test_without_its_module_exits_77(program, tmp_path):
    (module,) = needed_modules(program)
    hide = f"import runpy, sys; sys.modules[{module!r}] = None"
    done = run(["-c", f"{hide}; runpy.run_path(sys.argv[1], run_name='__main__')", str(EXAMPLES / program)], tmp_path)
    assert done.returncode == SKIPPED
    assert done.stderr == f"{program} needs {module}: pip install {module}\n"
    assert done.stdout == ""


def test_extension_without_compiler_exits_77(tmp_path):
    done = run([str(EXAMPLES / EXTENSION), SMALL], tmp_path, CC="no-such-compiler")
    assert done.returncode == SKIPPED
    assert done.stderr.startswith("main.py needs a C compiler and Python.h: no compiler found")


def test_extension_is_built_once(tmp_path):
    first = run_or_skip(EXTENSION, tmp_path)
    again = run([str(EXAMPLES / EXTENSION), SMALL], tmp_path, CC="no-such-compiler")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first
    (library,) = [path for path in tmp_path.rglob("tinyext-*") if path.is_file()]
    assert library.name.endswith(sysconfig.get_config_var("EXT_SUFFIX"))


def test_extension_source_compiles_without_warnings(tmp_path):
    if unmet_need(EXTENSION):
        pytest.skip(f"main.py {unmet_need(EXTENSION)}")
    compiler = os.environ.get("CC", "cc").split()
    done = subprocess.run(
        [*compiler, "-Wall", "-Wextra", "-fsyntax-only", f"-I{sysconfig.get_path('include')}"]
        + [str(EXAMPLES / "tiny_extension" / "tinyext.c")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0 and "tinyext.c" not in done.stdout, done.stdout
