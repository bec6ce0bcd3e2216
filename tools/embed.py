"""Writes a C file that holds other files: python3 embed.py OUT.c NAME=PATH …, or embed.py OUT.c --page PATH

The result defines `embedded_files` (collect/embedded.h), in the order given; or `page_html` (serve/page.h).
"""
import pathlib
import sys


def array(name: str, path: str) -> str:
    data = pathlib.Path(path).read_bytes()
    lines = (",".join(map(str, data[at : at + 64])) for at in range(0, len(data), 64))
    return f"const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def page(path: str) -> str:
    return '#include "serve/page.h"\n\n' + array("page_html", path) + "const size_t n_page_html = sizeof page_html;\n"


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


def main() -> None:
    out, *rest = sys.argv[1:]
    pathlib.Path(out).write_text(page(rest[1]) if rest[:1] == ["--page"] else files(rest))


if __name__ == "__main__":
    main()
