"""Writes a C file that holds other files: python3 embed.py OUT.c NAME=PATH …

The result defines `embedded_files` (collect/embedded.h), in the order given.
"""
import pathlib
import sys


def main() -> None:
    out, rows = [], []
    for i, pair in enumerate(sys.argv[2:]):
        name, path = pair.split("=", 1)
        data = pathlib.Path(path).read_bytes()
        lines = (",".join(map(str, data[at : at + 64])) for at in range(0, len(data), 64))
        out.append(f"static const unsigned char file_{i}[] = {{\n" + ",\n".join(lines) + "\n};\n")
        rows.append(f'\t{{ "{name}", file_{i}, sizeof file_{i} }},\n')
    pathlib.Path(sys.argv[1]).write_text(
        '#include "collect/embedded.h"\n\n' + "".join(out)
        + "\nconst struct embedded_file embedded_files[] = {\n" + "".join(rows) + "\t{ 0 },\n};\n"
    )


if __name__ == "__main__":
    main()
