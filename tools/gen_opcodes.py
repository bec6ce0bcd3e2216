#!/usr/bin/env python3
"""Writes src/cpython/opcodes.def: the instructions of each CPython version, specialised ones included.

The interpreters of pythons.tsv (tools/interpreters) are asked for what their own dis and opcode modules know.

  tools/gen_opcodes.py           write opcodes.def
  tools/gen_opcodes.py --check   say whether it is what would be written, exit 1 if not

A new version needs a label in LABELS and a column in the macros that opcodes.c reads the rows with.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "src/cpython/opcodes.def"
LABELS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")

HEAD = """\
/* SPDX-License-Identifier: MIT
 *
 * Made by tools/gen_opcodes.py from the interpreters' own dis: do not edit.
 *
 *	OPCODE(name, base, {versions})   base: the instruction this one is a specialised or instrumented form of,
 *	                            itself else; then one cell per version from 3.8 on
 *	N(number, caches, argument) its number there, the code units of cache behind it, and what its argument
 *	                            means (enum opcode_argument); _: this version has no such instruction
 */
/* clang-format off */
"""

# Runs inside the interpreter, so it must be valid from 3.8 on.
QUESTION = r"""
import dis, json, opcode, sys
names = dict(getattr(dis, "_all_opmap", dis.opmap))
base = dict(getattr(dis, "deoptmap", {}))
has_argument = getattr(dis, "hasarg", None)
caches = getattr(dis, "_inline_cache_entries", {})
lists = [("CONST", dis.hasconst), ("NAME", dis.hasname), ("LOCAL", dis.haslocal), ("FREE", dis.hasfree),
         ("COMPARE", dis.hascompare), ("ABSOLUTE", dis.hasjabs), ("RELATIVE", dis.hasjrel)]
found = {}
for name, number in names.items():
    if number > 255:
        continue
    plain = name[13:] if name.startswith("INSTRUMENTED_") else base.get(name, name)
    of = names.get(plain)
    if of is None:
        plain, of = name, number
    argument = "NONE"
    if (of in has_argument) if has_argument is not None else of >= dis.HAVE_ARGUMENT:
        argument = next((word for word, numbers in lists if of in numbers), "PLAIN")
    if argument == "RELATIVE" and dis.__dict__.get("_is_backward_jump", lambda op: False)(of):
        argument = "BACKWARD"
    size = caches.get(plain, 0) if hasattr(caches, "get") else caches[of]
    found[name] = [plain, number, size, argument]
json.dump(found, sys.stdout)
"""


def interpreters() -> dict[str, list[str]]:
    """The command of each label."""
    default = "/var/cache/leadline" if os.geteuid() == 0 else str(Path.home() / ".cache" / "leadline")
    cache = Path(os.environ.get("LEADLINE_CACHE") or default)
    commands = {}
    for line in (cache / "pythons.tsv").read_text().splitlines():
        label, root, exe, _ = line.split("\t")
        commands[label] = ([] if root == "/" else ["chroot", root]) + [exe]
    return commands


def ask(label: str) -> dict:
    """What this version says of its instructions."""
    commands = interpreters()
    if label not in commands:
        sys.exit(f"gen_opcodes: python {label} is missing: run tools/interpreters")
    said = subprocess.run([*commands[label], "-I", "-c", QUESTION], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def rows() -> str:
    """The text of opcodes.def."""
    versions = [ask(label) for label in LABELS]
    out = [HEAD]
    for name in sorted(set().union(*versions)):
        bases = {version[name][0] for version in versions if name in version}
        if len(bases) != 1:
            sys.exit(f"gen_opcodes: {name} is a form of {' and '.join(sorted(bases))}")
        cells = ["N({}, {}, {})".format(*version[name][1:]) if name in version else "_" for version in versions]
        out.append(f"OPCODE({name}, {bases.pop()}, {', '.join(cells)})\n")
    return "".join(out) + "/* clang-format on */\n"


def main() -> None:
    """Writes the file, or compares it."""
    text = rows()
    if "--check" in sys.argv[1:]:
        if OUTPUT.read_text() != text:
            sys.exit(f"gen_opcodes: {OUTPUT.relative_to(ROOT)} is not what the interpreters say")
        return
    OUTPUT.write_text(text)


if __name__ == "__main__":
    main()
