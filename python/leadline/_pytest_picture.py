"""--benchmark-histogram: a picture (SVG) of each group, one box for each benchmark and kept result."""

import math
import re
from pathlib import Path
from typing import Any, List, Tuple
from xml.sax.saxutils import escape

from leadline._files import private
from leadline._pytest_table import Row, Table

ROW, BOX, RIGHT, WIDTH, LETTER = 26, 12, 90, 620, 7  # of the picture's units: height of a row and of a box, widths
TICKS = (1, 2, 5)
STYLE = ("text{font:12px system-ui,sans-serif;fill:#333}.n{text-anchor:end}.v{font-variant-numeric:tabular-nums;fill:#666}"
         ".g{stroke:#ddd}.w{stroke:#666}.b{fill:#9fc5e8;stroke:#3d6d99}.m{stroke:#b45f06;stroke-width:2}")


class Axis:
    """Times to places; logarithmic where the slowest takes more than twenty times as long as the fastest."""

    def __init__(self, low: float, high: float, left: float) -> None:
        self.is_log, self.left = low > 0 and high / low > 20, left
        room = (high - low) * 0.05 or high * 0.05 or 1e-9
        self.low, self.high = (low * 0.9, high * 1.1) if self.is_log else (max(low - room, 0.0), high + room)

    def place(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.left + share * WIDTH, 1)

    def ticks(self) -> List[float]:
        decades = range(-12, 9)
        if self.is_log:
            powers = [10.0 ** d for d in decades if self.low <= 10.0 ** d <= self.high]
            return powers if len(powers) > 1 else [t * 10.0 ** d for d in decades for t in TICKS if self.low <= t * 10.0 ** d <= self.high]
        step = next(t * 10.0 ** d for d in decades for t in TICKS if (self.high - self.low) / (t * 10.0 ** d) <= 8)
        return [i * step for i in range(math.ceil(self.low / step), int(self.high / step) + 1)]


def box(axis: Axis, y: int, row: Row, name: str, text: str) -> str:
    """What lies within 1.5 interquartile ranges is a line, the middle half a box, the median a mark; what lies beyond would dwarf them."""
    low, q1, median, q3, high = (axis.place(row[key]) for key in ("ld15iqr", "q1", "median", "q3", "hd15iqr"))
    top = y - BOX // 2
    slowest = row["max"] / row["median"]
    about = f"{name}: median {text}, {row['rounds']} rounds, the slowest {slowest:.{0 if slowest >= 100 else 2}f} times as long"
    return (f'<g><title>{escape(about)}</title><text class="n" x="{axis.left - 10}" y="{y + 4}">{escape(name)}</text>'
            f'<line class="w" x1="{low}" y1="{y}" x2="{high}" y2="{y}"/>'
            f'<rect class="b" x="{q1}" y="{top}" width="{round(max(q3 - q1, 1), 1)}" height="{BOX}"/>'
            f'<line class="m" x1="{median}" y1="{top - 2}" x2="{median}" y2="{top + BOX + 2}"/>'
            f'<text class="v" x="{axis.left + WIDTH + 12}" y="{y + 4}">{escape(text)}</text></g>')


def picture(table: Table) -> str:
    left = 20 + LETTER * max(map(len, table.names))
    axis = Axis(min(row["ld15iqr"] for row in table.rows), max(row["hd15iqr"] for row in table.rows), left)
    bottom = 40 + ROW * len(table.rows)
    title = f"{table.group or 'benchmarks'}, time in {table.prefix}s: median, middle half, within 1.5 interquartile ranges"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + WIDTH + RIGHT}" height="{bottom + 34}" role="img">', f"<title>{escape(title)}</title>",
             f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/><text x="{left}" y="20">{escape(title)}</text>']
    for tick in axis.ticks():
        x = axis.place(tick)
        parts.append(f'<line class="g" x1="{x}" y1="32" x2="{x}" y2="{bottom}"/><text class="v" text-anchor="middle" x="{x}" y="{bottom + 16}">{tick * table.factor:g}</text>')
    for i, (row, name) in enumerate(zip(table.rows, table.names)):
        parts.append(box(axis, 40 + ROW * i + ROW // 2, row, name, f"{row['median'] * table.factor:.4g} {table.prefix}s"))
    return "\n".join([*parts, "</svg>\n"])


def write(config: Any, prefix: str, groups: List[Tuple[Any, List[Row]]]) -> List[Path]:
    """PREFIX.svg, and PREFIX-GROUP.svg of a group with a name; folders are made."""
    written: List[Path] = []
    for group, rows in groups:
        end = "-" + re.sub(r"[^\w.-]+", "_", group).strip("_") if group else ""
        path = Path(f"{prefix}{end}.svg")
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", encoding="utf-8", opener=private) as out:
            out.write(picture(Table(config, group, rows)))
        written.append(path)
    return written
