"""Root looks at programs of users who wish it ill: what they name is looked up as they could, what we write is nobody else's."""

import contextlib
import ctypes
import json
import os
import select
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import LEADLINE, ROOT, running, wait_until
from users import ALICE, BOB, as_user, needs_root, open_folder, run_as

pytestmark = needs_root

PYTHON = "/usr/bin/python3"
SECRET = "line {} of what is root's alone\n"
LINE = 5  # that the program is at, by the name it gives

# A program whose code says that it stands in any file, on a line that runs.
NAMING = """
import sys, os
exec(compile("\\n" * {before} + "os.write(1, b'ready\\\\n')\\nwhile True: sum(range(1000))", sys.argv[1], "exec"), {{"os": os}})
""".format(before=LINE - 2)


@contextlib.contextmanager
def naming(name, uid=ALICE, folder="/", prefix=(), **kwargs):
    with open_folder() as place:
        script = place / "naming.py"
        script.write_text(NAMING)
        script.chmod(0o644)
        with running(*prefix, PYTHON, "-I", script, name, **{**as_user(uid), "cwd": folder, **kwargs}) as p:
            yield p


def secret_file(folder, name="secret", owner=0, mode=0o600):
    path = folder / name
    path.write_text("".join(SECRET.format(i) for i in range(1, 20)))
    path.chmod(mode)
    os.chown(path, owner, owner)
    return path


def shown(tool, folder, pid):
    """What a recording, its report, a page and a dump say of the source, all together; and the recording."""
    recording, page = folder / "x.lead", folder / "x.html"
    done = tool("attach", "--duration=0.3", "-o", recording, f"--report={folder}/x.txt", pid)
    assert done.returncode == 0, done.stderr
    lines = tool("report", "--lines", recording)
    dump, dump_json = tool("dump", pid), tool("dump", "--json", pid)
    made = tool("view", "-o", page, recording)
    assert (lines.returncode, dump.returncode, dump_json.returncode, made.returncode) == (0, 0, 0, 0), lines.stderr + dump.stderr + made.stderr
    text = lines.stdout + dump.stdout + dump_json.stdout + (folder / "x.txt").read_text()
    return text + subprocess.run([sys.executable, "-c", UNPACK, page], capture_output=True, text=True, check=True).stdout


# All bytes of a page's embedded data, whatever it is packed with.
UNPACK = """
import base64, re, sys, zlib
text = open(sys.argv[1]).read()
print(text)
for part in re.findall(r"[A-Za-z0-9+/=]{60,}", text):
    try:
        data = base64.b64decode(part)
        print(zlib.decompress(data, 47).decode("utf-8", "replace"))
    except Exception:
        pass
"""


class Opens:
    """Whether anybody opens a file, by inotify: O_PATH does not count, which opens nothing."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0 and libc.inotify_add_watch(self.fd, os.fsencode(path), 0x20) >= 0

    def happened(self):
        return bool(select.select([self.fd], [], [], 0)[0])

    def close(self):
        os.close(self.fd)


# ---- sources


@pytest.mark.parametrize("way", ["by its name", "through a link", "through a folder of root's", "by a name from its folder on"])
def test_root_does_not_read_its_own_files_for_somebody_who_cannot(tool, tmp_path, way):
    with open_folder() as ours, open_folder(ALICE) as hers:
        secret = secret_file(ours)
        name, folder = secret, "/"
        if way == "through a link":
            name = hers / "mod.py"
            name.symlink_to(secret)
        elif way == "through a folder of root's":
            secret.chmod(0o644)
            ours.chmod(0o700)
        elif way == "by a name from its folder on":
            name, folder = os.path.relpath(secret, hers), hers
        with naming(name, folder=folder) as p:
            text = shown(tool, tmp_path, p.pid)
    assert os.path.basename(name) in text and "what is root's alone" not in text


def test_root_reads_what_the_program_can_read(tool, tmp_path):
    with open_folder(ALICE, 0o700) as hers, naming(secret_file(hers, "mod.py", ALICE)) as p:
        text = shown(tool, tmp_path, p.pid)
    assert text.count(SECRET.format(LINE).strip()) >= 3


def test_root_reads_with_the_groups_of_the_program(tool, tmp_path):
    with open_folder() as ours:
        shared = secret_file(ours, "mod.py", mode=0o640)
        os.chown(shared, 0, BOB)
        with naming(shared, extra_groups=[BOB]) as p:
            assert SECRET.format(LINE).strip() in tool("dump", p.pid).stdout
        with naming(shared) as p:
            assert "root's alone" not in tool("dump", p.pid).stdout


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_file_is_not_opened(tool, tmp_path, kind):
    with open_folder(ALICE) as hers:
        name = hers / "mod.py"
        os.mknod(name, 0o666 | (stat.S_IFIFO if kind == "fifo" else stat.S_IFCHR), os.makedev(1, 5))
        name.chmod(0o666)
        with naming(name) as p, contextlib.closing(Opens(name)) as opens:
            text = shown(tool, tmp_path, p.pid)
            assert not opens.happened()
    assert "mod.py" in text


def test_what_is_no_file_is_not_opened_for_its_own_user_either(tmp_path):
    with open_folder(ALICE) as hers:
        name = hers / "mod.py"
        os.mkfifo(name)
        name.chmod(0o666)
        with naming(name) as p, contextlib.closing(Opens(name)) as opens:
            done = run_as(ALICE, LEADLINE, "dump", p.pid)
            assert not opens.happened()
    assert done.returncode == 0 and "mod.py" in done.stdout


def test_proc_tells_nothing_of_who_reads_it(tool, tmp_path):
    environment = {**os.environ, "ROOTS_OWN": "\nwhat is root's alone" * 20}
    for name in ("/proc/self/environ", "/proc/self/cmdline", f"/proc/{os.getpid()}/environ"):
        with naming(name) as p:
            done = tool("dump", p.pid, env=environment)
        assert done.returncode == 0 and "root's alone" not in done.stdout and "dump" not in done.stdout


@pytest.mark.parametrize("name", ["../../../../../../../../{}", "/../../../../../../../..{}", "/link"])
def test_no_name_leads_out_of_the_root_of_a_program(tool, tmp_path, name):
    with open_folder() as ours, open_folder(ALICE) as jail:
        secret = secret_file(ours, mode=0o644)  # which she may not see from in there
        for folder in ("usr", "lib", "lib64", "bin", "proc", "work", str(ours)[1:]):
            (jail / folder).mkdir(parents=True)
        (jail / "naming.py").write_text(NAMING)
        (jail / "link").symlink_to(secret)
        (jail / str(secret)[1:]).write_text("\n" * (LINE - 1) + "what is in there\n")
        script = ("mount --rbind /usr $0/usr; mount --rbind /lib $0/lib; mount --rbind /lib64 $0/lib64; exec chroot --userspec=%d:%d $0 "
                  "/usr/bin/python3 -I /naming.py \"$1\"" % (ALICE, ALICE))
        with running("unshare", "--mount", "sh", "-c", script, jail, name.format(secret)) as p:
            text = shown(tool, tmp_path, p.pid)
    assert "root's alone" not in text and "what is in there" in text


# A program that root starts, which then becomes somebody else and names a file.
LOWERED = """
import os, sys
os.setgroups([]); os.setresgid(int(sys.argv[2]), int(sys.argv[2]), int(sys.argv[2])); os.setresuid(int(sys.argv[2]), int(sys.argv[2]), int(sys.argv[2]))
exec(compile("\\n" * 4 + "sum(i * i for i in range(10**7))", sys.argv[1], "exec"), {})
"""


def test_a_program_of_roots_that_became_somebody_else_names_as_that_one(tool, tmp_path):
    with open_folder() as ours:
        secret, script = secret_file(ours), ours / "lowered.py"
        script.write_text(LOWERED)
        done = tool("run", "-o", tmp_path / "x.lead", "--python", PYTHON, script, secret, ALICE)
        assert done.returncode == 0
        text = tool("report", "--lines", tmp_path / "x.lead").stdout
    assert "secret" in text and "root's alone" not in text


def test_a_program_of_roots_own_shows_its_source(tool, tmp_path):
    with open_folder() as ours, naming(secret_file(ours), uid=0) as p:
        assert SECRET.format(LINE).strip() in shown(tool, tmp_path, p.pid)


def test_a_core_file_is_read_as_its_owner(tool, tmp_path):
    if Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core":
        pytest.skip("core files go elsewhere here: kernel.core_pattern")
    with open_folder() as ours, open_folder(ALICE) as hers:
        secret, core = secret_file(ours), hers / "core"
        code = f"import os\nexec(compile('\\n' * {LINE - 1} + 'os.abort()', '{secret}', 'exec'))"
        run_as(ALICE, "sh", "-c", f"ulimit -c unlimited && cd {hers} && exec {PYTHON} -c \"$0\"", code)
        texts = []
        for owner in (0, ALICE):  # the first is known to be of a process of hers all the same
            os.chown(core, owner, owner)
            done = tool("dump", core)
            assert done.returncode == 0, done.stderr
            texts.append(done.stdout)
        secret.chmod(0o644)
        assert SECRET.format(LINE).strip() in tool("dump", core).stdout
    assert all("secret" in text and "root's alone" not in text for text in texts)
