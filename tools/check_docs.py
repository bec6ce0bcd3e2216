"""Do the documents tell what the code does? Each check yields one line per thing that is wrong.

    manual        docs/man, the README's table and leadline.1.md against `build/leadline help`
    format        docs/FORMAT.md against wire/records.def, wire/records.h, store/container.h, store/columns.h
    session       docs/SESSION.md against wire/agent_options.h
    architecture  docs/ARCHITECTURE.md against the folders of src/ and the table of check_layers.py
    facts         single numbers that a page repeats
    links         relative links and their anchors, in every *.md
    decisions     docs/decisions/NNNN-title.md: a number of its own for each

The documents keep to forms that can be read here: man pages give each option a line that starts
`**-o**, **--output** *FILE*`; FORMAT.md has a table under each `### 20 `life` (data)`; ARCHITECTURE.md has a
paragraph that starts with `src/base` (bold, code, list item or heading) for each folder, and one table headed
"folder". The tool is $LEADLINE, or build/leadline.
"""
import os
import pathlib
import re
import subprocess
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Set

import json_docs
from check_layers import ALLOWED

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
INTERNAL_ENUMS = {"record_kind", "record_role", "column_type", "column_encoding"}
C_TYPES = {"char": ("char", 1), "uint8_t": ("u8", 1), "uint16_t": ("u16", 2), "uint32_t": ("u32", 4),
           "uint64_t": ("u64", 8)}
# source, what to find there, page, the words in which the page must repeat it
FACTS = (
    ("src/analyze/host/bound.h", r"BOUND_SHARE\s+([\d.]+)", "docs/man/leadline-time.1.md",
     lambda v: f"at least {float(v) * 100:g} % of the time"),
    ("src/analyze/host/bound.h", r"BOUND_LEAD\s+([\d.]+)", "docs/man/leadline-time.1.md",
     lambda v: f"at least {float(v):g} times the next one"),
    ("src/store/container.h", r"STORE_MAJOR = (\d+)", "docs/FORMAT.md", lambda v: f"`major` | u16 | {v};"),
    ("src/store/container.h", r"STORE_MINOR = (\d+)", "docs/FORMAT.md", lambda v: f"`minor` | u16 | {v};"),
    ("src/store/container.h", r"CHUNK_MAGIC = (\w+)", "docs/FORMAT.md", lambda v: f"`magic` | u32 | {v}:"),
    ("src/wire/session_layout.h", r"SESSION_VERSION = (\d+)", "docs/SESSION.md", lambda v: f"of version {v}"),
)


# ---- reading -------------------------------------------------------------------------------------------------


def read(path: pathlib.Path) -> Optional[str]:
    """Its text, or None where there is no such file."""
    return path.read_text(encoding="utf-8") if path.is_file() else None


def code_of(path: pathlib.Path) -> str:
    """C without comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def cells(line: str) -> List[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def first_table(text: str) -> List[Dict[str, str]]:
    """The rows of the first table in Markdown, by the words of its head; none where there is no table."""
    found = re.search(r"^\|.*\n\|[-| :]+\|\n((?:\|.*(?:\n|\Z))*)", text, re.MULTILINE)
    if not found:
        return []
    head = cells(found.group(0).splitlines()[0])
    return [dict(zip(head, cells(line))) for line in found.group(1).splitlines()]


def differences(page: str, what: str, code: List[str], told: List[str]) -> Iterator[str]:
    """What stands on one side only, and whether the order differs."""
    for item in code:
        if item not in told:
            yield f"{page}: {what}: misses '{item}'"
    for item in told:
        if item not in code:
            yield f"{page}: {what}: tells '{item}', which the code does not have"
    if sorted(code) == sorted(told) and code != told:
        yield f"{page}: {what}: is in another order than in the code"
    if sorted(set(told)) != sorted(told):
        yield f"{page}: {what}: tells something twice"


# ---- manual --------------------------------------------------------------------------------------------------


class Help(NamedTuple):
    """What `leadline help` says of itself."""

    commands: List[str]
    options: Dict[str, List[str]]  # by command, each as "-o, --output FILE" or "--json[=FILE]"


def parse_overview(text: str) -> List[str]:
    """Commands stand indented under their questions; the first and the last paragraph are something else."""
    return [line.split()[0] for part in text.split("\n\n")[2:] if not part.startswith("'leadline help")
            for line in part.splitlines()[1:]]


def parse_usage(text: str) -> List[str]:
    part = re.search(r"^Options\n(.*?)(?:\nExamples\n|\Z)", text, re.MULTILINE | re.DOTALL)
    labels = re.findall(r"^(?:  (?=-\w)|      (?=--))(-.*?)(?:  .*)?$", part.group(1), re.MULTILINE) if part else []
    return [plain_option(label) for label in labels]


def plain_option(label: str) -> str:
    """ "--output=FILE" and "--output FILE" are the same; "--json[=FILE]" is another thing."""
    return re.sub(r"(?<!\[)=", " ", label.strip())


def ask_help(tool: pathlib.Path) -> Help:
    def ask(*words: str) -> str:
        return subprocess.run([str(tool), "help", *words], capture_output=True, text=True, check=True,
                              timeout=20).stdout

    commands = parse_overview(ask())
    return Help(commands, {name: parse_usage(ask(name)) for name in commands})


def told_options(page: str) -> List[str]:
    """The lines of a man page that start with an option in bold."""
    return [plain_option(line.replace("*", "")) for line in page.splitlines() if line.startswith("**-")]


def mentioned_options(page: str) -> Set[str]:
    """Those in bold, those that begin a piece of code, and those after the word leadline: not other tools'."""
    ours = re.findall(r"\*\*--[\w-]+|`--[\w-]+|\bleadline [^`|\n]*", page)
    return {option for text in ours for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", text)}


def check_page(name: str, page: str, options: List[str], known: Set[str]) -> Iterator[str]:
    sections = [s for s in re.findall(r"^## (.+)$", page, re.MULTILINE) if s in SECTIONS]
    yield from differences(name, "sections", SECTIONS, sections)
    yield from differences(name, "options", options, told_options(page))
    for option in sorted(mentioned_options(page) - known - {"--help"}):
        yield f"{name}: mentions {option}, which no command has"


def check_manual(root: pathlib.Path, helps: Help) -> Iterator[str]:
    known = {name for options in helps.options.values() for o in options for name in re.findall(r"--[\w-]+", o)}
    for command in helps.commands:
        name = f"docs/man/leadline-{command}.1.md"
        page = read(root / name)
        if page is None:
            yield f"{name}: is missing"
            continue
        yield from check_page(name, page, helps.options[command], known)
        if f"**leadline {command}**" not in page:
            yield f"{name}: its synopsis does not name **leadline {command}**"
    for path in sorted((root / "docs" / "man").glob("leadline-*.1.md")):
        if path.name[len("leadline-"):-len(".1.md")] not in helps.commands:
            yield f"docs/man/{path.name}: there is no such command"
    yield from check_main_page(root, known, helps)
    listed = re.findall(r"^\| `leadline ([\w-]+)", read(root / "README.md") or "", re.MULTILINE)
    yield from differences("README.md", "table of commands", sorted(helps.commands), sorted(listed))


def check_main_page(root: pathlib.Path, known: Set[str], helps: Help) -> Iterator[str]:
    name = "docs/man/leadline.1.md"
    page = read(root / name)
    if page is None:
        yield f"{name}: is missing"
        return
    # strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0
    pairs = re.findall(r'"(--\w+)"\) == 0 \|\|\s*strcmp\((?:argv\[1\]|word), "(-\w)"', code_of(root / "src/cmd/main.c"))
    yield from check_page(name, page, [f"{letter}, {word}" for word, letter in pairs], known | {w for w, _ in pairs})
    listed = re.findall(r"^\| \[?leadline-([\w-]+?)\]?\(", page, re.MULTILINE)
    yield from differences(name, "table of commands", sorted(helps.commands), sorted(listed))


# ---- format --------------------------------------------------------------------------------------------------


class Record(NamedTuple):
    """One record: its head as FORMAT.md writes it, and its columns as words."""

    head: str  # "20 life (data)"
    columns: List[str]  # "u64 t_ns TIME", "u32 process PLAIN to process KEY"


def column(kind: str, name: str, encoding: str, refers_to: str, key: str) -> str:
    return f"{kind} {name} {encoding}" + (f" to {refers_to}" if refers_to else "") + (" KEY" if key else "")


def defined_records(code: str) -> Dict[str, Record]:
    records: Dict[str, Record] = {}
    for macro, arguments in re.findall(r"\b(RECORD|COL)\(([^)]*)\)", code):
        words = [word.strip() for word in arguments.split(",")]
        if macro == "RECORD":
            records[words[1]] = current = Record(f"{words[0]} {words[1]} ({words[2].lower()})", [])
        else:
            kind, name, encoding, refers_to, key = words
            current.columns.append(
                column(kind, name, encoding, refers_to.replace("none", ""), key.replace("__", "")))
    return records


def told_records(page: str) -> Dict[str, Record]:
    records = {}
    for number, name, role, body in re.findall(r"^### (\d+) `(\w+)` \((\w+)\)\n(.*?)(?=^##|\Z)", page,
                                               re.MULTILINE | re.DOTALL):
        rows = first_table(body)
        records[name] = Record(f"{number} {name} ({role})", [
            column(*(row.get(word, "") for word in ("type", "column", "encoding", "refers to", "key")))
            + ("" if row.get("meaning") else " without a meaning") for row in rows])
    return records


def number(expression: str) -> int:
    """Of C constants such as 0x4b, 16777216 or 1 << 16."""
    left, _, shift = expression.partition("<<")
    return int(left, 0) << int(shift or "0", 0)


def defined_enums(code: str) -> Dict[str, List[str]]:
    """By name ("" for those without one), each value as "0 LIFE_START"."""
    enums: Dict[str, List[str]] = {}
    for name, body in re.findall(r"\benum (\w*) ?\{([^}]*)\}", code):
        following = 0
        for item in filter(None, (part.strip() for part in body.split(","))) if name not in INTERNAL_ENUMS else ():
            word, _, value = item.partition("=")
            following = number(value) if value else following
            enums.setdefault(name, []).append(f"{following} {word.strip()}")
            following += 1
    return enums


def defined_structs(code: str) -> Dict[str, List[str]]:
    """Each field as "offset bytes name type", and last the size; with the alignment of C."""
    structs = {}
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", code, re.MULTILINE | re.DOTALL):
        fields, at, widest = [], 0, 1
        for kind, names in re.findall(r"(\w+) ([^;]+);", body):
            for field, count in re.findall(r"(\w+)(?:\[(\d+)\])?", names):
                word, width = C_TYPES[kind]
                at, widest = -(-at // width) * width, max(widest, width)
                bytes_ = width * int(count or 1)
                fields.append(f"{at} {bytes_} {field} {word}" + (f"[{count}]" if count else ""))
                at += bytes_
        structs[name] = [*fields, f"{-(-at // widest) * widest} bytes"]
    return structs


def told_after(page: str, marker: str) -> str:
    """From the line that starts with the marker to the end of the next table; "" where there is none."""
    found = re.search(rf"^{re.escape(marker)}.*\n(?:[^|\n].*\n|\n)*(?:\|.*(?:\n|\Z))+", page, re.MULTILINE)
    return found.group(0) if found else ""


def check_records(page: str, code: str) -> Iterator[str]:
    defined, told = defined_records(code), told_records(page)
    yield from differences("docs/FORMAT.md", "records", [r.head for r in defined.values()],
                           [r.head for r in told.values()])
    for name in defined.keys() & told.keys():
        yield from differences("docs/FORMAT.md", f"record {name}", defined[name].columns, told[name].columns)
    reserved = [f"{i} {name}" for i, name in re.findall(r"\bRESERVED\((\d+), (\w+)\)", code)]
    rows = first_table(page.partition("### Reserved")[2])
    yield from differences("docs/FORMAT.md", "reserved ids", reserved,
                           [f"{row.get('id')} {row.get('name')}" for row in rows])


def check_structs(name: str, page: str, code: str) -> Iterator[str]:
    for struct, fields in defined_structs(code).items():
        text = told_after(page, f"`struct {struct}`")
        told = [f"{r.get('offset')} {r.get('bytes')} {r.get('field')} {r.get('type')}" for r in first_table(text)]
        size = re.search(r"`, (\d+ bytes)", text)
        yield from differences(name, f"struct {struct}", fields, told + ([size.group(1)] if size else []))


def check_enums(name: str, page: str, enums: Dict[str, List[str]]) -> Iterator[str]:
    for enum, values in enums.items():
        rows = first_table(told_after(page, f"`enum {enum}`"))
        yield from differences(name, f"enum {enum}", values, [f"{r.get('value')} {r.get('name')}" for r in rows])


def check_session(root: pathlib.Path) -> Iterator[str]:
    name, code = "docs/SESSION.md", code_of(root / "src" / "wire" / "agent_options.h")
    page = read(root / name)
    if page is None:
        yield f"{name}: is missing"
        return
    enums = defined_enums(code)
    enums.pop("", None)  # bounds
    yield from check_structs(name, page, code)
    yield from check_enums(name, page, enums)


def check_format(root: pathlib.Path) -> Iterator[str]:
    name, source = "docs/FORMAT.md", root / "src"
    page = read(root / name)
    if page is None:
        yield f"{name}: is missing"
        return
    wire, container = code_of(source / "wire" / "records.h"), code_of(source / "store" / "container.h")
    yield from check_records(page, code_of(source / "wire" / "records.def"))
    yield from check_structs(name, page, container)
    enums = {**defined_enums(wire), **defined_enums(container)}
    enums.pop("", None)  # versions and magic are facts
    yield from check_enums(name, page, enums)
    for enum in set(re.findall(r"^`enum (\w+)`", page, re.MULTILINE)) - set(enums):
        yield f"{name}: tells enum {enum}, which the code does not have"
    limits = defined_enums(code_of(source / "store" / "columns.h")).get("", [])
    rows = first_table(told_after(page, "| limit |"))
    yield from differences(name, "limits", limits, [f"{r.get('value')} {r.get('limit')}" for r in rows])
    encodings = re.findall(r"\bENCODING_(\w+)", re.search(r"enum column_encoding \{[^}]*\}", wire).group(0))
    rows = first_table(told_after(page, "| encoding |"))
    yield from differences(name, "encodings", encodings, [row["encoding"] for row in rows])


# ---- architecture, facts -------------------------------------------------------------------------------------


def layer_words(allowed: Optional[Set[str]]) -> str:
    return "everything" if allowed is None else ", ".join(sorted(allowed)) or "nothing"


def told_layers(page: str) -> List[str]:
    """Of the table headed "folder": "sys: base, wire". What stands in brackets is a remark."""
    told = []
    for row in first_table(told_after(page, "| folder |")):
        folder, *others = row.values()
        words = re.findall(r"[a-z_]+", re.sub(r"\([^)]*\)", "", others[0] if others else ""))
        told.append(f"{folder.strip('/').replace('src/', '')}: {', '.join(sorted(words))}")
    return told


def check_architecture(root: pathlib.Path, allowed: Dict[str, Optional[Set[str]]]) -> Iterator[str]:
    name = "docs/ARCHITECTURE.md"
    page = read(root / name)
    if page is None:
        yield f"{name}: is missing"
        return
    layers = [f"{folder}: {layer_words(others)}" for folder, others in allowed.items()]
    yield from differences(name, "layer table", sorted(layers), sorted(told_layers(page)))
    folders = sorted(path.name for path in (root / "src").iterdir() if path.is_dir())
    # A paragraph begins after an empty line, an item or a heading on any line.
    starts = re.findall(r"(?:^\n|\A|(?=^#|^[-*] ))(?:#+ |[-*] )?[*`]*src/(\w+)", page, re.MULTILINE)
    yield from differences(name, "paragraphs that start with src/…", folders, sorted(starts))


def check_facts(root: pathlib.Path) -> Iterator[str]:
    for source, pattern, name, words in FACTS:
        found = re.search(pattern, read(root / source) or "")
        page = " ".join((read(root / name) or "").split())
        if not found:
            yield f"{source}: holds nothing like '{pattern}' any more; see FACTS in tools/check_docs.py"
        elif words(found.group(1)) not in page:
            yield f"{name}: does not say '{words(found.group(1))}', as {source} has it"


# ---- links, decisions ----------------------------------------------------------------------------------------


def pages(root: pathlib.Path) -> List[pathlib.Path]:
    """Every *.md outside of hidden, build and downloaded folders."""
    def is_ours(path: pathlib.Path) -> bool:
        folders = path.relative_to(root).parts[:-1]
        return not any(f.startswith((".", "build")) or f in ("dist", "node_modules") for f in folders)

    return sorted(path for path in root.rglob("*.md") if is_ours(path))


def anchors(text: str) -> Set[str]:
    """Of the headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def check_links(root: pathlib.Path) -> Iterator[str]:
    for path in pages(root):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r"^\[[^\]]+\]: (\S+)", prose, re.MULTILINE):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            if not there.is_relative_to(root.resolve()) and file:
                yield f"{name}: the link {target} leads out of the project"
            elif not there.exists():
                yield f"{name}: the link {target} leads nowhere"
            elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
                yield f"{name}: the link {target} names a heading that is not there"


def check_decisions(root: pathlib.Path) -> Iterator[str]:
    taken: Dict[str, str] = {}
    for path in sorted((root / "docs" / "decisions").glob("*")):
        match = re.fullmatch(r"(\d{4})-[a-z0-9][a-z0-9-]*\.md", path.name)
        if not match:
            yield f"docs/decisions/{path.name}: is not called NNNN-title.md"
        elif match.group(1) in taken:
            yield f"docs/decisions/{path.name}: has the number of {taken[match.group(1)]}"
        else:
            taken[match.group(1)] = path.name


# ---- all -----------------------------------------------------------------------------------------------------


def problems(root: pathlib.Path, tool: pathlib.Path) -> Iterator[str]:
    if os.access(tool, os.X_OK):
        yield from check_manual(root, ask_help(tool))
    else:
        yield f"{tool} is missing: run 'make build'"
    yield from check_format(root)
    yield from check_session(root)
    yield from json_docs.read(root)[1]
    yield from check_architecture(root, ALLOWED)
    yield from check_facts(root)
    yield from check_links(root)
    yield from check_decisions(root)


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root, pathlib.Path(os.environ.get("LEADLINE") or root / "build" / "leadline")))
    for line in found:
        print(f"check_docs: {line}", file=sys.stderr)
    if not found:
        print(f"docs: {len(pages(root))} pages agree with the code and with each other")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
