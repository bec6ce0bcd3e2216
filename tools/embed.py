"""Writes a C file that holds other files: python3 embed.py OUT.c NAME=PATH …, embed.py OUT.c --one ARRAY HEADER PATH, or embed.py OUT.c --pages FOLDER DEPFILE

The result defines `embedded_files` (collect/agents/embedded.h), in the order given; or one array and its size, n_ARRAY, which the header declares; or `advice_pages`
(advise/pages.h), each Markdown file of the folder, named after it; the depfile tells Ninja to look again when the folder changes.
"""
import json
import pathlib
import sys


def array(name: str, path: str) -> str:
    data = pathlib.Path(path).read_bytes()
    lines = (",".join(map(str, data[at : at + 64])) for at in range(0, len(data), 64))
    return f"const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def one(name: str, header: str, path: str) -> str:
    return f'#include "{header}"\n\n' + array(name, path) + f"const size_t n_{name} = sizeof {name};\n"


def files(pairs: list[str]) -> str:
    out, rows = [], []
    for i, pair in enumerate(pairs):
        name, path = pair.split("=", 1)
        out.append("static " + array(f"file_{i}", path))
        rows.append(f'\t{{ "{name}", file_{i}, sizeof file_{i} }},\n')
    return (
        '#include "collect/agents/embedded.h"\n\n' + "".join(out)
        + "\nconst struct embedded_file embedded_files[] = {\n" + "".join(rows) + "\t{ 0 },\n};\n"
    )


def pages(out: str, folder: str, depfile: str) -> str:
    paths = sorted(pathlib.Path(folder).glob("*.md"))
    pathlib.Path(depfile).write_text(f"{out}: " + " ".join(str(path).replace(" ", "\\ ") for path in [folder, *paths]) + "\n")
    rows = (f"\t{{ {json.dumps(path.stem)}, {json.dumps(path.read_text(), ensure_ascii=False)} }},\n" for path in paths)
    return '#include "advise/pages.h"\n\nconst struct advice_page advice_pages[] = {\n' + "".join(rows) + "};\nconst size_t n_advice_pages = sizeof advice_pages / sizeof *advice_pages;\n"


def main() -> None:
    out, *rest = sys.argv[1:]
    made = {"--one": lambda: one(*rest[1:]), "--pages": lambda: pages(out, *rest[1:])}
    pathlib.Path(out).write_text(made.get(rest[0], lambda: files(rest))())


if __name__ == "__main__":
    main()
