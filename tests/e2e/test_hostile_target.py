"""Root looks at programs of users who wish it ill: what they name is looked up as they could, what we write is nobody else's."""

import contextlib
import ctypes
import json
import os
import select
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LEADLINE, ROOT, running, wait_until
from screen import Terminal
from users import ALICE, BOB, as_user, needs_root, open_folder, run_as

pytestmark = needs_root

PYTHON = "/usr/bin/python3"
SECRET = "line {} of what is root's alone\n"
LINE = 5  # that the program is at, by the name it gives; just before it has said that it is ready

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
    made = tool("view", "--force", "-o", page, recording)
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


CREATE = 0x100


class Opens:
    """Whether anybody opens a file, by inotify: O_PATH does not count, which opens nothing. Or makes one in a folder."""

    def __init__(self, path, event=0x20):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0 and libc.inotify_add_watch(self.fd, os.fsencode(path), event) >= 0

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
    assert text.count("what is root's alone") >= 3


def test_root_reads_with_the_groups_of_the_program(tool, tmp_path):
    with open_folder() as ours:
        shared = secret_file(ours, "mod.py", mode=0o640)
        os.chown(shared, 0, BOB)
        with naming(shared, extra_groups=[BOB]) as p:
            assert "what is root's alone" in tool("dump", p.pid).stdout
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
        (jail / str(secret)[1:]).write_text("what is in there\n" * (LINE + 5))
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
        assert "what is root's alone" in shown(tool, tmp_path, p.pid)


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
        assert "what is root's alone" in tool("dump", core).stdout
    assert all("secret" in text and "root's alone" not in text for text in texts)


def test_a_file_of_line_profiler_is_read_as_its_owner(tool, tmp_path):
    with open_folder() as ours:
        script = secret_file(ours, "work.py")
        script.write_text("@profile\ndef f():\n    return 1  # what is root's alone\nf()\n")
        assert tool("lines", "-o", ours / "x.lprof", "--python", PYTHON, script, cwd=ours).returncode == 0
        texts = []
        for owner in (0, ALICE):
            os.chown(ours / "x.lprof", owner, owner)
            done = tool("report", "--line-profiler", ours / "x.lprof")
            assert done.returncode == 0, done.stderr
            texts.append(done.stdout)
    assert "root's alone" in texts[0] and "work.py" in texts[1] and "root's alone" not in texts[1]


# ---- traces on demand


TARGETS = ROOT / "tests" / "targets"
TRIES = 8


def own_namespace_works():
    return run_as(ALICE, "unshare", "-Urm", "true").returncode == 0


@contextlib.contextmanager
def hostile_job(role, folder, victim, **environment):
    script = folder / "hostile_job.py"
    script.write_text((TARGETS / "hostile_job.py").read_text())
    env = {**as_user(ALICE)["env"], "KINETO_USE_DAEMON": "1", "TMPDIR": str(folder), **environment}
    own = [] if role == "links" else ["unshare", "-Urm"]
    with running(*own, PYTHON, script, role, folder, victim, **{**as_user(ALICE), "env": env}) as p:
        yield p


def slow_way(folder):
    """A name of a folder in it that takes milliseconds to look up: time to change what it leads to."""
    (folder / "real").mkdir()
    os.chown(folder / "real", ALICE, ALICE)
    for i in range(38):
        (folder / f"l{i}").symlink_to("./" * 2000 + (f"l{i + 1}" if i < 37 else "real"))
    return folder / "real", str(folder / "l0")


def has_begun(p):
    """By then it has its folder and its socket: it takes signals itself."""
    if p.poll() is not None:
        return True
    with open(f"/proc/{p.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("SigBlk")).split()[1], 16) & 2


def ask_briefly(folder, pid):
    p = subprocess.Popen([LEADLINE, "attach", "--torch", str(pid)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(lambda: has_begun(p), "the folder for traces, or an error")
    if p.poll() is None:
        p.send_signal(2)
    return p.communicate(timeout=60)[0]


def state(path):
    st = path.stat()
    return st.st_mode, st.st_uid, st.st_gid, path.read_text() if path.is_file() else sorted(x.name for x in path.iterdir())


def test_a_socket_swapped_for_a_link_changes_no_file_of_roots(tmp_path):
    with open_folder() as ours, open_folder(ALICE) as hers:
        victim = secret_file(ours)
        before, (real, slow) = state(victim), slow_way(hers)
        with hostile_job("links", real, victim, KINETO_IPC_SOCKET_DIR=slow) as p:
            said = [ask_briefly(tmp_path, p.pid) for _ in range(TRIES)]
        assert state(victim) == before, said


@pytest.mark.parametrize("way", ["by its name", "through a link"])
@pytest.mark.parametrize("variable", ["TMPDIR", "KINETO_ONDEMAND_TRACE_DIR", "KINETO_IPC_SOCKET_DIR"])
def test_nothing_is_made_where_the_job_itself_could_not(tool, tmp_path, variable, way):
    with open_folder() as victim, open_folder(ALICE) as hers:
        (hers / "link").symlink_to(victim)
        before = state(victim)
        with hostile_job("trace", hers, victim, **{variable: str(victim if way == "by its name" else hers / "link")}) as p:
            with contextlib.closing(Opens(victim, CREATE)) as made:
                done = tool("attach", "--torch", p.pid, cwd=tmp_path)
                assert not made.happened()
        assert state(victim) == before
        assert done.returncode == 4 and str(hers if way != "by its name" else victim) in done.stderr and done.stderr.startswith("leadline: attach: ")


def test_a_folder_mounted_over_the_one_for_traces_stays_as_it_is(tmp_path):
    if not own_namespace_works():
        pytest.skip("users have no namespaces of their own here")
    with open_folder() as ours, open_folder(ALICE) as hers:
        victim = ours / "folder"
        victim.mkdir(mode=0o755)
        (victim / "trace_of_roots").touch()
        before, (real, slow) = state(victim), slow_way(hers)
        with hostile_job("mounts", real, victim, TMPDIR=slow) as p:
            said = [ask_briefly(tmp_path, p.pid) for _ in range(TRIES)]
        assert state(victim) == before, said


def test_a_trace_that_is_a_file_of_roots_is_not_read(tool, tmp_path):
    if not own_namespace_works():
        pytest.skip("users have no namespaces of their own here")
    event = {"ph": "X", "cat": "cpu_op", "name": "what is root's alone", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"External id": 1}}
    with open_folder() as ours, open_folder(ALICE) as hers:
        victim = ours / "secret.json"
        victim.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": [event]}))
        victim.chmod(0o600)
        with hostile_job("trace", hers, victim) as p:
            done = tool("attach", "--torch", "--seconds=0.1", "-o", "out", p.pid, cwd=tmp_path, timeout=300)
        texts = [path.read_text() for path in (tmp_path / "out").glob("*")] if (tmp_path / "out").exists() else []
    assert "root's alone" not in done.stdout + "".join(texts) and done.returncode != 0, done.stdout


def test_no_answer_goes_where_only_root_could_send_it(tmp_path):
    if not own_namespace_works():
        pytest.skip("users have no namespaces of their own here")
    with open_folder() as ours, open_folder(ALICE) as hers, contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        victim = ours / "socket"
        listener.bind(str(victim))
        victim.chmod(0o600)
        with hostile_job("address", hers, victim) as p:
            with subprocess.Popen([LEADLINE, "attach", "--torch", "--seconds=0.1", str(p.pid)], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as tool:
                try:
                    wait_until(lambda: has_begun(tool), "the tool to listen")
                    assert not select.select([listener], [], [], 8)[0], "root has sent it on behalf of another user"
                finally:
                    tool.kill()


@pytest.mark.parametrize("asker", [0, ALICE])
def test_a_job_of_an_ordinary_user_is_traced(tmp_path, asker):
    with open_folder(ALICE, 0o700) as hers, open_folder(asker) as out:
        script = hers / "kineto_standin.py"
        script.write_text((TARGETS / "kineto_standin.py").read_text())
        (hers / "tmp").mkdir()
        for path in (script, hers / "tmp"):
            os.chown(path, ALICE, ALICE)
        env = {**as_user(ALICE)["env"], "KINETO_USE_DAEMON": "1", "TMPDIR": str(hers / "tmp"), "KINETO_IPC_SOCKET_DIR": str(hers)}
        job = subprocess.Popen([PYTHON, script, "job", hers, "plain"], **{**as_user(ALICE), "env": env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            _, rank = job.stdout.readline().split()
            done = run_as(asker, LEADLINE, "attach", "--torch", "--steps=3", "-o", out / "traces", job.pid, timeout=120)
        finally:
            job.stdin.close()
            job.wait()
            job.stdout.close()
        assert done.returncode == 0 and "aten::add" in done.stdout, done.stderr
        trace = out / "traces" / f"trace_{rank}.pt.trace.json"
        assert stat.S_IMODE(trace.stat().st_mode) == 0o600 and trace.stat().st_uid == asker
        assert stat.S_IMODE(trace.parent.stat().st_mode) == 0o700
        assert not list((hers / "tmp").iterdir()) and not (hers / "dynolog").exists()


# ---- what is written


WORK = "sum(i * i for i in range(10**6))\n"


def written(folder, tool, environment):
    """A file of every kind that commands write, by what it is."""
    script = folder / "work.py"
    script.write_text(WORK)

    def run(*command):
        done = tool(*command, cwd=folder, env={**os.environ, **environment}, timeout=120)
        assert done.returncode == 0, done.stderr
    run("run", "-o", "x.lead", "--json=x.json", "--report=x.txt", "--format=speedscope", "--python", PYTHON, script)
    run("run", "--python", PYTHON, script)
    run("time", "-o", "time.lead", "--json=time.json", "--report=time.txt", "true")
    run("export", "--force", "--format=collapsed", "-o", "x.folded", "x.lead")
    run("view", "--force", "-o", "x.html", "x.lead")
    run("bench", "-o", "bench.lead", "--json=bench.json", "--export=csv=bench.csv", "--history=history", "--processes=2", "--time=0.2", "--python", PYTHON, "pass")
    run("compare", "--json=compare.json", "--blocks=3", "-c", "true", "-c", "true")
    run("lines", "-o", "x.lprof", "--python", PYTHON, script)
    return [path for path in folder.rglob("*") if path != script]


@pytest.mark.parametrize("mask", [0o000, 0o777])
def test_what_is_written_is_for_its_owner_alone(tool, mask):
    with open_folder() as folder:
        before = os.umask(mask)
        try:
            files = written(folder, tool, {})
        finally:
            os.umask(before)
        assert len(files) > 14
        assert {(p.name, oct(stat.S_IMODE(p.stat().st_mode)), p.stat().st_uid) for p in files} == {
            (p.name, "0o700" if p.is_dir() else "0o600", 0) for p in files}


def test_under_sudo_files_belong_to_who_called(tool):
    with open_folder() as folder:
        files = written(folder, tool, {"SUDO_UID": str(ALICE), "SUDO_GID": str(BOB)})
        assert {(p.name, p.stat().st_uid, p.stat().st_gid) for p in files} == {(p.name, ALICE, BOB) for p in files}


@pytest.mark.parametrize("uid, gid", [("", "0"), ("-1", "-1"), ("61001x", "61001"), ("99999999999", "1"), ("4294967295", "4294967295")])
def test_what_is_no_user_of_sudos_is_none(tool, tmp_path, uid, gid):
    done = tool("time", "-o", tmp_path / "x.lead", "true", env={**os.environ, "SUDO_UID": uid, "SUDO_GID": gid})
    assert done.returncode == 0 and (tmp_path / "x.lead").stat().st_uid == 0


def test_a_user_who_is_not_root_is_nobody_elses_caller():
    with open_folder(BOB) as folder:
        done = run_as(BOB, LEADLINE, "time", f"--json={folder}/x.json", "true", environment={"SUDO_UID": str(ALICE), "SUDO_GID": str(ALICE)})
        assert done.returncode == 0 and (folder / "x.json").stat().st_uid == BOB


def test_a_file_that_is_there_keeps_its_mode_and_owner(tool, tmp_path):
    out = tmp_path / "x.json"
    out.write_text("x" * 100000)
    out.chmod(0o640)
    os.chown(out, ALICE, BOB)
    number = out.stat().st_ino
    assert tool("time", "--force", f"--json={out}", "true", env={**os.environ, "SUDO_UID": str(BOB), "SUDO_GID": str(BOB)}).returncode == 0
    st = out.stat()
    assert (st.st_ino, stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid) == (number, 0o640, ALICE, BOB) and "wall_s" in out.read_text() and st.st_size < 100000


@contextlib.contextmanager
def protection_off():
    """The kernel's own, which not every machine has on."""
    values = {}
    for name in ("symlinks", "regular", "fifos", "hardlinks"):
        path = Path(f"/proc/sys/fs/protected_{name}")
        if path.exists():
            values[path] = path.read_text()
            path.write_text("0")
    try:
        yield
    finally:
        for path, value in values.items():
            path.write_text(value)


PLANTED = ["a link to a file", "a link to nothing", "a link to a folder on the way", "a file", "a fifo", "another name of a file"]


@pytest.mark.parametrize("who", [0, ALICE])
@pytest.mark.parametrize("what", PLANTED)
def test_what_a_stranger_has_put_into_a_shared_folder_is_not_written_into(what, who):
    with protection_off(), open_folder(who) as own, open_folder(mode=0o1777) as shared:
        victim, name = secret_file(own, owner=who), shared / "x.json"
        out = name
        if what == "a link to a file":
            name.symlink_to(victim)
        elif what == "a link to nothing":
            name.symlink_to(own / "new")
        elif what == "a link to a folder on the way":
            name.symlink_to(own)
            out = name / "new"
        elif what == "a file":
            name.write_text("")
            name.chmod(0o666)
        elif what == "a fifo":
            os.mkfifo(name)
            name.chmod(0o666)
        else:
            os.link(victim, name)
        if what != "another name of a file":
            os.chown(name, BOB, BOB, follow_symlinks=False)
        before = state(victim), [path.name for path in own.iterdir()]
        done = run_as(who, LEADLINE, "time", "--force", f"--json={out}", "true", timeout=20)
        assert (state(victim), [path.name for path in own.iterdir()]) == before
        assert what != "a file" or name.read_text() == ""
    assert "in a folder where everyone may write; name another file" in done.stderr


@pytest.mark.parametrize("who", [0, ALICE])
def test_ones_own_links_and_files_in_a_shared_folder_serve(who):
    with protection_off(), open_folder(who) as own, open_folder(mode=0o1777) as shared:
        (shared / "link").symlink_to(own / "new")
        (shared / "way").symlink_to(own)
        (shared / "file").write_text("x")
        for path in shared.iterdir():
            os.chown(path, who, who, follow_symlinks=False)
        for name in ("link", "way/other", "file"):
            done = run_as(who, LEADLINE, "time", "--force", f"--json={shared}/{name}", "true")
            assert done.returncode == 0, done.stderr
            assert "wall_s" in (shared / name).read_text()


def test_descriptors_have_names_to_write_to(tool, tmp_path):
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert '"wall_s"' in tool("time", f"--json={name}", "true").stdout
        with (tmp_path / "out").open("w+") as file:
            subprocess.run([LEADLINE, "time", f"--json={name}", "true"], stdout=file, stderr=subprocess.DEVNULL, check=True)
            file.seek(0)
            assert '"wall_s"' in file.read()
    reading, writing = os.pipe()
    done = tool("time", f"--json=/dev/fd/{writing}", "true", pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as file:
        assert done.returncode == 0 and '"wall_s"' in file.read()
    done = tool("time", "--json=/dev/null", "true")
    assert done.returncode == 0
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE, text=True) as reader:
        assert tool("time", f"--json={tmp_path}/fifo", "true").returncode == 0 and '"wall_s"' in reader.communicate()[0]


@pytest.mark.parametrize("name, words", [("no/such", "No such file"), ("folder", "Is a directory"), ("folder/", "Is a directory"), ("file/x", "Not a directory"),
                                         ("loop", "Too many levels"), ("x" * 300, "File name too long"), ("/", "Is a directory"), ("..", "Is a directory")])
def test_what_cannot_be_written_is_told(tool, tmp_path, name, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    done = tool("time", f"--json={name}", "true", cwd=tmp_path)
    assert words in done.stderr, done.stderr


# ---- what never answers


# A file system that nobody serves: whoever looks into it waits for ever.
MUTE = """
import ctypes, os, sys
fd = os.open(sys.argv[1] + ".device", os.O_RDWR)
options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
if ctypes.CDLL(None).mount(b"mute", os.fsencode(sys.argv[1]), b"fuse", 0, options.encode()) != 0:
    sys.exit("no such mounts here")
os.set_inheritable(fd, True)
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextlib.contextmanager
def mute_folder():
    with open_folder(ALICE) as hers:
        mute, device = hers / "mute", hers / "mute.device"
        mute.mkdir()
        os.chown(mute, ALICE, ALICE)
        os.mknod(device, stat.S_IFCHR, os.makedev(10, 229))
        device.chmod(0o666)
        prefix = ["unshare", "-Urm", PYTHON, "-c", MUTE, mute]
        if run_as(ALICE, *prefix, "/bin/true").returncode != 0:
            pytest.skip("users have no file systems of their own here")
        yield hers, mute, prefix


def test_a_source_that_never_comes_is_not_waited_for(tool, tmp_path):
    with mute_folder() as (_, mute, prefix), naming(mute / "mod.py", prefix=prefix) as p:
        done = tool("dump", p.pid, timeout=40)
        recorded = tool("attach", "--duration=0.2", "-o", tmp_path / "x.lead", p.pid, timeout=40)
    assert (done.returncode, recorded.returncode) == (0, 0) and "mod.py" in done.stdout


def test_a_folder_for_traces_that_never_comes_is_not_waited_for(tool, tmp_path):
    with mute_folder() as (hers, mute, prefix):
        script = hers / "hostile_job.py"
        script.write_text((TARGETS / "hostile_job.py").read_text())
        env = {**as_user(ALICE)["env"], "KINETO_USE_DAEMON": "1", "TMPDIR": str(mute)}
        with running(*prefix, PYTHON, script, "trace", hers, "-", **{**as_user(ALICE), "env": env}) as p:
            done = tool("attach", "--torch", p.pid, timeout=40, cwd=tmp_path)
    assert done.returncode == 7 and "does not respond" in done.stderr, done.stderr


def test_nothing_of_a_job_stays_behind_when_the_tool_is_killed(tmp_path):
    with open_folder(ALICE) as hers, hostile_job("links", hers, "/nonexistent", KINETO_IPC_SOCKET_DIR="/tmp/../" + str(hers)) as p:
        with subprocess.Popen([LEADLINE, "attach", "--torch", str(p.pid)], cwd=tmp_path, stderr=subprocess.DEVNULL) as tool:
            wait_until(lambda: has_begun(tool) and list(hers.glob("leadline-torch*")), "the folder for traces")
            tool.kill()
        wait_until(lambda: not list(hers.glob("leadline-torch*")), "the folder to go")


# ---- top


def test_top_keeps_no_text_of_roots(tool, tmp_path):
    with open_folder() as ours, naming(secret_file(ours)) as p:
        with Terminal([LEADLINE, "top", "-o", str(tmp_path / "x.lead"), str(p.pid)]) as t:
            t.wait_for("secret")
            t.keys("q")
            t.wait_exit()
    text = tool("report", "--lines", tmp_path / "x.lead").stdout
    assert "secret" in text and "root's alone" not in text
