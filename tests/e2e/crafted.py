"""Recordings made byte by byte, for tests of what a reader does with files that nobody's recorder wrote.

docs/FORMAT.md is the manual; the columns of each kind of record come from src/wire/records.def itself.

    r = Recording()
    name = r.row("string", text=b"f")
    r.add("meta", key=name, value=b"x")
    r.save(path)

Values that are left out are 0 or empty. A chunk may also be added as columns (`r.columns`), where one value stands for a
whole column: a million equal records then take no time to write.
"""

import functools
import re
import struct

import conftest
import xxhash
import zstandard

CHUNK_RECORDS = 65536
WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "f64": 8, "bytes": 16}


@functools.cache
def kinds():
    """{name: (id, is_table, [(column, type, encoding, table it refers to or None)])} of records.def."""
    found = {}
    for line in (conftest.ROOT / "src" / "wire" / "records.def").read_text().splitlines():
        if m := re.match(r"RECORD\((\d+), (\w+), (TABLE|DATA)\)", line):
            columns = []
            found[m[2]] = (int(m[1]), m[3] == "TABLE", columns)
        elif m := re.match(r"\s+COL\((\w+), (\w+), (\w+), (\w+), (?:KEY|__)\)", line):
            columns.append((m[2], m[1], m[3], None if m[4] == "none" else m[4]))
    return found


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(difference):
    difference &= (1 << 64) - 1
    return (difference << 1 ^ (-(difference >> 63) & ((1 << 64) - 1))) & ((1 << 64) - 1)


def numbers(values, is_delta):
    """One column's stream. A pair (value, times) is that value so many times."""
    if isinstance(values, tuple):
        value, times = values
        one = varint(zigzag(value) if is_delta else value)
        return one + (b"\0" if is_delta else one) * (times - 1)
    out, before = [], 0
    for value in values:
        out.append(varint(zigzag(value - before) if is_delta else value))
        before = value
    return b"".join(out)


def streams(kind, n, columns):
    out = []
    for name, type, encoding, _ in kinds()[kind][2]:
        values = columns.get(name)
        if values is None:
            values = (b"" if type == "bytes" else 0, n)
        elif not isinstance(values, (list, tuple, range)):
            values = (values, n)
        if type == "f64":
            values = [values[0]] * values[1] if isinstance(values, tuple) else values
            out.append(struct.pack(f"<{len(values)}d", *values))
        elif type == "bytes" and isinstance(values, tuple):
            out += [varint(len(values[0])) * values[1], values[0] * values[1]]
        elif type == "bytes":
            out += [b"".join(varint(len(v)) for v in values), b"".join(values)]
        else:
            out.append(numbers(values, encoding in ("DELTA", "TIME")))
    return struct.pack(f"<{1 + len(out)}I", len(out), *map(len, out)) + b"".join(out)


class Recording:
    def __init__(self):
        self.chunks = []
        self.rows = {}  # of each table
        self.pending = {}

    def row(self, kind, **columns):
        """A row of a table; returns its number."""
        self.pending.setdefault(kind, []).append(columns)
        self.rows[kind] = self.rows.get(kind, 0) + 1
        return self.rows[kind]

    def add(self, kind, **columns):
        self.pending.setdefault(kind, []).append(columns)

    def flush(self):
        """Rows and records so far become chunks, tables first."""
        for kind in sorted(self.pending, key=lambda k: kinds()[k][0]):
            records = self.pending.pop(kind)
            first = self.rows[kind] - len(records) + 1 if kinds()[kind][1] else 0
            empty = {name: b"" if type == "bytes" else 0 for name, type, _, _ in kinds()[kind][2]}
            for at in range(0, len(records), CHUNK_RECORDS):
                some = [{**empty, **r} for r in records[at : at + CHUNK_RECORDS]]
                raw = streams(kind, len(some), {name: [r[name] for r in some] for name in empty})
                self.chunk(kinds()[kind][0], len(some), raw, first + at if first else 0)

    def columns(self, kind, n, times=1, **columns):
        """`times` chunks of n records given as columns; returns the number of the first row of a table."""
        self.flush()
        raw = streams(kind, n, columns)
        first = self.rows.get(kind, 0) + 1
        for i in range(times):
            self.chunk(kinds()[kind][0], n, raw, first + i * n if kinds()[kind][1] else 0)
        if kinds()[kind][1]:
            self.rows[kind] = first - 1 + times * n
        return first

    def chunk(self, kind, n_records, raw, first_row=0, segment=1):
        if self.chunks and self.chunks[-1][0] == raw:
            stored = self.chunks[-1][1]
        else:
            stored = zstandard.ZstdCompressor(level=19).compress(raw)
        codec = 1
        if len(stored) >= len(raw):
            stored, codec = raw, 0
        head = struct.pack("<IHBBIIIII", 0x4B43444C, kind, codec, 0, len(stored), len(raw), segment, n_records, first_row)
        head += struct.pack("<I", xxhash.xxh3_64_intdigest(head) & 0xFFFFFFFF)
        head += struct.pack("<Q", xxhash.xxh3_64_intdigest(stored))
        self.chunks.append((raw, stored, head + stored + bytes(-len(stored) % 8)))

    def bytes(self):
        """Without index and trailer, which are optional."""
        self.flush()
        head = b"\x89LEAD\r\n\x1a" + struct.pack("<HHIQQ16s", 1, 0, 0, 1_794_738_868 * 10**9, 10**12, b"\0" * 16)
        head += struct.pack("<Q", xxhash.xxh3_64_intdigest(head))
        return head + b"".join(chunk for _, _, chunk in self.chunks)

    def save(self, path):
        path.write_bytes(self.bytes())
        return path


def measure(path):
    """(bytes of the file, of its payloads decompressed, of its records as structs, records)."""
    data, at, raw_bytes, struct_bytes, n_records = path.read_bytes(), 56, 0, 0, 0
    sizes = {}
    for id, _, columns in kinds().values():
        size = 0
        for _, type, _, _ in columns:
            width = WIDTHS[type]
            align = 8 if type == "bytes" else width
            size = -(-size // align) * align + width
        sizes[id] = -(-size // 8) * 8
    while at + 40 <= len(data) and data[at : at + 4] == b"LDCK":
        _, kind, _, _, stored, raw, _, n, _, _, _ = struct.unpack_from("<IHBBIIIIIIQ", data, at)
        raw_bytes += raw
        struct_bytes += n * sizes.get(kind, 0)
        n_records += n
        at += 40 + stored + -stored % 8
    return len(data), raw_bytes, struct_bytes, n_records
