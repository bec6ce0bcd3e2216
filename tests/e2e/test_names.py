"""Names are the program's: of any length and with any character. Long ones are cut where they are read, none of them breaks a file that we
write, and nothing of them reaches a terminal but what is printable."""
import csv
import io
import json
import os
import pty
import re
import resource
import subprocess
import xml.dom.minidom

import pytest

import consumers
from conftest import running
from interpreters import require

NAMES = ["new\nline", "tab\tbed", "esc\x1b[31mred", 'quo"te', "semi;colon", "=cmd|' /C calc'!A0", "+1", "@x", "rtl\u202eevil", "c1\x9b31m",
         "sur\udcffrogate", "back\\slash\\n", " lead", "again'2", "comma,x", "nul\0x", "del\x7f", "<b>&amp;", "pipe|tick`", "héllo…", "par (x.py:3)",
         "a\\", "(1) x", "cr\rx", "ls\u2028x", "%s%n", "}{$", "--", "]]>"]
# U+2400 stands for NUL; what is no UTF-8 comes as the interpreter escapes it, or as U+FFFD.
SHOWN = {n.replace("\0", "\u2400") for n in NAMES if "\udcff" not in n}

MADE = """
import sys, threading, time
NAMES = {names!r}
def spin(n=20000):
    t = 0
    for i in range(n):
        t += i
    return t
def named(name):
    space = {{"spin": spin}}
    exec(compile("def f():\\n    return spin()\\n", {file!r}, "exec"), space)
    code = space["f"].__code__
    kind = {{"co_name": name}}
    if hasattr(code, "co_qualname"):
        kind["co_qualname"] = name
    space["f"].__code__ = code.replace(**kind)
    return space["f"]
functions = [named(name) for name in NAMES]
"""
CALLED = MADE + """
def main():
    for _ in range(int(sys.argv[1]) if sys.argv[1:] else 3):
        for f in functions:
            f()
thread = threading.Thread(target=main, name={thread!r})
thread.start()
thread.join()
"""


def functions(tool, path):
    done = tool("report", "--json", "--limit", 0, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["functions"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory, binary):
    folder = tmp_path_factory.mktemp("names")
    script = folder / "made.py"
    script.write_text(CALLED.format(names=NAMES, file="e\x1b]0;x\x07vil\n.py", thread="thr\x1b[2Jead\nx"), encoding="utf-8", errors="surrogatepass")
    done = subprocess.run([binary, "run", "--trace=timeline", "-o", folder / "x.lead", "--report", "/dev/null", "--", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "x.lead"


# ---- long ones ----


LONG = CALLED.replace("NAMES = {names!r}", "NAMES = ['f' + 'x' * 1_000_000 + str(i) for i in range(40)]")
CUT = re.compile(r"fx{490}…[0-9a-f]{8}")


@pytest.mark.parametrize("options", [[], ["--trace"], ["--count"], ["--lines=f*"]], ids=["sampled", "traced", "counted", "lines"])
def test_a_name_of_a_megabyte_is_cut_and_stays_its_own(tool, tmp_path, options):
    """It made the recording as large as itself and its reader slow; the sampler called all of them "?"."""
    script, out = tmp_path / "long.py", tmp_path / "x.lead"
    script.write_text(LONG.format(file="made.py", thread="t"))
    done = tool("run", *options, "-o", out, "--report", "/dev/null", "--", script, 20, timeout=120)
    assert done.returncode == 0, done.stderr
    assert out.stat().st_size < 1_000_000
    done = tool("report", "--json", "--limit", 0, out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    found = [r["name" if "name" in r else "function"] for r in result.get("functions") or result["lines"]]
    cut = {name for name in found if name.startswith("fxxx")}
    assert cut and all(CUT.fullmatch(name) for name in cut), sorted(cut)[:3]
    assert options in ([], ["--lines=f*"]) or len(cut) == 40
    assert len(done.stdout) < 1_000_000


def test_the_sampler_and_agents_cut_alike(tool, tmp_path):
    script = tmp_path / "long.py"
    script.write_text(LONG.format(file="made.py", thread="t").replace("range(40)", "range(3)"))
    found = []
    for options in (["--trace"], []):
        assert tool("run", *options, "-o", tmp_path / "x.lead", "--report", "/dev/null", "--", script, 300, timeout=120).returncode == 0
        found.append({f["name"] for f in functions(tool, tmp_path / "x.lead") if f["name"].startswith("fxxx")})
        (tmp_path / "x.lead").unlink()
    assert found[0] == found[1] and len(found[0]) == 3


def test_long_names_of_regions_threads_and_tasks_are_cut(tool, tmp_path):
    script = tmp_path / "long.py"
    script.write_text("import asyncio, threading, time, leadline\n"
                      "def spin():\n    end = time.monotonic() + 0.3\n    while time.monotonic() < end: pass\n"
                      "async def job():\n    spin()\n"
                      "async def main():\n    await asyncio.create_task(job(), name='k' * 100_000)\n"
                      "with leadline.region('r' * 100_000): spin()\n"
                      "with leadline.region('r' * 99_999 + 'z\\n\\0'): pass\n"
                      "t = threading.Thread(target=spin, name='t' * 100_000); t.start(); t.join()\n"
                      "asyncio.run(main())\n")
    out = tmp_path / "x.lead"
    assert tool("run", "-o", out, "--report", "/dev/null", "--", script, timeout=120).returncode == 0
    result = json.loads(tool("report", "--json", "--threads", "--tasks", out).stdout)
    names = {"r": [r["name"] for r in result["regions"]], "t": [t["name"] for t in result["threads"] if t["name"].startswith("tt")],
             "k": [t["name"] for t in result["tasks"] if t["name"].startswith("kk")]}
    for letter, found in names.items():
        assert found and all(re.fullmatch(letter + "{491}…[0-9a-f]{8}", name) for name in found), (letter, found)
    assert len(set(names["r"])) == 2


@pytest.mark.parametrize("label", ["3.8", "3.13"])
def test_a_long_name_in_a_dump(tool, label, tmp_path):
    script = tmp_path / "long.py"
    script.write_text(MADE.format(names=["f" + "x" * 1_000_000], file="made.py") + "print('ready', flush=True)\nspin = lambda: time.sleep(100)\n"
                      "functions[0].__globals__['spin'] = spin\nfunctions[0]()\n")
    with running(*require(label).command(str(script))) as program:
        def frames():
            (process,) = json.loads(tool("dump", "--json", program.pid).stdout)["processes"]
            return [f["function"] for f in process["threads"][0]["frames"]]
        from conftest import wait_until
        wait_until(lambda: len(frames()) == 3, "the call")
        assert CUT.fullmatch(frames()[1]), frames()[1][:50]


# ---- in files ----


@pytest.mark.parametrize("name", ["callgrind", "chrome", "firefox", "pprof", "speedscope", "speedscope-evented"])
def test_what_we_read_back_is_equal(tool, tmp_path, traced, name):
    """We refused our own callgrind file where a name had a line end."""
    out = tmp_path / "out"
    done = tool("export", "--force", traced, "--format", name, "-o", out)
    assert done.returncode == 0, done.stderr
    before = {(f["name"], f["file"]) for f in functions(tool, traced)}
    after = {(f["name"], f["file"]) for f in functions(tool, out)}
    assert before <= after
    assert SHOWN <= {name for name, _ in before}
    assert all("thread" in name for name, _ in after - before)


def test_collapsed_stacks_are_escaped(tool, tmp_path, traced):
    out = tmp_path / "out.folded"
    assert tool("export", "--force", traced, "-o", out).returncode == 0
    text = out.read_bytes().decode()
    assert all(re.fullmatch(r"[^;\x00-\x1f]+(;[^;\x00-\x1f]+)* \d+", line) for line in text.splitlines())
    found = {f["name"] for f in functions(tool, out)}
    assert {"new\\nline", "tab\\tbed", "semi\\x3bcolon", "esc\\x1b[31mred", "back\\slash\\\\n", "c1\\u009b31m", 'quo"te', "héllo…"} <= found


def test_csv_is_read_as_it_was(tool, traced):
    done = tool("export", traced, "--format", "csv", text=False)
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    found = {r["function"] for r in rows}
    plain = {n for n in SHOWN if not re.search("[\x1b\x7f\x9b\u202e\u2028]", n) and n[0] not in "=+-@"}
    assert plain <= found and {"esc\\x1b[31mred", "c1\\u009b31m", "rtl\\u202eevil"} <= found
    # A spreadsheet takes these for formulas, quotes or not.
    assert {"'=cmd|' /C calc'!A0", "'+1", "'@x", "'--"} <= found
    assert len(found) >= len(NAMES) and all(float(r["total_share"]) >= 0 for r in rows)


@pytest.mark.parametrize("name", ["svg", "callgraph"])
def test_pictures_are_xml(tool, traced, name):
    done = tool("export", traced, "--format", name, text=False)
    xml.dom.minidom.parseString(done.stdout)


@pytest.mark.parametrize("name", ["json", "cpuprofile", "chrome", "speedscope"])
def test_json_is_json(tool, traced, name):
    done = tool("export", traced, "--format", name, text=False)
    json.loads(done.stdout)
    assert not re.search(b"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", done.stdout)


def test_markdown_is_one_table(tool, traced):
    text = tool("export", traced, "--format", "markdown").stdout
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(re.findall(r"(?<!\\)\|", rows[0]))}


def test_graphviz_reads_dot(tool, tmp_path, traced):
    out = tmp_path / "out.dot"
    assert tool("export", "--force", traced, "-o", out, "--node-thres", 0, "--edge-thres", 0).returncode == 0
    assert "<svg" in consumers.output("dot", "-Tsvg", out)


def test_callgrind_annotate_reads_it(tool, tmp_path, traced):
    out = tmp_path / "callgrind.out"
    assert tool("export", "--force", traced, "-o", out).returncode == 0
    shown = consumers.output("callgrind_annotate", "--threshold=100", out)
    assert "new\\nline" in shown and "esc\\x1b[31mred" in shown


def test_pstats_reads_it(tool, tmp_path, traced):
    out = tmp_path / "out.prof"
    assert tool("export", "--force", traced, "-o", out).returncode == 0
    import pstats
    found = {key[2] for key in pstats.Stats(str(out)).stats}
    assert {n for n in SHOWN if "." not in n} <= found


# ---- on terminals ----


OURS = re.compile(rb"\x1b\[(?:0|1|2|7|33|36)?m")
RAW = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")


def in_pty(command, env=os.environ):
    master, slave = pty.openpty()
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**env, "TERM": "xterm"})
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # it has ended
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    p.wait()
    return OURS.sub(b"", seen)


def check_clean(tool, *args, status=None, env=os.environ):
    command = [tool.binary, *args]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env=env)
    assert status is None or done.returncode == status, done.stderr
    for seen in (done.stdout + done.stderr, in_pty(command, env)):
        raw = RAW.search(seen)
        assert not raw, (args, seen[max(0, raw.start() - 80):raw.end() + 40])


EVIL = b"\x1b[31m\x1b]0;t\x07\n\x9b\xe2\x80\xae"


@pytest.mark.parametrize("options", [[], ["--tree"], ["--lines"], ["--threads"], ["--host"], ["--processes"], ["--json"], ["--pprof-text"],
                                     ["--callers", "spin"], ["--bytecode", "spin"], ["--callers", EVIL], ["--thread", EVIL], ["--sort", EVIL],
                                     ["--filter", EVIL], [b"--" + EVIL]], ids=lambda o: "_".join(map(str, o))[:20] or "plain")
def test_reports_are_clean(tool, traced, options):
    check_clean(tool, "report", traced, *options)


def test_other_commands_are_clean(tool, tmp_path, traced):
    words = [w for c in ("stats", "callers", "callees", "lines") for w in ("-c", c)]
    check_clean(tool, "stats", traced, *words, "-c", EVIL, "-c", b"help " + EVIL, "-c", b"read " + EVIL, "-c", b"add " + EVIL, "-c", b"stats " + EVIL, status=0)
    check_clean(tool, "diff", traced, traced, "--all", status=0)
    for name in ("callgrind", "collapsed", "csv", "dot", "json", "markdown", "speedscope", "chrome", "svg", "callgraph", "cpuprofile"):
        check_clean(tool, "export", traced, "--format", name, status=0)
    for command in ("report", "dump", "attach", "view", "doctor", "help", "env", "export", "diff", "stats", "run", "top", "bench", "compare"):
        if command in ("bench", "compare"):
            check_clean(tool, command, b"--" + EVIL)
        else:
            check_clean(tool, command, EVIL)
    check_clean(tool, EVIL, status=2)
    check_clean(tool, "export", traced, "--format", EVIL, status=2)
    check_clean(tool, "report", traced, env={**os.environ, "LEADLINE_LOG": "all:2"})


def test_a_run_of_a_hostile_program_is_clean(tool, tmp_path):
    """File, folder, functions, thread, source text and arguments hold sequences; the program itself prints nothing."""
    folder = os.fsencode(tmp_path) + b"/d\x1b[31m\xe2\x80\xae"
    os.mkdir(folder)
    script = folder + b"/s\x1b]0;t\x07\n.py"
    with open(script, "w", encoding="utf-8", errors="surrogatepass") as f:
        f.write("# \x1b[31m\n" + CALLED.format(names=NAMES, file=os.fsdecode(script), thread="thr\x1b[2Jead\nx").replace("t += i", "t += i  # \x1b[31m\x9b"))
    for options in ([], ["--trace"], ["--lines=spin"], ["--count"]):
        check_clean(tool, "run", *options, "-o", folder + b"/x.lead", "--", script, "10", EVIL.replace(b"\0", b""), status=0)
        check_clean(tool, "report", folder + b"/x.lead", "--lines", status=0)
        check_clean(tool, "view", "--force", folder + b"/x.lead", "-o", folder + b"/x.html", status=0)
        os.unlink(folder + b"/x.lead")
    check_clean(tool, "time", "python3", script, "3", EVIL, status=0)


def test_a_live_hostile_program_is_clean(tool, tmp_path):
    script = os.fsencode(tmp_path) + b"/s\x1b]0;t\x07\n.py"
    with open(script, "w", encoding="utf-8") as f:
        f.write("import asyncio, sys, threading, time  # \x1b[31m\n"
                "async def job(local='\\x1b[31m\\x9b'):\n    await asyncio.sleep(1000)  # \x1b[31m\n"
                "async def main():\n    tasks = [asyncio.create_task(job(), name='ta\\x1b[2Jsk\\n\\x9b')]\n    await asyncio.sleep(0)\n    print('ready', flush=True)\n"
                "    threading.Thread(target=time.sleep, args=(1000,), name='th\\x1b[2J\\n', daemon=True).start()\n"
                "    await tasks[0]\n"
                "asyncio.run(main())\n")
    with running(*map(os.fsdecode, ["python3", script, EVIL])) as program:
        pid = str(program.pid)
        check_clean(tool, "dump", "--locals", pid, status=0)
        check_clean(tool, "dump", "--json", pid, status=0)
        check_clean(tool, "doctor", pid)
        check_clean(tool, "attach", pid, "--duration", "0.2", "-o", tmp_path / "x.lead")


def test_a_hostile_trace_of_torch_is_clean(tool, tmp_path):
    evil = EVIL.decode("utf-8", "replace") + "\x9b"
    events = [{"ph": "X", "cat": cat, "name": evil + name, "pid": 1, "tid": 1, "ts": ts, "dur": 50, "args": {"External id": ts}}
              for cat, name, ts in (("user_annotation", "ProfilerStep#1", 0), ("cpu_op", "aten::mm", 5), ("kernel", "k", 9), ("python_function", "nn.Module: X_0", 1))]
    for rank in (0, 1):
        (tmp_path / f"w_{rank}.pt.trace.json").write_text(json.dumps({
            "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": evil, "totalGlobalMem": 1}],
            "distributedInfo": {"backend": evil[:8], "rank": rank, "world_size": 2}, "traceEvents": events}))
    paths = [str(tmp_path / f"w_{rank}.pt.trace.json") for rank in (0, 1)]
    for pages in (["--overview"], ["--ops"], ["--steps"], ["--kernels"], ["--modules"], ["--memory"], ["--compile"], ["--streams"], ["--ops", "--torch"], ["--ops", "--json"]):
        check_clean(tool, "report", paths[0], *pages)
    check_clean(tool, "report", "--distributed", *paths)
    check_clean(tool, "diff", *paths)
