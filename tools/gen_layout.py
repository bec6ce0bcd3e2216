#!/usr/bin/env python3
"""Writes src/cpython/versions.c: where each CPython version keeps the fields of src/cpython/fields.def.

The numbers come from the interpreters' own headers, by the compiler: one C file per interpreter of
pythons.tsv (tools/interpreters), with the offsets as constants in a section that is read back from the
object file. Nothing of an interpreter is run.

  tools/gen_layout.py                   write versions.c
  tools/gen_layout.py --check           say whether it is what would be written, exit 1 if not
  tools/gen_layout.py --compare FOLDER  compare the headers of another build (…/include/python3.11) with
                                        the column of its version, exit 1 where they differ

A new version needs: its rows in fields.def, its spellings below where they changed, a line in BUILDS.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIELDS = ROOT / "src/cpython/fields.def"
OUTPUT = ROOT / "src/cpython/versions.c"
NONE = 0xFFFFFFFF

# Columns of versions.c: label of pythons.tsv, and whether to compile its headers as a free-threaded
# build's (the difference is one define of pyconfig.h; checked with 3.13, for which there are both).
BUILDS = [
    ("3.8", False),
    ("3.9", False),
    ("3.10", False),
    ("3.11", False),
    ("3.12", False),
    ("3.13", False),
    ("3.13t", True),
    ("3.14", False),
    ("3.14", True),
    ("3.15", False),
    ("3.15", True),
]

# Our struct: [(from minor, C type, prefix of its fields)]
STRUCTS = {
    "runtime": [(8, "_PyRuntimeState", "")],
    "interp": [(8, "PyInterpreterState", "")],
    "gc": [(8, "struct _gc_runtime_state", "")],
    "gil": [(8, "struct _gil_runtime_state", "")],
    "thread": [(8, "PyThreadState", "")],
    "cframe": [(8, "_PyCFrame", "")],
    "frame": [(8, "PyFrameObject", "f_"), (11, "_PyInterpreterFrame", "")],
    "chunk": [(8, "_PyStackChunk", "")],
    "code": [(8, "PyCodeObject", "co_")],
    "object": [(8, "PyObject", "ob_")],
    "type": [(8, "PyTypeObject", "tp_")],
    "heaptype": [(8, "PyHeapTypeObject", "ht_")],
    "long": [(8, "struct _longobject", "")],
    "float": [(8, "PyFloatObject", "")],
    "str": [(8, "PyUnicodeObject", "")],
    "bytes": [(8, "PyBytesObject", "")],
    "tuple": [(8, "PyTupleObject", "")],
    "list": [(8, "PyListObject", "")],
    "dict": [(8, "PyDictObject", "ma_")],
    "dictkeys": [(8, "struct _dictkeysobject", "dk_")],
    "dictvalues": [(11, "struct _dictvalues", "")],
    "set": [(8, "PySetObject", "")],
    "cell": [(8, "PyCellObject", "ob_")],
    "weakref": [(8, "PyWeakReference", "wr_")],
    "method": [(8, "PyMethodObject", "im_")],
    "function": [(8, "PyFunctionObject", "func_")],
    "cfunction": [(8, "PyCFunctionObject", "m_")],
    "descr": [(8, "PyDescrObject", "d_")],
    "exception": [(8, "PyBaseExceptionObject", "")],
    "gen": [(8, "PyGenObject", "gi_")],
}

# Where the interpreter's spelling is not prefix + our name: [(from minor, spelling)]. For BIT the
# spelling is "field:bit field" and for VALUE an expression; SIZEOF needs none.
SPELLINGS = {
    "runtime.interpreters_head": [(8, "interpreters.head")],
    "runtime.finalizing": [(8, "finalizing"), (9, "_finalizing")],
    "runtime.tstate_current": [(8, "gilstate.tstate_current")],
    "runtime.gil": [(8, "ceval.gil")],
    "interp.threads_head": [(8, "tstate_head"), (11, "threads.head")],
    "interp.next_thread_number": [(8, "tstate_next_unique_id")],
    "interp.modules": [(8, "modules"), (12, "imports.modules")],
    "interp.ceval_gil": [(8, "ceval.gil")],
    "interp.code_object_generation": [(8, "_code_object_generation")],
    "interp.tlbc_generation": [(8, "tlbc_indices.tlbc_generation")],
    "thread.number": [(8, "id")],
    "thread.status": [(8, "_status")],
    "thread.status_active": [(8, "_status:active")],
    "thread.status_holds_gil": [(8, "_status:holds_gil")],
    "thread.state_attached": [(8, "_Py_THREAD_ATTACHED")],
    "thread.current_exception": [(8, "curexc_type"), (12, "current_exception")],
    "frame.previous": [(8, "f_back"), (11, "previous")],
    "frame.code": [(8, "f_code"), (13, "f_executable")],
    "frame.instr": [(11, "prev_instr"), (13, "instr_ptr")],
    "frame.owner_thread": [(8, "FRAME_OWNED_BY_THREAD")],
    "frame.owner_generator": [(8, "FRAME_OWNED_BY_GENERATOR")],
    "frame.owner_frame_object": [(8, "FRAME_OWNED_BY_FRAME_OBJECT")],
    "frame.owner_boundary": [(8, "FRAME_OWNED_BY_CSTACK"), (14, "FRAME_OWNED_BY_INTERPRETER")],
    "frame.state": [(8, "f_executing"), (10, "f_state")],
    "frame.state_executing": [(8, "1"), (10, "FRAME_EXECUTING")],
    "code.linetable": [(8, "co_lnotab"), (10, "co_linetable")],
    "code.firsttraceable": [(8, "_co_firsttraceable")],
    "code.n_units": [(8, "ob_base.ob_size")],
    "code.adaptive": [(8, "co_code_adaptive")],
    "frame.valuetop": [(8, "f_stacktop")],
    "long.size": [(8, "ob_base.ob_size")],
    "long.tag": [(8, "long_value.lv_tag")],
    "long.digits": [(8, "ob_digit"), (12, "long_value.ob_digit")],
    "float.value": [(8, "ob_fval")],
    "str.length": [(8, "_base._base.length")],
    "str.state": [(8, "_base._base.state")],
    "str.state_kind": [(8, "_base._base.state:kind")],
    "str.state_compact": [(8, "_base._base.state:compact")],
    "str.state_ascii": [(8, "_base._base.state:ascii")],
    "str.ascii_data": [(8, "=sizeof(PyASCIIObject)")],
    "str.compact_data": [(8, "=sizeof(PyCompactUnicodeObject)")],
    "bytes.size": [(8, "ob_base.ob_size")],
    "bytes.data": [(8, "ob_sval")],
    "tuple.size": [(8, "ob_base.ob_size")],
    "tuple.items": [(8, "ob_item")],
    "list.size": [(8, "ob_base.ob_size")],
    "list.items": [(8, "ob_item")],
    "gen.state_created": [(8, "FRAME_CREATED")],
    "gen.state_suspended": [(8, "FRAME_SUSPENDED")],
    "gen.state_yield_from": [(8, "FRAME_SUSPENDED_YIELD_FROM")],
    "gen.state_executing": [(8, "FRAME_EXECUTING")],
    "gen.state_cleared": [(8, "FRAME_CLEARED")],
}
FREE_THREADED_SPELLINGS = {"object.refcnt": "ob_ref_local"}

# Where _Py_DebugOffsets publishes a field: (from minor, path). "a - b" is the difference of two.
PUBLISHED = {
    "runtime.sizeof": (13, "runtime_state.size"),
    "runtime.interpreters_head": (13, "runtime_state.interpreters_head"),
    "runtime.finalizing": (13, "runtime_state.finalizing"),
    "interp.sizeof": (13, "interpreter_state.size"),
    "interp.next": (13, "interpreter_state.next"),
    "interp.id": (13, "interpreter_state.id"),
    "interp.threads_head": (13, "interpreter_state.threads_head"),
    "interp.gc": (13, "interpreter_state.gc"),
    "interp.modules": (13, "interpreter_state.imports_modules"),
    "interp.ceval_gil": (13, "interpreter_state.ceval_gil"),
    "interp.code_object_generation": (14, "interpreter_state.code_object_generation"),
    "interp.tlbc_generation": (14, "interpreter_state.tlbc_generation"),
    "gc.sizeof": (13, "gc.size"),
    "gc.collecting": (13, "gc.collecting"),
    "gc.frame": (15, "gc.frame"),
    "gil.last_holder": (
        13,
        "interpreter_state.gil_runtime_state_holder - interpreter_state.gil_runtime_state",
    ),
    "gil.locked": (13, "interpreter_state.gil_runtime_state_locked - interpreter_state.gil_runtime_state"),
    "gil.enabled": (13, "interpreter_state.gil_runtime_state_enabled"),
    "thread.sizeof": (13, "thread_state.size"),
    "thread.prev": (13, "thread_state.prev"),
    "thread.next": (13, "thread_state.next"),
    "thread.interp": (13, "thread_state.interp"),
    "thread.current_frame": (13, "thread_state.current_frame"),
    "thread.base_frame": (15, "thread_state.base_frame"),
    "thread.thread_id": (13, "thread_state.thread_id"),
    "thread.native_thread_id": (13, "thread_state.native_thread_id"),
    "thread.datastack_chunk": (13, "thread_state.datastack_chunk"),
    "thread.status": (13, "thread_state.status"),
    "thread.holds_gil": (15, "thread_state.holds_gil"),
    "thread.gil_requested": (15, "thread_state.gil_requested"),
    "thread.current_exception": (15, "thread_state.current_exception"),
    "frame.sizeof": (13, "interpreter_frame.size"),
    "frame.previous": (13, "interpreter_frame.previous"),
    "frame.code": (13, "interpreter_frame.executable"),
    "frame.instr": (13, "interpreter_frame.instr_ptr"),
    "frame.stackpointer": (14, "interpreter_frame.stackpointer"),
    "frame.owner": (13, "interpreter_frame.owner"),
    "frame.tlbc_index": (14, "interpreter_frame.tlbc_index"),
    "frame.localsplus": (13, "interpreter_frame.localsplus"),
    "code.sizeof": (13, "code_object.size"),
    "code.filename": (13, "code_object.filename"),
    "code.name": (13, "code_object.name"),
    "code.qualname": (13, "code_object.qualname"),
    "code.linetable": (13, "code_object.linetable"),
    "code.firstlineno": (13, "code_object.firstlineno"),
    "code.argcount": (13, "code_object.argcount"),
    "code.adaptive": (13, "code_object.co_code_adaptive"),
    "code.tlbc": (14, "code_object.co_tlbc"),
    "object.sizeof": (13, "pyobject.size"),
    "object.type": (13, "pyobject.ob_type"),
    "type.sizeof": (13, "type_object.size"),
    "type.name": (13, "type_object.tp_name"),
    "type.basicsize": (15, "type_object.tp_basicsize"),
    "type.flags": (13, "type_object.tp_flags"),
    "str.sizeof": (13, "unicode_object.size"),
    "str.length": (13, "unicode_object.length"),
    "str.state": (13, "unicode_object.state"),
    "str.ascii_data": (13, "unicode_object.asciiobject_size"),
    "str.compact_data": (15, "unicode_object.compactunicodeobject_size"),
    "bytes.sizeof": (13, "bytes_object.size"),
    "bytes.size": (13, "bytes_object.ob_size"),
    "bytes.data": (13, "bytes_object.ob_sval"),
    "tuple.sizeof": (13, "tuple_object.size"),
    "tuple.size": (13, "tuple_object.ob_size"),
    "tuple.items": (13, "tuple_object.ob_item"),
    "list.sizeof": (13, "list_object.size"),
    "list.size": (13, "list_object.ob_size"),
    "list.items": (13, "list_object.ob_item"),
    "dict.sizeof": (13, "dict_object.size"),
    "dict.keys": (13, "dict_object.ma_keys"),
    "dict.values": (13, "dict_object.ma_values"),
    "code.localsplusnames": (13, "code_object.localsplusnames"),
    "code.localspluskinds": (13, "code_object.localspluskinds"),
    "type.dictoffset": (15, "type_object.tp_dictoffset"),
    "long.sizeof": (13, "long_object.size"),
    "long.tag": (13, "long_object.lv_tag"),
    "long.digits": (13, "long_object.ob_digit"),
    "float.sizeof": (13, "float_object.size"),
    "float.value": (13, "float_object.ob_fval"),
    "set.sizeof": (14, "set_object.size"),
    "set.used": (14, "set_object.used"),
    "set.mask": (14, "set_object.mask"),
    "set.table": (14, "set_object.table"),
    "gen.sizeof": (14, "gen_object.size"),
    "gen.name": (14, "gen_object.gi_name"),
    "gen.iframe": (14, "gen_object.gi_iframe"),
    "gen.frame_state": (14, "gen_object.gi_frame_state"),
}

PROGRAM = """
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdint.h>
#if PY_MINOR_VERSION == 8
#include <internal/pycore_pystate.h>
#else
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if PY_MINOR_VERSION >= 11
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_code.h>
#else
/* Objects/dict-common.h, which is not installed. */
struct _dictkeysobject {
    Py_ssize_t dk_refcnt, dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable, dk_nentries;
    char dk_indices[];
};
#endif
#if PY_MINOR_VERSION >= 13
#include <internal/pycore_pystate.h>
#define PUBLISHED_BYTES sizeof(_Py_DebugOffsets)
#else
#define PUBLISHED_BYTES 0
#endif
__attribute__((section("leadline"), used)) static const uint64_t values[] = {
    PY_VERSION_HEX, PUBLISHED_BYTES, sizeof(void *),
%(values)s
};
%(bits)s
"""
HEAD_VALUES = 3

HEAD = """/* SPDX-License-Identifier: MIT
 *
 * Made by tools/gen_layout.py from the interpreters' headers: do not edit. See layout_rows.h for what
 * it means. x86-64, and the same wherever pthread_mutex_t and pthread_cond_t take 40 and 48 bytes. The
 * free-threaded columns without an interpreter of their own come from the headers of the build with
 * the GIL, compiled with Py_GIL_DISABLED. */
#include "cpython/layout_rows.h"

#include "base/banned.h"

/* clang-format off */
#define NONE PY_NONE
"""

TAIL = """uint32_t layout_row_offset(const struct layout_row *row, enum layout_field field)
{
	return offsets[field][row - layout_rows];
}

uint32_t layout_row_published(const struct layout_row *row, enum layout_field field)
{
	return row - layout_rows < %(n_silent)d ? 0 : published[field][row - layout_rows - %(n_silent)d];
}
"""


@dataclass(frozen=True)
class Field:
    """One row of fields.def."""

    struct: str
    field: str
    type: str
    first: int  # minor version
    until: int  # minor version, or 99
    only_free_threaded: bool

    @property
    def name(self) -> str:
        return f"{self.struct}.{self.field}"

    def is_in(self, minor: int, free_threaded: bool) -> bool:
        return self.first <= minor < self.until and (free_threaded or not self.only_free_threaded)


@dataclass
class Build:
    """What the headers of one interpreter say."""

    label: str  # "3.13t"
    minor: int
    free_threaded: bool
    is_derived: bool  # from the headers of the build with the GIL
    version: str  # "3.13.5"
    published_bytes: int
    offsets: dict[str, int]
    published: dict[str, int]


def load_fields() -> list[Field]:
    row = re.compile(r"^FIELD(_FT)?\(\s*(\w+),\s*(\w+),\s*(\w+),\s*3,\s*(\d+),\s*([03]),\s*(\d+)\)", re.MULTILINE)
    found = [
        Field(struct_, field, type_, int(first), int(until) if major == "3" else 99, bool(ft))
        for ft, struct_, field, type_, first, major, until in row.findall(FIELDS.read_text())
    ]
    lines = len(re.findall(r"^FIELD", FIELDS.read_text(), re.MULTILINE))
    if len(found) != lines:
        sys.exit(f"gen_layout: {lines - len(found)} rows of {FIELDS} could not be read")
    unknown = (set(SPELLINGS) | set(PUBLISHED)) - {f.name for f in found}
    if unknown:
        sys.exit(f"gen_layout: no rows in fields.def: {', '.join(sorted(unknown))}")
    return found


def since(options: list[tuple], minor: int) -> tuple:
    return [option for option in options if option[0] <= minor][-1]


def bits_name(field: Field) -> str:
    return f"leadline_{field.struct}_{field.field}"


def bit_object(field: Field, minor: int) -> str:
    """A constant object with the bit field set to all ones, in a section of its own."""
    _, ctype, _ = since(STRUCTS[field.struct], minor)
    path, bit = since(SPELLINGS[field.name], minor)[1].split(":")
    return (
        f'__attribute__((section("{bits_name(field)}"), used)) static const {ctype} {field.struct}_{field.field} = '
        f"{{ .{path} = {{ .{bit} = {7 if bit == 'kind' else 1} }} }};"
    )


def c_value(field: Field, minor: int, free_threaded: bool) -> str:
    """The C expression for a field; for BIT its offset, the bit is found in the object file."""
    _, ctype, prefix = since(STRUCTS[field.struct], minor)
    if field.type == "SIZEOF":
        return f"sizeof({ctype})"
    if field.name in SPELLINGS:
        spelling = since(SPELLINGS[field.name], minor)[1]
    else:
        spelling = prefix + field.field
    if free_threaded:
        spelling = FREE_THREADED_SPELLINGS.get(field.name, spelling)
    if field.type == "VALUE":
        return f"(uint8_t)({spelling})"
    if spelling.startswith("="):
        return spelling[1:]
    return f"offsetof({ctype}, {spelling.split(':')[0]})"


def published_value(path: str) -> str:
    """Where to read it in _Py_DebugOffsets: offset, and in the upper half that of what to subtract."""
    first, _, less = path.partition(" - ")
    value = f"offsetof(_Py_DebugOffsets, {first})"
    return f"({value} | offsetof(_Py_DebugOffsets, {less}) << 16)" if less else value


def section(path: str, name: str) -> bytes:
    with tempfile.NamedTemporaryFile() as out:
        command = ["objcopy", "-O", "binary", f"--dump-section={name}={out.name}", path, os.devnull]
        subprocess.run(command, check=True)
        return Path(out.name).read_bytes()


def lowest_bit(data: bytes, offset: int) -> int:
    (word,) = struct.unpack_from("<I", data, offset)
    return (word & -word).bit_length() - 1


def include_flags(include: Path) -> list[str]:
    """Debian's pyconfig.h includes one of another folder, by its path in /usr/include."""
    folders = [include, include / "internal", include / "internal" / "mimalloc"]
    return [*(f"-I{folder}" for folder in folders), "-idirafter", str(include.parent)]


def ask(label: str, include: Path, as_free_threaded: bool, fields: list[Field]) -> Build:
    """Compiles against the headers and reads the numbers back."""
    minor = int(re.match(r"3\.(\d+)", label)[1])
    wanted = [f for f in fields if f.is_in(minor, as_free_threaded)]
    published = [f for f in wanted if f.name in PUBLISHED and PUBLISHED[f.name][0] <= minor]
    bits = [f for f in wanted if f.type == "BIT"]
    values = [c_value(f, minor, as_free_threaded) for f in wanted]
    values += [published_value(PUBLISHED[f.name][1]) for f in published]
    is_derived = as_free_threaded and not label.endswith("t")
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "layout.c"), Path(folder, "layout.o")
        source.write_text(
            PROGRAM
            % {
                "values": "".join(f"    {value},\n" for value in values),
                "bits": "\n".join(bit_object(f, minor) for f in bits),
            }
        )
        command = ["gcc", "-std=gnu17", "-w", "-c", *include_flags(include), "-o", str(made), str(source)]
        if is_derived:
            command.insert(1, "-DPy_GIL_DISABLED=1")
        subprocess.run(command, check=True)
        data = section(str(made), "leadline")
        numbers = struct.unpack(f"<{len(data) // 8}Q", data)
        version, published_bytes, pointer_bytes = numbers[:HEAD_VALUES]
        if pointer_bytes != 8 or version >> 16 != 0x300 | minor:
            sys.exit(f"gen_layout: {include} is not of a 64-bit Python 3.{minor}")
        split = HEAD_VALUES + len(wanted)
        offsets = {f.name: n for f, n in zip(wanted, numbers[HEAD_VALUES:split])}
        for f in bits:
            offsets[f.name] = lowest_bit(section(str(made), bits_name(f)), offsets[f.name])
    level = {0xA: "a", 0xB: "b", 0xC: "rc", 0xF: ""}[version >> 4 & 15]
    return Build(
        label=f"3.{minor}" + "t" * as_free_threaded,
        minor=minor,
        free_threaded=as_free_threaded,
        is_derived=is_derived,
        version=f"3.{minor}.{version >> 8 & 255}{level}" + (str(version & 15) if level else ""),
        published_bytes=published_bytes,
        offsets=offsets,
        published={f.name: n for f, n in zip(published, numbers[split:])},
    )


def cache() -> Path:
    """The cache folder, chosen as tools/interpreters chooses it."""
    if os.environ.get("LEADLINE_CACHE"):
        return Path(os.environ["LEADLINE_CACHE"])
    if os.geteuid() == 0:
        return Path("/var/cache/leadline")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leadline"


def include_of(label: str) -> Path:
    """The folder of Python.h, beside the executable that pythons.tsv names."""
    for line in (cache() / "pythons.tsv").read_text().splitlines():
        name, root, exe, _ = line.split("\t")
        if name == label:
            prefix = Path(root + exe).resolve().parent.parent
            return prefix / "include" / f"python{label}"
    sys.exit(f"gen_layout: python {label} is missing: run tools/interpreters")


def c_number(value: int) -> str:
    return "NONE" if value == NONE else str(value)


def c_place(value: int) -> str:
    return f"{value & 0xFFFF}|{value >> 16}<<16" if value >> 16 else str(value)


def table(name: str, builds: list[Build], names: dict[str, list[str]]) -> list[str]:
    """One line per field, one column per build."""
    labels = [b.label for b in builds]
    widths = [max(len(text) for text in column) for column in zip(labels, *names.values())]
    longest = max(len(f"[FIELD_{field}] = {{ ") for field in names)
    head = "  ".join(label.rjust(width) for label, width in zip(labels, widths))
    lines = [f"static const uint32_t {name}[LAYOUT_FIELDS][{len(builds)}] = {{"]
    lines.append("\t" + "/*".ljust(longest) + head + " */")
    for field, row in names.items():
        cells = ", ".join(value.rjust(width) for value, width in zip(row, widths))
        lines.append("\t" + f"[FIELD_{field}] = {{ ".ljust(longest) + cells + " },")
    return [*lines, "};", ""]


def text_of(builds: list[Build], fields: list[Field]) -> str:
    publishing = [b for b in builds if b.published_bytes]
    if builds[-len(publishing) :] != publishing:
        sys.exit("gen_layout: BUILDS: those that publish their offsets come last")
    rows = [
        f'\t{{ .made_from = "{b.version}", .lo = 0x{0x030000F0 | b.minor << 16:08x}, '
        f".hi = 0x{0x03000000 | (b.minor + 1) << 16:08x}, .published_bytes = {b.published_bytes}, "
        f".is_free_threaded = {str(b.free_threaded).lower()} }},"
        for b in builds
    ]
    offsets = {
        f"{f.struct}_{f.field}": [c_number(b.offsets.get(f.name, NONE)) for b in builds] for f in fields
    }
    published = {
        f"{f.struct}_{f.field}": [c_place(b.published.get(f.name, 0)) for b in publishing]
        for f in fields
        if any(f.name in b.published for b in publishing)
    }
    return "\n".join(
        [
            HEAD,
            "const struct layout_row layout_rows[] = {",
            *rows,
            "};",
            "const size_t n_layout_rows = sizeof layout_rows / sizeof *layout_rows;",
            "",
            *table("offsets", builds, offsets),
            *table("published", publishing, published),
            TAIL % {"n_silent": len(builds) - len(publishing)},
        ]
    )


def compare(folder: Path, fields: list[Field]) -> int:
    label = re.search(r"python(3\.\d+t?)", folder.name)
    if not label:
        sys.exit(f"gen_layout: {folder} is not called pythonX.Y")
    other = ask(label[1], folder, label[1].endswith("t"), fields)
    known = ask(label[1], include_of(label[1]), label[1].endswith("t"), fields)
    differing = 0
    for values in ("offsets", "published"):
        ours, theirs = getattr(known, values), getattr(other, values)
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                differing += 1
                print(f"{name}: {ours.get(name)} in {known.version}, {theirs.get(name)} in {other.version} ({values})")
    print(f"{other.version}: {differing} of {len(fields)} fields differ from {known.version}'s")
    return 1 if differing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if versions.c would change")
    parser.add_argument("--compare", type=Path, metavar="FOLDER", help="headers of another build")
    options = parser.parse_args()
    fields = load_fields()
    if options.compare:
        return compare(options.compare, fields)
    builds = [ask(label, include_of(label), as_ft, fields) for label, as_ft in BUILDS]
    text = text_of(builds, fields)
    if not options.check:
        OUTPUT.write_text(text)
    elif OUTPUT.read_text() != text:
        print(f"gen_layout: {OUTPUT} is not what would be written now", file=sys.stderr)
        return 1
    print(f"layouts: {len(fields)} fields of {len(builds)} builds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
