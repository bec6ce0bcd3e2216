#!/usr/bin/env python3
"""Makes the wheels people install: tools/wheel.py FOLDER

    leadline-V-py3-none-manylinux_2_N_MACHINE.whl   the static tool with an agent for every CPython of the matrix, and the package
    leadline-V-py3-none-any.whl                     the package alone, for every other machine: its command says what runs where

The tool is static, so N is what the most demanding agent needs of glibc, 17 at least. meson-python builds; this names, packs
and refuses: a version without an agent, a page that only says it is missing, or a file above what we promise.
"""
import base64
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-wheel"
OLDEST_GLIBC = 17
# What pip called such wheels before it could compare versions of glibc (20.3).
OLDER_NAMES = {17: "manylinux2014"}
MOST_BYTES = 4_000_000
COMMAND = "[console_scripts]\nleadline = leadline._binary:say_what_runs_where\n\n"


def fail(reason):
    sys.exit(f"make wheel: {reason}")


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def refuse_missing_agents():
    """Before anything is built: the tool would be made all the same, without them."""
    found = {line.split()[0] for line in lines_of(ROOT / "tools" / "agent_headers")}
    missing = [label for label in lines_of(ROOT / "tools" / "interpreters", "--labels") if "cp" + label.replace(".", "") not in found]
    if missing:
        fail(f"no agent for CPython {', '.join(missing)}: no headers of it are here; run tools/setup test")


def build(folder):
    """The wheel as meson-python makes it, for this machine alone."""
    import mesonpy

    os.chdir(ROOT)
    name = mesonpy.build_wheel(str(folder), {"build-dir": str(BUILD)})
    if b"has no page" in (BUILD / "ui" / "page.html").read_bytes():
        fail("the page of leadline view is missing: run tools/setup build where npm can get packages")
    return folder / name


def glibc_needed(agents):
    """The N of the newest GLIBC_2.N that one of these libraries names."""
    said = "\n".join(lines_of("readelf", "--version-info", "--wide", *agents))
    return max((int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", said)), default=0)


def platforms(agents):
    minor, machine = max(OLDEST_GLIBC, glibc_needed(agents)), os.uname().machine
    names = [f"manylinux_2_{minor}", *([OLDER_NAMES[minor]] if minor in OLDER_NAMES else [])]
    return [f"{name}_{machine}" for name in names]


# ---- packing --------------------------------------------------------------------------------------------------


def read(path):
    """Of each file in a wheel its entry and its bytes, but for the list of them."""
    with zipfile.ZipFile(path) as archive:
        return [(entry, archive.read(entry)) for entry in archive.infolist() if not entry.filename.endswith(".dist-info/RECORD")]


def described(text, tags, is_pure):
    """The text of a WHEEL file with these tags."""
    kept = [line for line in text.decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    return "\n".join([*kept, f"Root-Is-Purelib: {str(is_pure).lower()}", *(f"Tag: {tag}" for tag in tags), ""]).encode()


def write(path, info, files):
    """files: name, mode, date and bytes of each; the list of them is added."""
    listed = io.StringIO()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(name, mode, date, data):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=9)

        for name, mode, date, data in files:
            add(name, mode, date, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            listed.write(f"{name},sha256={digest},{len(data)}\n")
        listed.write(f"{info}/RECORD,,\n")
        add(f"{info}/RECORD", 0o100644, files[-1][2], listed.getvalue().encode())
    return path


def pack(folder, stem, files, names):
    """The wheel for one kind of machine."""
    tags, info = [f"py3-none-{name}" for name in names], f"{stem}.dist-info"
    packed = [(e.filename, e.external_attr >> 16, e.date_time, described(data, tags, False) if e.filename == f"{info}/WHEEL" else data)
              for e, data in files]
    return write(folder / f"{stem}-py3-none-{'.'.join(names)}.whl", info, packed)


def pack_pure(folder, stem, files):
    """The wheel for all others: without the tool, and with a command in its place."""
    info, package, packed = f"{stem}.dist-info", f"{stem}.data/purelib/", []
    for entry, data in files:
        name = entry.filename
        if name.startswith(f"{stem}.data/") and not name.startswith(package):
            continue
        if name == f"{info}/WHEEL":
            data = described(data, ["py3-none-any"], True)
        elif name == f"{info}/entry_points.txt":
            data = COMMAND.encode() + data
        packed.append((name.replace(package, ""), entry.external_attr >> 16, entry.date_time, data))
    return write(folder / f"{stem}-py3-none-any.whl", info, packed)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/wheel.py FOLDER")
    out = pathlib.Path(sys.argv[1]).resolve()
    refuse_missing_agents()
    with tempfile.TemporaryDirectory() as name:
        built = build(pathlib.Path(name))
        names = platforms(sorted(BUILD.glob("src/agent/cp3*.so")))
        files, stem = read(built), "-".join(built.name.split("-")[:2])
    out.mkdir(parents=True, exist_ok=True)
    for path in (pack(out, stem, files, names), pack_pure(out, stem, files)):
        size = path.stat().st_size
        if size > MOST_BYTES:
            fail(f"{path} has {size:,} bytes; at most {MOST_BYTES:,} are promised")
        print(f"{path}  {size:,} bytes")


if __name__ == "__main__":
    main()
