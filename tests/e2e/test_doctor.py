"""leadline doctor: its answers, its JSON, its exit status, and interpreters that misbehave."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

LEADLINE = Path(os.environ.get("LEADLINE") or Path(__file__).resolve().parents[2] / "build" / "leadline")
ANSWERS = {"yes", "partly", "no"}
IDS = {
    "remote-memory",
    "session-folder",
    "process-tree",
    "clock",
    "ebpf",
    "perf-events",
    "pressure",
    "cgroup",
    "io-accounting",
    "page-pss",
    "gpu",
    "terminal",
}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SECONDS = 20
FAKE_ANSWER = r"printf 'leadline-answer\t3.11.4\tcpython\t0\t1\t%s\n' /none"


def environment(**changes):
    """The environment, UTF-8, without the variables that choose an interpreter; None removes a variable."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "VIRTUAL_ENV": None, "CONDA_PREFIX": None, "NO_COLOR": None, **changes}
    return {name: value for name, value in env.items() if value is not None}


def doctor(*arguments, prefix=(), binary=LEADLINE, **changes):
    """One run with its output as text."""
    return subprocess.run(
        [*prefix, str(binary), "doctor", *arguments],
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        timeout=SECONDS,
    )


def answers(done):
    """The JSON of a run that said nothing else."""
    assert done.stderr == ""
    return json.loads(done.stdout)


def on_terminal(columns, *arguments, **changes):
    """What a terminal of that width gets: lines without the carriage returns."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        [str(LEADLINE), "doctor", *arguments],
        env=environment(TERM="xterm-256color", **changes),
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=side,
    ) as process:
        os.close(side)
        got = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:  # EIO: the other side is closed
                break
            if not part:
                break
            got += part
    os.close(main)
    return got.decode().replace("\r", "").splitlines()


@pytest.fixture(name="empty")
def fixture_empty(tmp_path):
    """An environment in which no interpreter is on the PATH or in the home folder."""
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home"), "PYENV_ROOT": None}


def put(tmp_path, name, script):
    """A fake interpreter in the folder of the fixture above."""
    path = tmp_path / "bin" / name
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    path.chmod(0o755)
    return path


def of(found, path):
    """The interpreter with that path."""
    (one,) = [it for it in found["interpreters"] if it["path"] == str(path)]
    return one


def test_json_has_the_documented_keys():
    found = answers(doctor("--json"))
    assert isinstance(found["ok"], bool) and found["verdict"]
    assert {check["id"] for check in found["checks"]} >= IDS
    for row in found["checks"] + found["collectors"]:
        assert row["answer"] in ANSWERS
        assert row["reason"]
        assert bool(row["remedy"]) == (row["answer"] != "yes"), row
    for check in found["checks"]:
        assert {"id", "title", "needed_for"} < set(check)
    assert "host" in [collector["name"] for collector in found["collectors"]]
    for it in found["interpreters"]:
        assert set(it) >= {"path", "version", "implementation", "free_threaded", "supported", "reason"}
        assert it["supported"] == (it["reason"] == "")
        assert os.access(it["path"], os.X_OK)


def test_this_interpreter_is_found_once():
    folder = os.path.dirname(sys.executable)
    found = answers(doctor("--json", PATH=folder + ":" + os.environ["PATH"]))
    real = os.path.realpath(sys.executable)
    (mine,) = [it for it in found["interpreters"] if os.path.realpath(it["path"]) == real]
    assert mine["version"].startswith("%d.%d.%d" % sys.version_info[:3])
    assert mine["implementation"] == "CPython"
    assert mine["supported"]
    files = [os.path.realpath(it["path"]) for it in found["interpreters"]]
    assert len(files) == len(set(files))


def test_status_and_verdict_agree():
    done = doctor()
    found = answers(doctor("--json"))
    assert done.returncode == (0 if found["ok"] else 1)
    first = done.stdout.splitlines()[0]
    assert ("will work here" in first) == found["ok"]
    assert ("will not work here" in first) != found["ok"]
    assert done.stdout.splitlines()[-1].startswith("ok: works")
    assert "ok: works" not in doctor("--no-legend").stdout


def test_without_python_it_says_so(empty):
    done = doctor(**empty)
    assert done.returncode == 1
    assert "will not work here because there is no python3 on the PATH" in done.stdout.splitlines()[0]
    found = answers(doctor("--json", **empty))
    assert not found["ok"]
    assert not [it for it in found["interpreters"] if it["chosen_by"]]


def test_an_environment_comes_before_the_path(empty, tmp_path):
    put(tmp_path, "python3", FAKE_ANSWER)
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    shutil.copy(tmp_path / "bin" / "python3", venv / "bin" / "python3")
    found = answers(doctor("--json", **{**empty, "VIRTUAL_ENV": str(venv)}))
    assert found["ok"]
    assert of(found, venv / "bin" / "python3")["chosen_by"] == "VIRTUAL_ENV"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("trap '' INT TERM HUP; sleep 600 & sleep 600", "did not answer within 3 s"),
        ("while :; do echo garbage; done", "garbage"),
        ("head -c 100000 /dev/urandom", "it said"),
        ("exit 3", "said nothing"),
        ("kill -SEGV $$", "said nothing"),
        (r"printf '\033[2J\033]0;owned\007boo\n'", "boo"),
        ("cat; echo no input", "no input"),
        ("exec >&- 2>&-; sleep 600", "said nothing"),
        (r"printf 'leadline-answer\t3.7.2\tcpython\t0\t1\t\n'", "3.7 is older than 3.8"),
        (r"printf 'leadline-answer\t3.10.9\tpypy\t0\t1\t\n'", "PyPy is not CPython"),
        (r"printf 'leadline-answer\t3.99.0\tcpython\t0\t1\t\n'", "3.99 is newer than 3.15"),
        (r"printf 'leadline-answer\t3.12.0\tcpython\t0\t0\t\n'", "32-bit"),
    ],
)
def test_a_strange_python3_is_survived(script, reason, empty, tmp_path):
    fake = put(tmp_path, "python3", script)
    text = doctor(**empty)
    assert text.returncode == 1
    assert text.stderr == ""
    assert "will not work here because of" in text.stdout
    assert "\033" not in text.stdout and "\007" not in text.stdout
    found = answers(doctor("--json", **empty))
    assert reason in of(found, fake)["reason"]
    assert not of(found, fake)["supported"]
    assert not found["ok"]
    left = subprocess.run(["pgrep", "-f", str(fake)], stdout=subprocess.PIPE, text=True, check=False)
    assert left.stdout == ""


def test_many_hanging_ones_do_not_add_up(empty, tmp_path):
    """Twelve times 3 s would be more than SECONDS."""
    for minor in range(4, 16):
        put(tmp_path, f"python3.{minor}", "sleep 600")
    found = answers(doctor("--json", **empty))
    assert len([it for it in found["interpreters"] if it["path"].startswith(str(tmp_path))]) == 12


def test_a_supported_one_elsewhere_is_proposed(empty, tmp_path):
    put(tmp_path, "python3", "exit 1")
    good = put(tmp_path, "python3.11", FAKE_ANSWER)
    found = answers(doctor("--json", **empty))
    assert not found["ok"]
    supported = [it["path"] for it in found["interpreters"] if it["supported"]]
    assert str(good) in supported
    assert found["remedy"] == f"leadline run --python {supported[0]} script.py"


def test_as_an_ordinary_user_it_names_what_is_missing(tmp_path, request):
    if os.geteuid() == 0:
        folder = Path("/tmp") / f"leadline-doctor-{os.getpid()}"
        folder.mkdir(mode=0o755)
        request.addfinalizer(lambda: shutil.rmtree(folder))
        binary = folder / "leadline"
        shutil.copy(LEADLINE, binary)
        binary.chmod(0o755)
        folder.chmod(0o755)
        prefix = NOBODY
    else:
        binary, prefix = LEADLINE, []
    found = answers(
        doctor("--json", prefix=prefix, binary=binary, HOME=str(tmp_path), PATH="/usr/bin:/bin", PYENV_ROOT=None)
    )
    checks = {check["id"]: check for check in found["checks"]}
    memory = checks["remote-memory"]
    assert memory["answer"] in {"partly", "no"}
    assert "CAP_SYS_PTRACE" in memory["reason"] or "Yama" in memory["reason"] or "seccomp" in memory["reason"]
    if checks["ebpf"]["answer"] == "no" and "no bpf()" not in checks["ebpf"]["reason"]:
        assert "CAP_BPF" in checks["ebpf"]["reason"]
        assert "CAP_BPF" in checks["ebpf"]["remedy"].upper() or "BPF" in checks["ebpf"]["remedy"]
    if checks["process-tree"]["answer"] == "partly":
        assert "CAP_NET_ADMIN" in checks["process-tree"]["reason"]


def test_colours_follow_the_rules():
    assert "\033" not in doctor().stdout
    assert "\033[" in doctor("--color=always").stdout
    assert "\033[" in doctor("--color=always", NO_COLOR="1").stdout
    assert "\033[" in "".join(on_terminal(100))
    assert "\033" not in "".join(on_terminal(100, NO_COLOR="1"))
    assert "\033" not in "".join(on_terminal(100, "--color=never"))
    plain = re.sub("\033\\[[0-9;]*m", "", doctor("--color=always").stdout)
    assert plain.splitlines()[0] == doctor().stdout.splitlines()[0]


@pytest.mark.parametrize("columns", [40, 60, 80, 132])
def test_lines_fit_the_terminal(columns):
    lines = on_terminal(columns, "--color=never")
    assert len(lines) > 20
    assert max(map(len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines)


def test_without_utf8_it_is_ascii():
    text = doctor(LC_ALL="C").stdout
    assert text.isascii()
    assert re.search(r"^[+~x] (ok|partly|no) +Remote memory", text, re.MULTILINE)
    terminal = next(c for c in answers(doctor("--json", LC_ALL="C"))["checks"] if c["id"] == "terminal")
    assert terminal["answer"] == "partly" and "UTF-8" in terminal["remedy"]


def test_marks_never_stand_alone():
    for line in doctor().stdout.splitlines()[1:]:
        if line.startswith(("✓", "~", "✗")):
            assert line[2:].startswith(("ok ", "partly ", "no "))


@pytest.mark.parametrize("arguments", [["--jsno"], ["--color=blue"], ["operand"]])
def test_a_wrong_command_line_is_2(arguments):
    done = doctor(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "doctor" in done.stderr and arguments[0].split("=")[0] in done.stderr


def test_nothing_is_left_behind(tmp_path):
    doctor(TMPDIR=str(tmp_path), XDG_RUNTIME_DIR=None)
    assert list(tmp_path.iterdir()) == []
