#!/usr/bin/env python3
"""Makes the seeds of fuzz_answers out of recordings of each kind: small ones, their chunks not compressed, so that a changed byte is
a changed record. Each begins with the byte of flags that fuzz_answers.c explains; a pair stands behind each other.

    tests/fuzz/make_answers_corpus.py build/leadline
"""
import ctypes
import ctypes.util
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA, CORPUS = ROOT / "tests" / "data", ROOT / "tests" / "fuzz" / "corpus" / "answers"
HEAD, CHUNK, MAGIC = 56, struct.Struct("<IHBBIIIIIIQ"), 0x4B43444C
MARK = b"\n--and--\n"
LIMIT = 200_000

zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def plain(recording):
    """The same without compression, index and trailer; the target makes checksums right."""
    out, at = recording[:HEAD], HEAD
    while at + CHUNK.size <= len(recording):
        magic, kind, codec, _, stored, raw, segment, n, row, _, _ = CHUNK.unpack_from(recording, at)
        if magic != MAGIC:
            break
        payload = recording[at + CHUNK.size:at + CHUNK.size + stored]
        at += CHUNK.size + stored + -stored % 8
        if codec:
            buffer = ctypes.create_string_buffer(raw)
            assert zstd.ZSTD_decompress(buffer, raw, payload, stored) == raw
            payload = buffer.raw
        out += CHUNK.pack(MAGIC, kind, 0, 0, len(payload), raw, segment, n, row, 0, 0) + payload + bytes(-len(payload) % 8)
    return out


def main(tool):
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        traces = [*sorted((DATA / "torch_ranks").glob("*.gz")), DATA / "torch" / "mlp_plain.pt.trace.json.gz", DATA / "torch" / "h200_first.pt.trace.json.gz"]
        recordings = {path.stem: path.read_bytes() for path in sorted(DATA.glob("*.lead"))}
        for i, trace in enumerate(traces):
            path = pathlib.Path(folder) / f"{i}.lead"
            subprocess.run([tool, "export", trace, "-o", path], check=True, stdout=subprocess.DEVNULL)
            recordings[["rank_0", "rank_1", "torch", "torch_device"][i]] = path.read_bytes()
    for name, data in recordings.items():
        if len(plain(data)) < LIMIT and not name.startswith("rank"):
            (CORPUS / name).write_bytes(b"\x00" + plain(data))
    (CORPUS / "traced_whole_page").write_bytes(b"\x02" + recordings["traced"])
    (CORPUS / "crash_damaged").write_bytes(b"\x03" + recordings["crash"][:3000] + b"?" + recordings["crash"][3001:])
    (CORPUS / "ranks").write_bytes(b"\x00" + plain(recordings["rank_0"]) + MARK + plain(recordings["rank_1"]))
    (CORPUS / "ranks_damaged").write_bytes(b"\x01" + recordings["rank_0"][:64] + b"?" + recordings["rank_0"][65:] + MARK + recordings["rank_1"])
    (CORPUS / "two_programs").write_bytes(b"\x00" + plain(recordings["busy"]) + MARK + plain(recordings["gil"]))


main(sys.argv[1])
