"""Where leadline keeps what a program loads: no other user can ever put something there, not even when leadline has gone and the
program's descendants still know the name."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import LEADLINE
from interpreters import require
from users import ALICE, BOB, as_user, needs_root, open_folder, run_as

CAROL = 61003  # whose folder in /tmp is taken away from her; ALICE's serves other tests
SECONDS = 60
OLD_AND_NEW = ("3.8", "3.11", "3.13")

pytestmark = needs_root

# Leaves a daemon behind that waits for the file `go` and starts another Python then; what that says is in the file `said`.
DAEMON = """
import os, subprocess, sys, time
folder = sys.argv[1]
print(os.environ.get("PYTHONPATH", ""), os.environ.get("LEADLINE_SESSION", ""), sep="\\n", flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        nothing = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(nothing, fd)
        while not os.path.exists(folder + "/go"):
            time.sleep(0.02)
        with open(folder + "/said.part", "wb") as file:
            subprocess.run([sys.executable, "-W", "always", "-c", "print('alive')"], stdout=file, stderr=file)
        os.rename(folder + "/said.part", folder + "/said")
    os._exit(0)
os.wait()
"""

# Makes each folder that is named, with code that writes down as whom it runs.
ATTACK = """
import os, sys
proof, names = sys.argv[1], sys.argv[2:]
code = "import os\\nwith open(%r, 'a') as f: f.write('as %%d ' %% os.geteuid())\\n" % proof
for name in names:
    try:
        os.makedirs(name, exist_ok=True)
        os.makedirs(name + "/leadline", exist_ok=True)
        for file in ("sitecustomize.py", "usercustomize.py", "leadline/__init__.py"):
            with open(name + "/" + file, "w") as f:
                f.write(code)
        print("made", name)
    except OSError as error:
        print("refused", name)
"""


def wait_for(path):
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, f"{path} does not come"
        time.sleep(0.02)
    return path.read_text()


def remove_shared(uid):
    path = Path(f"/tmp/leadline-{uid}")
    if path.is_symlink() or path.is_file():
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def shared():
    """A folder everyone may write, with the tool in it."""
    with open_folder(mode=0o777) as folder:
        tool = folder / "tool"
        tool.mkdir(mode=0o755)
        tool.chmod(0o755)
        shutil.copy(LEADLINE, tool / "leadline")
        (tool / "leadline").chmod(0o755)
        yield folder


@contextlib.contextmanager
def home_of(uid):
    """A home whose name nobody else can take: below /var/lib, which is root's."""
    home = Path(f"/var/lib/leadline-test-{uid}-{os.getpid()}")
    home.mkdir(mode=0o755)
    os.chown(home, uid, uid)
    try:
        yield home
    finally:
        shutil.rmtree(home)


def tool(shared, uid, *words, **environment):
    """leadline as that user, in a folder of the user's."""
    own = shared / f"own-{uid}"
    own.mkdir(exist_ok=True)
    os.chown(own, uid, uid)
    return run_as(uid, shared / "tool" / "leadline", *words, environment=environment, cwd=own)


def script(shared, text):
    path = shared / "tool" / "program.py"
    path.write_text(text)
    path.chmod(0o644)
    return path


def python(label):
    return require(label).command()


@pytest.mark.parametrize("label", OLD_AND_NEW)
@pytest.mark.parametrize("where", ("home", "no home", "root"))
@pytest.mark.parametrize("how", (("--trace",), ("--lines=f",), ("--count",), ()))
def test_a_daemon_finds_nothing_of_anyone_elses(shared, label, where, how):
    """The program leaves a daemon behind; BOB makes the folders it was told of anew, as soon as they have gone."""
    uid = 0 if where == "root" else ALICE
    path = script(shared, "# leadline is only spoken of\n" + DAEMON)
    with home_of(ALICE) as home:
        environment = {"HOME": str(home)} if where == "home" else {}
        ran = tool(shared, uid, "run", "-o", "x.lead", *how, "--", *python(label), path, shared, **environment)
        assert ran.returncode == 0, ran.stderr
        python_path, session = ran.stdout.split("\n")[:2]
        assert bool(python_path) == bool(how) and session
        names = [*filter(None, python_path.split(":")), session, session + "/bootstrap", session + "/package"]
        assert not any(Path(name).exists() for name in names), "they find nothing to import"
        attack = run_as(BOB, *python("3.13"), "-c", ATTACK, shared / "proof", *names)
        (shared / "go").touch()
        assert wait_for(shared / "said") == "alive\n"
        assert not (shared / "proof").exists(), (shared / "proof").read_text()
        assert attack.stdout.split()[::2] == ["refused"] * len(names), attack.stdout + attack.stderr


@pytest.mark.parametrize("label", OLD_AND_NEW)
@pytest.mark.parametrize("how", (("--trace",), ()))
def test_what_outlives_us_runs_as_without_us(shared, label, how):
    """Its own sitecustomize and usercustomize, and not a word more; while we are there, too."""
    own = shared / "tool" / "own"
    own.mkdir(mode=0o755)
    own.chmod(0o755)
    (own / "sitecustomize.py").write_text("print('own site', flush=True)\n")
    (own / "usercustomize.py").write_text("print('own user', flush=True)\n")
    path = script(shared, DAEMON)
    plain = run_as(ALICE, *python(label), "-c", "print('alive')", environment={"PYTHONPATH": str(own)})
    assert plain.stdout == "own site\nown user\nalive\n", plain.stderr
    ran = tool(shared, ALICE, "run", "-o", "x.lead", *how, "--", *python(label), path, shared, PYTHONPATH=str(own))
    assert ran.returncode == 0 and ran.stdout.startswith("own site\nown user\n"), ran.stderr
    (shared / "go").touch()
    assert wait_for(shared / "said") == plain.stdout


ENVIRONMENT = "import os, json\nprint(json.dumps(dict(os.environ), sort_keys=True))\n"


@pytest.mark.parametrize("text", ("", "# import leadline\n", "'''What leadline shows of it.'''\n", "leadline = 'run'\n"))
def test_sampling_leaves_the_environment_alone(shared, text):
    path = script(shared, text + ENVIRONMENT)
    environment = {"PYTHONPATH": "/nowhere", "PATH": os.environ["PATH"]}
    plain = run_as(ALICE, *python("3.13"), path, environment=environment)
    ran = tool(shared, ALICE, "run", "-o", "x.lead", "--", *python("3.13"), path, **environment)
    added = set(ran.stdout.split(", ")) - set(plain.stdout.split(", "))
    assert ran.returncode == 0 and [one.strip('{"')[:18] for one in added] == ['LEADLINE_SESSION":'], added
    timed = tool(shared, ALICE, "time", "--", *python("3.13"), path, **environment)
    assert timed.stdout.startswith(plain.stdout.strip()), timed.stdout


@pytest.mark.parametrize("text", ("import leadline\n", "import os, leadline.torch as x\n", "if 1: from leadline import region\n"))
def test_a_script_that_imports_the_package_finds_it(shared, text):
    path = script(shared, text + ENVIRONMENT + "import leadline; print(leadline.__file__)\n")
    ran = tool(shared, ALICE, "run", "-o", "x.lead", "--", *python("3.13"), path)
    assert ran.returncode == 0 and "/package/leadline/" in ran.stdout.split("\n")[1], ran.stderr


# ---- a name somebody else was faster to take


def squat_with_bobs_folder(path):
    path.mkdir(mode=0o777)
    path.chmod(0o777)
    os.chown(path, BOB, BOB)


def squat_with_bobs_closed_folder(path):
    path.mkdir(mode=0o700)
    os.chown(path, BOB, BOB)


def squat_with_a_link(path):
    path.symlink_to("/var/tmp")
    os.chown(path, BOB, BOB, follow_symlinks=False)


def squat_with_a_file(path):
    path.touch()
    os.chown(path, BOB, BOB)


def leave_it_open(path):
    path.mkdir()
    path.chmod(0o755)
    os.chown(path, CAROL, CAROL)


@pytest.fixture(params=(squat_with_bobs_folder, squat_with_bobs_closed_folder, squat_with_a_link, squat_with_a_file, leave_it_open))
def squatted(request):
    path = Path(f"/tmp/leadline-{CAROL}")
    remove_shared(CAROL)
    request.param(path)
    yield path
    remove_shared(CAROL)


def test_a_squatted_name_is_refused(shared, squatted):
    path = script(shared, "print('it ran')\n")
    before = squatted.lstat()
    ran = tool(shared, CAROL, "run", "--trace", "-o", "x.lead", "--", *python("3.13"), path)
    assert ran.returncode == 125 and ran.stdout == "", ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if str(squatted) in line]
    assert "must be a folder of yours alone" in line and "XDG_RUNTIME_DIR" in line
    after = squatted.lstat()
    assert (before.st_mode, before.st_uid, before.st_ino, before.st_mtime_ns) == (after.st_mode, after.st_uid, after.st_ino, after.st_mtime_ns)
    sampled = tool(shared, CAROL, "run", "-o", "y.lead", "--", *python("3.13"), path)
    assert sampled.returncode == 0 and sampled.stdout.startswith("it ran\n"), sampled.stderr  # it needs none
    with home_of(CAROL) as home:
        ran = tool(shared, CAROL, "run", "--trace", "-o", "z.lead", "--", *python("3.13"), path, HOME=str(home))
        assert ran.returncode == 0 and ran.stdout.startswith("it ran\n"), ran.stderr
        assert oct((home / ".cache/leadline/run").stat().st_mode) == "0o40700"


def test_the_folder_in_tmp_stays_and_holds_its_name(shared):
    """Also where a cleaner comes by: what has the sticky bit is spared, and so is its folder."""
    remove_shared(CAROL)
    ran = tool(shared, CAROL, "run", "--trace", "-o", "x.lead", "--", *python("3.13"), "-c", "1")
    assert ran.returncode == 0, ran.stderr
    path = Path(f"/tmp/leadline-{CAROL}")
    assert path.stat().st_uid == CAROL and oct(path.stat().st_mode) == "0o40700"
    assert [oct(file.stat().st_mode) for file in path.iterdir()] == ["0o101600"]
    taken = run_as(BOB, *python("3.13"), "-c", "import os, sys\nfor f in os.rmdir, os.unlink, lambda p: os.rename(p, p + 'x'):\n"
                   " try: f(sys.argv[1]); print('taken')\n except OSError: pass", path)
    assert taken.stdout == "" and path.exists()
    remove_shared(CAROL)


def test_who_is_root_in_a_namespace_of_its_own_has_a_folder_of_its_own(shared):
    """There /tmp/leadline-0 is somebody else's, as / is."""
    if run_as(CAROL, "unshare", "-r", "true").returncode:
        pytest.skip("users may not make namespaces here")
    remove_shared(CAROL)
    Path("/tmp/leadline-0").mkdir(mode=0o700, exist_ok=True)
    own = shared / "own"
    own.mkdir()
    os.chown(own, CAROL, CAROL)
    ran = run_as(CAROL, "unshare", "-r", shared / "tool" / "leadline", "run", "--trace", "-o", own / "x.lead", "--", *python("3.13"), "-c",
                 "import os; print(os.environ['LEADLINE_SESSION'])")
    assert ran.returncode == 0 and ran.stdout.startswith(f"/tmp/leadline-{CAROL}/"), ran.stderr
    remove_shared(CAROL)


@pytest.mark.parametrize("variable", ("XDG_RUNTIME_DIR", "TMPDIR", "HOME", "XDG_CACHE_HOME"))
def test_a_place_of_someone_elses_is_none(shared, variable):
    """As after sudo, which may keep them: BOB's folders, and such as BOB could move away."""
    with home_of(BOB) as bobs:
        lent = bobs / "lent"
        lent.mkdir()
        os.chown(lent, ALICE, ALICE)
        for i, place in enumerate((bobs, lent, shared)):
            for uid in (ALICE, 0):
                ran = tool(shared, uid, "run", "--trace", "-o", f"{i}.lead", "--", *python("3.13"), "-c",
                           "import os; print(os.environ['LEADLINE_SESSION'])", **{variable: str(place)})
                assert ran.returncode == 0 and ran.stdout.startswith(f"/tmp/leadline-{ALICE}/" if uid else "/run/leadline/"), ran.stdout + ran.stderr


# ---- what a killed one leaves behind

WAITING = """
import os, subprocess, sys
print(os.environ["LEADLINE_SESSION"], flush=True)
def f():
    return 1
sys.stdin.read()
f()
subprocess.run([sys.executable, "-W", "always", "-c", "print('alive')"], stderr=subprocess.STDOUT)
"""


@contextlib.contextmanager
def running(shared, uid, name, **environment):
    """A traced program that waits for the end of its input, its tool and the session's folder."""
    own = shared / f"own-{uid}"
    own.mkdir(exist_ok=True)
    os.chown(own, uid, uid)
    tool = subprocess.Popen([shared / "tool" / "leadline", "run", "--trace", "-o", own / name, "--report", own / f"{name}.txt", "--", *python("3.13"), "-c", WAITING],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **as_user(uid, environment))
    try:
        yield tool, Path(tool.stdout.readline().strip())
    finally:
        tool.stdin.close()
        tool.wait(SECONDS)
        tool.stdout.read()  # until the program has ended, too
        tool.stdout.close()


@pytest.mark.parametrize("is_swept", (False, True))
def test_the_program_of_a_killed_one_goes_on_in_silence(shared, is_swept):
    """Whether its folder is still there or the next leadline has removed it."""
    with running(shared, ALICE, "killed.lead") as (killed, left):
        killed.send_signal(signal.SIGKILL)
        killed.wait(SECONDS)
        if is_swept:
            assert tool(shared, ALICE, "run", "-o", "next.lead", "--", "true").returncode == 0
        assert left.exists() != is_swept
        killed.stdin.close()
        assert killed.stdout.read() == "alive\n"


@pytest.mark.parametrize("uid", (0, ALICE))
def test_what_a_killed_one_left_is_removed_and_a_living_ones_is_not(shared, uid):
    with running(shared, uid, "killed.lead") as (killed, left), running(shared, uid, "living.lead") as (living, used):
        killed.send_signal(signal.SIGKILL)
        killed.wait(SECONDS)
        assert left.is_dir() and used.is_dir()
        assert (left / "bootstrap").is_dir()
        inside = sorted(used.rglob("*"))
        ran = tool(shared, uid, "run", "-o", "next.lead", "--", "true")
        assert ran.returncode == 0, ran.stderr
        assert not left.exists()
        assert sorted(used.rglob("*")) == inside
        other = tool(shared, BOB, "run", "-o", "next.lead", "--", "true")
        assert other.returncode == 0 and used.is_dir()
        living.stdin.close()
        assert living.wait(SECONDS) == 0
        assert not used.exists() and used.parent.is_dir()
    report = json.loads(tool(shared, uid, "report", "living.lead", "--json").stdout)
    assert [f["calls"] for f in report["functions"] if f["name"] == "f"] == [1]


def test_many_at_once_leave_nothing(shared):
    """Each sweeps while others make and remove theirs."""
    many = [subprocess.Popen([shared / "tool" / "leadline", "run", "--trace", "-o", shared / f"{i}.lead", "--", *python("3.13"), "-c", "1"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **as_user(CAROL)) for i in range(12)]
    assert [one.communicate(timeout=SECONDS)[1] for one in many if one.wait(SECONDS)] == []
    assert [path.name for path in Path(f"/tmp/leadline-{CAROL}").iterdir()] == ["README"]
    remove_shared(CAROL)
