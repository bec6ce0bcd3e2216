"""Python programs that import leadline, run by any interpreter of the matrix."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import conftest
from interpreters import require

PACKAGE = conftest.ROOT / "python" / "leadline"
SECONDS = 120
# A root of its own has no /proc, and what the tool does rests on that.
IN_ROOT = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'


@contextlib.contextmanager
def home(label):
    """A folder with the package and the tool in it, where that interpreter can see it; and its path in there."""
    root = Path(require(label).root)
    if str(root) == "/":
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder), Path(folder)
        return
    with tempfile.TemporaryDirectory(dir=root / "tmp") as folder:
        yield Path(folder), Path("/tmp") / Path(folder).name


def run_program(label, text, *args, module=(), tool=conftest.LEADLINE, keep=None, **environment):
    """Runs the text as a script (or `-m MODULE` before it) with `import leadline` working; gives what subprocess.run does.

    Files it wrote into its working folder are copied into `keep`.
    """
    python = require(label)
    with home(label) as (outside, inside):
        shutil.copytree(PACKAGE, outside / "lib" / "leadline", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(tool, outside / "leadline")
        work = outside / "work"
        work.mkdir()
        (work / "program.py").write_text(text, encoding="utf-8")
        command = [python.exe, *module, "program.py", *map(str, args)]
        if python.root != "/":
            shell = f'cd {inside}/work && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", IN_ROOT, python.root, "sh", "-c", shell, "sh", *command]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("LEADLINE", "PYTHON", "VIRTUAL_ENV"))}
        kept.update(PYTHONPATH=str(inside / "lib"), LEADLINE_BINARY=str(inside / "leadline"),
                    PYTHONDONTWRITEBYTECODE="1", **environment)
        done = subprocess.run(command, cwd=work, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=SECONDS)
        if keep is not None:
            shutil.copytree(work, keep, dirs_exist_ok=True)
        return done


def output_of(*args, **kwargs):
    """Its standard output; it must have ended well and said nothing else."""
    done = run_program(*args, **kwargs)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout
