"""Damage is told by whoever shows a recording: of each kind of recording, with one byte of a chunk flipped or the end cut off, every
page is either what it was, or says that something is missing. Exit statuses: 0 shown as far as it can be read, 2 what was asked for is not in it
any more, 6 nothing of it can be shown."""
import json
import re
import struct

import pytest

from conftest import ROOT

DATA = ROOT / "tests" / "data"
TOLD = re.compile(r"could not be read|did not finish|index is damaged|is damaged|to what is missing")
EXPLAINED = re.compile(r"profile with|leadline run --|needs leadline run|was not profiled|was compiled in this trace|were looked at|task was seen")
HEAD, CHUNK_HEAD, TRAILER = 56, 40, 32

SAMPLED = [("report",), ("report", "--lines"), ("report", "--tree"), ("report", "--threads"), ("report", "--host"), ("report", "--json"),
           ("report", "--pprof-text"), ("export", "--format", "collapsed"), ("export", "--format", "speedscope"), ("export", "--format", "pprof")]
TRACED = [("report",), ("report", "--tree"), ("report", "--json"), ("report", "--args"), ("stats", "-c", "stats"), ("stats", "-c", "lines"),
          ("export", "--format", "callgrind"), ("export", "--format", "pstats"), ("export", "--format", "perfetto")]
HOSTED = [("report", "--host"), ("report", "--processes"), ("report", "--json"), ("report", "--tasks")]
OPS = [("report", "--ops"), ("report", "--overview"), ("report", "--memory"), ("report", "--modules"), ("report", "--kernels"), ("report", "--compile"),
       ("report", "--streams"), ("report", "--ops", "--json"), ("report", "--memory", "--json"), ("export", "--format", "torch-trace"), ("report",)]
LINES = [("report", "--lines"), ("report", "--line-profiler"), ("report", "--json"), ("stats", "-c", "lines"), ("export", "--format", "lprof")]
KEPT = [("report",), ("report", "--json"), ("export", "--format", "pyperf")]

LINE_PROGRAM = """
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
for _ in range(3):
    work(50)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory, binary):
    """Recordings that tests/data has none of, made once."""
    import subprocess
    folder = tmp_path_factory.mktemp("made")
    script = folder / "lines.py"
    script.write_text(LINE_PROGRAM)
    for words in (["export", "--force", DATA / "torch" / "conv_full.pt.trace.json.gz", "-o", folder / "ops.lead"],
                  ["export", "--force", DATA / "torch" / "h200_first.pt.trace.json.gz", "-o", folder / "device.lead"],
                  ["run", "--lines=work", "-o", folder / "lines.lead", "--report", "/dev/null", "--", script],
                  ["bench", "-o", folder / "kept.lead", "--processes=2", "--time=0.2", "sum(range(10))"]):
        done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (words, done.stderr)
    return folder


RECORDINGS = {"busy": SAMPLED, "gil": SAMPLED, "crash": SAMPLED, "children": HOSTED, "traced": TRACED, "ops": OPS, "device": OPS, "lines": LINES, "kept": KEPT}


def chunks(data):
    """Offset and size of each chunk, index included."""
    at, found = HEAD, []
    while at + CHUNK_HEAD <= len(data) - TRAILER:
        stored, = struct.unpack_from("<I", data, at + 8)
        found.append((at, CHUNK_HEAD + stored))
        at += CHUNK_HEAD + stored + -stored % 8
    return found


def damaged(data):
    """What can happen to a file, each as (words, bytes)."""
    for i, (at, size) in enumerate(chunks(data)):
        for where in (at + CHUNK_HEAD + (size - CHUNK_HEAD) // 2, at + 9):  # its contents, its head
            if where < at + size:
                yield f"chunk {i}, byte {where}", data[:where] + bytes([data[where] ^ 0x55]) + data[where + 1:]
    yield "trailer", data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]
    ends = [at for at, _ in chunks(data)]
    for end in {*ends[1::max(1, len(ends) // 6)], len(data) // 3, len(data) // 2, len(data) - 1, len(data) - TRAILER}:
        yield f"cut at {end}", data[:end]


def thinned(kinds, most):
    kinds = list(kinds)
    return kinds if len(kinds) <= most else kinds[::-(-len(kinds) // most)]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_page_of_a_damaged_recording_is_the_same_or_says_so(tool, tmp_path, made, name):
    source = DATA / f"{name}.lead" if (DATA / f"{name}.lead").exists() else made / f"{name}.lead"
    data = source.read_bytes()
    path = tmp_path / "x.lead"
    path.write_bytes(data)
    whole = {}
    for words in RECORDINGS[name]:
        whole[words] = tool(words[0], path, *words[1:], text=False)
        assert not TOLD.search(whole[words].stderr.decode()), whole[words].stderr
    n_told = 0
    for what, bytes_ in thinned(damaged(data), 40):
        path.write_bytes(bytes_)
        for words in RECORDINGS[name]:
            done = tool(words[0], path, *words[1:], text=False)
            where = (name, what, words, done.returncode, done.stderr.decode(), done.stdout[-600:])
            told = TOLD.search(done.stderr.decode())
            assert done.returncode in (0, 2, 6) and b"Sanitizer" not in done.stderr, where
            same = done.returncode == whole[words].returncode and done.stdout == whole[words].stdout
            assert same or told, where
            n_told += bool(told)
            if told and not same and not EXPLAINED.search(whole[words].stdout.decode(errors="replace")):
                said = done.stdout.decode(errors="replace") + done.stderr.decode()
                assert not EXPLAINED.search(said), where
            if told and done.returncode == 0 and "--json" in words:
                assert "damage" in json.loads(done.stdout), where
    assert n_told > 10


def test_a_lost_chunk_of_operators_is_told_by_every_page_of_them(tool, tmp_path, made):
    """The figures of --ops came without a word, and --memory said how to record what had been recorded."""
    data = (made / "ops.lead").read_bytes()
    path = tmp_path / "x.lead"
    path.write_bytes(data[:len(data) // 2])
    done = tool("report", "--memory", path)
    assert "did not finish" in done.stderr and "profile_memory" not in done.stdout + done.stderr
    at, size = chunks(data)[-2]
    path.write_bytes(data[:at + 60] + bytes([data[at + 60] ^ 1]) + data[at + 61:])
    done = tool("report", "--ops", path)
    assert re.search(r"damaged: 1 of \d+ chunks could not be read", done.stderr), done.stderr


def test_a_difference_to_a_damaged_recording_is_told_and_decides_nothing(tool, tmp_path):
    whole = DATA / "crash.lead"
    data = whole.read_bytes()
    path = tmp_path / "x.lead"
    at = chunks(data)[0][0] + CHUNK_HEAD + 3
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
    for a, b in ((whole, path), (path, whole)):
        done = tool("diff", a, b)
        assert done.returncode == 0 and TOLD.search(done.stderr), done.stderr
        sides = json.loads(tool("diff", "--json", a, b).stdout)
        assert [k for k in ("a", "b") if "damage" in sides[k]] == ["b" if b == path else "a"]
        done = tool("diff", "--fail-on", "+5%", a, b)
        assert done.returncode == 3 and "part of a recording is lost" in done.stderr, done.stderr


def test_two_lost_chunks_are_counted_once_each_however_often_they_are_asked_for(tool, tmp_path):
    data = bytearray((DATA / "traced.lead").read_bytes())
    for at, size in chunks(data)[2:4]:
        data[at + CHUNK_HEAD] ^= 1
    path = tmp_path / "x.lead"
    path.write_bytes(data)
    done = tool("report", path)
    assert "damaged: 2 of" in done.stderr, done.stderr
