"""Who may include whom: the table of docs/ARCHITECTURE.md, checked against every #include.

A folder may include itself and the folders named here; nothing else of ours. `agent` and `bpf` live in
other people's processes and may use `wire` only.
"""
import pathlib
import re
import sys

BASE = {"base", "wire"}
ALLOWED = {
    "base": set(),
    "wire": set(),
    "sys": BASE,
    "cpython": BASE,
    "store": BASE,
    "symbol": BASE | {"sys"},
    "collect": BASE | {"sys", "cpython", "store", "symbol"},
    "agent": {"wire"},
    "bpf": {"wire"},
    "analyze": BASE | {"store", "cpython", "symbol"},
    "advise": {"base", "analyze"},
    "formats": {"base", "analyze", "store"},
    "json": {"base", "analyze", "advise", "formats"},
    "view": {"base", "analyze", "advise"},
    "bench": {"base", "wire", "analyze", "store", "sys", "collect"},
    "serve": {"base", "analyze", "advise", "store", "formats", "json", "view"},
    "cmd": None,  # everything
}
# Subjects that include base and themselves alone.
PURE = {"analyze/stats"}
# A subject → which files of its layer may include it beside its own.
ONLY_FOR = {"analyze/torch": {"analyze/recording.c", "analyze/selection.c"}}
# A table, not code: what its rows mean is agreed between tool, agents and BPF.
MAY_INCLUDE = {("wire/py_layout.h", "cpython/fields.def")}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
VERSION_IF = re.compile(r"^\s*#\s*if.*PY_VERSION", re.MULTILINE)
PRINTING = re.compile(r"(?<![A-Za-z_])(printf|puts|putchar|perror|exit)\s*\(")
JSON_CALL = re.compile(r"\bjson_(?:init|key|kv_\w+|(?:object|array)_(?:begin|end))\s*\(")
# usage_json(…, struct json_writer *w): what writes a result.
JSON_WRITER = re.compile(r"^\w[\w *]*?\b(\w+_json\w*)\([^;{]*struct json_writer \*", re.MULTILINE)
# Printing and exiting belong to cmd/. These two say why they differ in their own header.
MAY_PRINT = {"base/log.c", "base/xalloc.c"}


def subject_problems(name: str, included: str):
    of, to = name.rpartition("/")[0], included.rpartition("/")[0]
    if of == to:
        return
    if of in PURE and to != "base":
        yield f"{name}: {of} may not include {included}"
    if to in ONLY_FOR and of.split("/")[0] == to.split("/")[0] and name not in ONLY_FOR[to]:
        yield f"{name}: may not include {included}; of {of.split('/')[0]}, only {', '.join(sorted(ONLY_FOR[to]))} may"


def problems(source: pathlib.Path):
    for path in sorted(source.rglob("*.[ch]")) + sorted(source.rglob("*.def")):
        folder, name = path.relative_to(source).parts[0], path.relative_to(source).as_posix()
        text = path.read_text()
        is_test = path.stem.endswith(("_test", "_rig"))  # a rig is what several tests share
        if folder not in ALLOWED:
            yield f"{name}: the folder {folder} is not in the layer table"
            continue
        for included in INCLUDE.findall(text):
            target = included.split("/")[0]
            allowed = ALLOWED[folder]
            if (name, included) in MAY_INCLUDE:
                continue
            if "/" not in included:
                yield f"{name}: includes {included} without its folder"
            elif allowed is not None and target != folder and target not in allowed and not is_test:
                yield f"{name}: {folder} may not include {included}"
            if not is_test:
                yield from subject_problems(name, included)
        if VERSION_IF.search(text) and name != "agent/core/compat.h":
            yield f"{name}: interpreter versions are told apart in agent/core/compat.h only"
        if folder not in ("base", "json", "cmd") and not is_test:
            for match in JSON_WRITER.finditer(text):
                yield f"{name}: {match.group(1)} writes a result as JSON; that is src/json's, for --json and the page"
        if folder == "view" and JSON_CALL.search(text):
            yield f"{name}: writes JSON; view is for terminals"
        if folder not in ("cmd", "agent") and not is_test and name not in MAY_PRINT:
            code = re.sub(r"/\*.*?\*/|\"(\\.|[^\"\\])*\"", "", text, flags=re.DOTALL)
            for match in PRINTING.finditer(code):
                yield f"{name}: calls {match.group(1)}; only cmd/ talks to the user"


def main() -> int:
    source = pathlib.Path(__file__).resolve().parent.parent / "src"
    found = list(problems(source))
    for line in found:
        print(f"check_layers: {line}", file=sys.stderr)
    if not found:
        print(f"layers: {len(list(source.rglob('*.[ch]')))} files keep to the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
