"""What all commands print: how wide, in which characters, over which files, into closed pipes."""
import os
import pathlib
import re
import subprocess

import pytest

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
LONG = "_make_iterencode.<locals>._iterencode_list"


def environment(**more):
    """Ours without what decides about columns and characters."""
    return {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LC_ALL", "LC_CTYPE", "LANG")} | more


def report(tool, *args, **more):
    return tool("report", *args, DATA / "orders.lead", env=environment(**more), check=True).stdout


# ---- columns ---------------------------------------------------------------------------------------

def test_off_a_terminal_nothing_is_cut(tool):
    text = report(tool, "--functions", "--lines", "--tree")
    assert text.count(LONG) > 1
    assert "yield from _iterencode_list(o, _current_indent_level)" in text
    assert "_iterencode_…" not in text and "…/" not in text


def test_a_report_written_to_a_file_is_not_cut_either(tool, tmp_path):
    program = tmp_path / "a_program_with_a_name_that_would_not_fit_into_eighty_columns_by_any_means.py"
    program.write_text("pass\n")
    tool("time", f"--report={tmp_path}/report.txt", "/bin/sh", "-c", f": {program}; true", env=environment(), check=True)
    assert str(program) in (tmp_path / "report.txt").read_text()


@pytest.mark.parametrize("columns", [60, 100])
def test_columns_are_honoured(tool, columns):
    lines = report(tool, "--functions", COLUMNS=str(columns)).splitlines()
    assert max(map(len, lines)) <= columns
    assert not any(LONG in line for line in lines)


@pytest.mark.parametrize("columns", ["", "0", "many", "-5"])
def test_columns_that_are_no_number_count_for_nothing(tool, columns):
    assert report(tool, "--functions", COLUMNS=columns) == report(tool, "--functions")


def test_prose_is_wrapped_everywhere(tool):
    assert max(map(len, tool("help", "run", env=environment(), check=True).stdout.splitlines())) < 100


# ---- files that are there ----------------------------------------------------------------------------

WRITERS = {
    "export": lambda to: ["export", DATA / "orders.lead", "-o", f"{to}.svg"],
    "import": lambda to: ["export", DATA / "findings.pt.trace.json", "-o", f"{to}.lead"],
    "view": lambda to: ["view", DATA / "orders.lead", "-o", f"{to}.html"],
    "run": lambda to: ["run", "-o", f"{to}.lead", "true"],
    "run an export": lambda to: ["run", "-o", f"{to}.folded", "--", "python3", "-c", "pass"],
    "run --json": lambda to: ["run", "-o", "other.lead", f"--json={to}.json", "true"],
    "run --report": lambda to: ["run", "-o", "other.lead", f"--report={to}.txt", "true"],
    "time": lambda to: ["time", "-o", f"{to}.lead", "true"],
    "time --json": lambda to: ["time", f"--json={to}.json", "true"],
    "time --report": lambda to: ["time", f"--report={to}.txt", "true"],
    "bench": lambda to: ["bench", "-n", "1", "-r", "1", "-o", f"{to}.lead", "--", "true"],
    "bench --json": lambda to: ["bench", "-n", "1", "-r", "1", f"--json={to}.json", "--", "true"],
    "bench --export": lambda to: ["bench", "-n", "1", "-r", "1", f"--export=csv={to}.csv", "--", "true"],
    "bench --export-json": lambda to: ["bench", "-n", "1", "-r", "1", f"--export-json={to}.json", "--", "true"],
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_file_that_is_there_is_written_over_with_force_alone(tool, tmp_path, what):
    arguments = [str(a) for a in WRITERS[what]("there")]
    name = next(word for a in arguments for word in a.split("=") if word.startswith("there."))
    (tmp_path / name).write_text("mine")
    refused = tool(*arguments, cwd=tmp_path)
    assert refused.returncode in (7, 125), refused.stderr
    assert f"{name} already exists; --force overwrites it" in refused.stderr
    assert (tmp_path / name).read_text() == "mine"
    assert not (tmp_path / "other.lead").exists(), "nothing was done before it was refused"
    allowed = tool(arguments[0], "--force", *arguments[1:], cwd=tmp_path)
    assert "already exists" not in allowed.stderr
    assert (tmp_path / name).read_bytes() not in (b"mine", b""), allowed.stderr


@pytest.mark.parametrize("command", ["run", "time"])
def test_force_loses_no_file_for_nothing(tool, tmp_path, command):
    """A command that is not there: nothing was recorded."""
    there = tmp_path / "there.lead"
    there.write_text("mine")
    assert tool(command, "--force", "-o", there, "no-such-command").returncode == 127
    assert there.read_text() == "mine" and list(tmp_path.iterdir()) == [there]
    link = tmp_path / "link.lead"
    link.symlink_to("elsewhere")
    assert tool(command, "--force", "-o", link, "no-such-command").returncode
    assert link.is_symlink()
    tool(command, "--force", "-o", "/dev/null", "no-such-command")
    assert pathlib.Path("/dev/null").is_char_device()


def test_a_comparison_is_refused_before_it_measures(tool, tmp_path):
    (tmp_path / "there.json").write_text("mine")
    refused = tool("compare", "--json=there.json", "1", "1", cwd=tmp_path)
    assert "there.json already exists; --force overwrites it" in refused.stderr
    assert (tmp_path / "there.json").read_text() == "mine"


def test_devices_and_pipes_are_no_files_to_write_over(tool, tmp_path):
    tool("export", DATA / "orders.lead", "--format=collapsed", "-o", "/dev/null", check=True)
    assert tool("export", DATA / "orders.lead", "--format=collapsed", "-o", "/dev/stdout", check=True).stdout.startswith("[imports]")


# ---- words -------------------------------------------------------------------------------------------

COMMANDS = [name for name in re.findall(r"^COMMAND\((\w+)\)", (DATA.parent.parent / "src" / "cmd" / "commands.def").read_text(), re.MULTILINE) if name != "host"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_told_wherever_it_is_asked_for(tool, command):
    expected = tool("help", command, check=True).stdout
    assert expected.startswith(f"leadline {command}")
    for asked in (["-h"], ["--help"], ["--no-such-option", "--help"], ["--color", "-h"], ["--output", "--help"]):
        if command == "help" and len(asked) > 1:
            continue
        r = tool(command, *asked)
        assert (r.returncode, r.stdout, r.stderr) == (0, expected, ""), asked


def test_help_comes_after_files_and_values_and_not_from_the_program(tool):
    assert tool("report", DATA / "orders.lead", "-h").stdout == tool("help", "report").stdout
    assert tool(DATA / "orders.lead", "--help").stdout == tool("help", "report").stdout
    assert tool("run", "-o", "x.lead", "--help").stdout == tool("help", "run").stdout
    assert tool("--help", "run").stdout == tool("help", "run").stdout
    assert "usage" not in tool("time", "/bin/echo", "-h").stdout
    assert tool("time", "/bin/echo", "-h").stdout == "-h\n"
    assert tool("time", "--", "/bin/echo", "--help", "me").stdout == "--help me\n"


def test_words_of_other_tools_are_answered_and_nothing_is_run(tool, tmp_path):
    r = tool("timeit", "-n", "5", "open('made', 'w')", cwd=tmp_path)
    assert (r.returncode, r.stdout) == (2, "")
    assert "leadline bench -n 5 'open('\\''made'\\'', '\\''w'\\'')'" in r.stderr
    assert not (tmp_path / "made").exists()
    assert "leadline view x.prof\n" in tool("snakeviz", "x.prof").stderr
    assert "leadline bench" in tool("help", "timeit", check=True).stdout


@pytest.mark.parametrize("word, near", [("repotr", "report"), ("rnu", "run"), ("bnech", "bench"), ("exprot", "export"),
                                        ("banana", None), ("tea", None), ("x", None)])
def test_only_near_names_are_suggested(tool, word, near):
    r = tool(word)
    assert r.returncode == 2
    assert ("did you mean" in r.stderr) == (near is not None)
    assert near is None or f"'{near}'" in r.stderr


def test_a_script_is_not_taken_for_a_recording(tool, tmp_path):
    (tmp_path / "a.py").write_text("pass\n")
    assert "leadline run a.py" in tool("a.py", cwd=tmp_path).stderr


@pytest.mark.parametrize("word", "tottime cumtime ncalls percall GIL self total ± sampling tracing amdahl CPU wall runnable idle RSS".split())
def test_words_of_tables_are_explained_in_a_few_lines(tool, word):
    text = tool("help", word, check=True).stdout
    assert 2 <= len(text.splitlines()) <= 20
    assert f" {word}" in tool("help", check=True).stdout


# ---- characters --------------------------------------------------------------------------------------

H200 = DATA / "torch/h200_conv.pt.trace.json.gz"
PAGES = {
    "overview": ["help"],
    **{f"help {c}": ["help", c] for c in COMMANDS},
    **{f"help {w}": ["help", w] for w in ("±", "amdahl", "bound", "exit", "faults", "percall", "top", "py-spy", "pageable")},
    "report": ["report", "orders.lead"],
    "report of all": ["report", "--functions", "--lines", "--tree", "--threads", "--ci", "--idle", "--imports", "orders.lead"],
    "report in colour": ["report", "--color=always", "--lines", "--tree", "orders.lead"],
    "report of a host": ["report", "--processes", "children.lead"],
    "report of memory": ["report", "--memory", "children.lead"],
    "report of calls": ["report", "--functions", "--lines", "--tree", "traced.lead"],
    "report as line_profiler": ["report", "--line-profiler", "traced.lead"],
    "report of bytecode": ["report", "--bytecode", "encode", "orders.lead"],
    "report of callers": ["report", "--callers", "encode", "--callees", "main", "orders.lead"],
    "report as JSON": ["report", "--json", "orders.lead"],
    "corrected": ["report", "old/20261116-1609-inside-trace.lead"],
    "overview of a trace": ["report", "--overview", H200],
    "operators": ["report", "--ops", H200],
    "steps": ["report", "--steps", "--kernels", "--modules", "--memory", "--streams", H200],
    "findings": ["report", "--overview", "findings.pt.trace.json"],
    "compile": ["report", "--compile", "torch/compile_cold.pt.trace.json.gz"],
    "ranks": ["report", "--distributed", "torch_ranks"],
    "diff": ["diff", "orders.lead", "orders.lead"],
    "diff of traces": ["diff", "torch/mlp_plain.pt.trace.json.gz", "torch/mlp_stack.pt.trace.json.gz"],
    "stats": ["stats", "traced.lead", "-c", "stats", "-c", "callers"],
    "doctor": ["doctor"],
    "doctor as JSON": ["doctor", "--json"],
    "env": ["env"],
    "time": ["time", "-v", "sh", "-c", "sleep 0.02"],
    "time as JSON": ["time", "--json", "true"],
    "run": ["run", "-o", "/dev/null", "--force", "--", "python3", "-c", "größe = 1"],
    "bench": ["bench", "-n", "1", "-r", "2", "pass"],
    "bench of a command": ["bench", "--runs", "2", "--", "true"],
    "bench as JSON": ["bench", "-n", "1", "-r", "2", "--json", "'größe'"],
    "a wrong option": ["report", "--größe"],
    "no such file": ["report", "größe.lead"],
    "dump of nobody": ["dump", "größe"],
    "attach to nobody": ["attach", "größe"],
    "export of nothing": ["export", "orders.lead", "--format", "größe"],
    "another tool": ["timeit", "größe"],
}


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LANG": "de_DE.ISO-8859-1"}, {"LC_CTYPE": "POSIX"}], ids=str)
@pytest.mark.parametrize("page", PAGES)
def test_where_the_locale_is_not_utf8_every_page_is_ascii(tool, page, locale):
    r = tool(*PAGES[page], cwd=DATA, env=environment(**locale), text=False)
    assert r.stdout.isascii(), [line for line in r.stdout.splitlines() if not line.isascii()][:5]
    assert r.stderr.isascii(), r.stderr
    assert r.stdout or r.stderr
    assert b"\\u28" not in r.stdout and b"\\u2" not in r.stderr, "a sign of ours that has no ASCII"


@pytest.mark.parametrize("locale", [{}, {"LC_ALL": ""}, {"LANG": "C.UTF-8"}, {"LC_ALL": "en_US.utf8", "LANG": "C"}], ids=str)
def test_utf8_is_written_where_it_is_named_or_nothing_is(tool, locale):
    assert "±" in tool("report", "--functions", "orders.lead", cwd=DATA, env=environment(**locale), check=True).stdout


def test_signs_of_ours_all_have_an_ascii_form(tool):
    """Text of ours is never escaped; what is, is a name of the program."""
    for page in PAGES.values():
        if "--json" not in page and "größe" not in " ".join(map(str, page)):
            text = tool(*page, cwd=DATA, env=environment(LC_ALL="C")).stdout
            assert "\\u" not in text.replace("\\u0", ""), [line for line in text.splitlines() if "\\u" in line][:3]


def test_json_in_ascii_reads_back_as_the_same(tool, tmp_path):
    import json
    arguments = ["time", "--json", "sh", "-c", ": größe 漢 😀"]
    ascii_only = tool(*arguments, env=environment(LC_ALL="C"), check=True).stdout
    assert ascii_only.isascii()
    assert json.loads(ascii_only)["command"] == json.loads(tool(*arguments, env=environment(), check=True).stdout)["command"]


def test_columns_stay_in_ascii(tool):
    wide = tool("report", "--functions", "orders.lead", cwd=DATA, env=environment(COLUMNS="80"), check=True).stdout
    text = tool("report", "--functions", "orders.lead", cwd=DATA, env=environment(COLUMNS="80", LC_ALL="C"), check=True).stdout
    rows = [line for line in text.splitlines() if ".py:" in line]
    assert len({line.index(".py:") > 0 and line.rindex("  ") >= 0 for line in rows}) == 1
    assert [len(line.split()) for line in text.splitlines() if "%" in line] == [len(line.split()) for line in wide.splitlines() if "%" in line]


# ---- narrow terminals and closed pipes ---------------------------------------------------------------

NARROW = [["report", "--functions", "orders.lead"], ["report", "--callers", "encode", "orders.lead"], ["report", "--functions", "traced.lead"], ["report", "--ops", H200]]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("page", NARROW, ids=lambda page: " ".join(map(str, page))[-30:])
def test_tables_fit_narrow_terminals(tool, page, columns):
    text = tool(*page, cwd=DATA, env=environment(COLUMNS=str(columns)), check=True).stdout
    rows = [line for line in text.splitlines() if line[:7].strip().endswith("%") or line.lstrip()[:1].isdigit() and "  " in line.strip()]
    assert rows
    assert max(map(len, rows)) <= columns, [row for row in rows if len(row) > columns][:3]


@pytest.mark.parametrize("ignored", [False, True], ids=["by a signal", "by an error"])
@pytest.mark.parametrize("page", [["report", "orders.lead"], ["report", "--json", "orders.lead"], ["help"], ["export", "--format=collapsed", "orders.lead"],
                                  ["stats", "traced.lead", "-c", "stats"], ["view", "orders.lead", "-o", "-"]], ids=lambda page: " ".join(page))
def test_a_closed_pipe_ends_it_quietly(tool, page, ignored):
    """As every other tool: the signal ends it; where the parent ignores that, there is nothing left to do."""
    import signal
    reader, writer = os.pipe()
    os.close(reader)
    try:
        r = subprocess.run([tool.binary, *page], cwd=DATA, stdout=writer, stderr=subprocess.PIPE, restore_signals=not ignored, timeout=60)
    finally:
        os.close(writer)
    noise = [line for line in r.stderr.decode().splitlines() if "left out" not in line and "imports are in one row" not in line]
    assert noise == []
    assert r.returncode == (0 if ignored else -signal.SIGPIPE)
