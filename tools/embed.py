"""Writes a C file that holds other files: python3 embed.py OUT.c NAME=PATH …, embed.py OUT.c --one ARRAY HEADER PATH, or embed.py OUT.c --pages PATH …

The result defines `embedded_files` (collect/embedded.h), in the order given; or one array and its size, n_ARRAY, which the header declares; or `op_pages`
(analyze/op_pages.h), each named after its file.
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
        '#include "collect/embedded.h"\n\n' + "".join(out)
        + "\nconst struct embedded_file embedded_files[] = {\n" + "".join(rows) + "\t{ 0 },\n};\n"
    )


def pages(paths: list[str]) -> str:
    rows = (f"\t{{ {json.dumps(pathlib.Path(path).stem)}, {json.dumps(pathlib.Path(path).read_text(), ensure_ascii=False)} }},\n" for path in paths)
    return '#include "analyze/op_pages.h"\n\nconst struct op_page op_pages[] = {\n' + "".join(rows) + "};\nconst size_t n_op_pages = sizeof op_pages / sizeof *op_pages;\n"


def main() -> None:
    out, *rest = sys.argv[1:]
    made = {"--one": lambda: one(*rest[1:]), "--pages": lambda: pages(rest[1:])}
    pathlib.Path(out).write_text(made.get(rest[0], lambda: files(rest))())


if __name__ == "__main__":
    main()
