"""The programs that other tools' formats are checked with (tools/consumers); what is missing is skipped, by name."""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@functools.lru_cache(maxsize=None)
def folder():
    cache = subprocess.run([str(ROOT / "tools" / "setup"), "--cache"], capture_output=True, text=True, check=True)
    return pathlib.Path(cache.stdout.strip()) / "consumers"


def program(name):
    """One of the cache's own, else of the PATH."""
    own = folder() / "bin" / name
    found = str(own) if os.access(own, os.X_OK) else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not there: run tools/consumers")
    return found


def data(name):
    path = folder() / name
    if not path.exists():
        pytest.skip(f"{name} is not there: run tools/consumers")
    return path


def module(label, name):
    """The folder a package for one of the interpreters lies in, to be put on its path."""
    return data(f"modules/{label}/{name}").parent


def output(name, *args, **kwargs):
    """What the program prints; its failure is ours."""
    r = subprocess.run([program(name), *map(str, args)], capture_output=True, text=True, timeout=60, **kwargs)
    assert r.returncode == 0, r.stderr
    return r.stdout


def python(code, *args):
    """Runs code in the environment that has their Python packages."""
    data("consumers.txt")
    return output("python", "-c", code, *args)


class Firefox:
    """The Firefox Profiler with a file loaded, by its command line. It asks a process that holds the file; by itself it
    waits half a second for that to begin, which is little on a busy machine, so it is ours."""

    def __init__(self, path, home):
        self.path, self.npm = path, data("npm") / "node_modules"
        self.env = dict(os.environ, PROFILER_CLI_SESSION_DIR=str(home / "sessions"))

    def command(self, *args):
        main = self.npm / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"
        return [str(self.npm / ".bin" / "node"), str(main), *map(str, args), "--session", "leadline"]

    def ask(self, *args):
        r = subprocess.run([*self.command(*args), "--json"], env=self.env, capture_output=True, text=True, timeout=120)
        assert r.returncode == 0, r.stdout + r.stderr
        return json.loads(r.stdout)

    def __enter__(self):
        """Its log tells when it can be asked; who asks before makes it unreachable for good."""
        log = pathlib.Path(self.env["PROFILER_CLI_SESSION_DIR"]) / "leadline.log"
        self.process = subprocess.Popen(self.command("--daemon", self.path), env=self.env, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 240
        while not (log.exists() and "Profile loaded successfully" in log.read_text()):
            assert self.process.poll() is None and time.monotonic() < deadline, log.exists() and log.read_text()
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
