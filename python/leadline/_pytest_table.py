"""Tables of benchmarks in pytest's summary, one for each group."""

from typing import Any, Dict, List, Optional, Tuple

from leadline._pytest import option

Row = Dict[str, Any]
TIMES = ("min", "max", "mean", "stddev", "median", "iqr")
TITLES = {"min": "Min", "max": "Max", "mean": "Mean", "stddev": "StdDev", "median": "Median", "iqr": "IQR", "outliers": "Outliers",
          "ops": "OPS", "rounds": "Rounds", "iterations": "Iterations"}
UNITS = {"ns": ("n", 1e9), "us": ("u", 1e6), "ms": ("m", 1e3), "s": ("", 1.0)}


def grouped(rows: List[Row], group_by: str) -> List[Tuple[Optional[str], List[Row]]]:
    """By what --benchmark-group-by names, with commas between several."""

    def part(row: Row, word: str) -> Any:
        if word.startswith("param:"):
            name = word[len("param:"):]
            return f"{name}={row['params'][name]}" if name in (row["params"] or {}) else None
        if word in ("func", "fullfunc"):
            return row["name" if word == "func" else "fullname"].partition("[")[0]
        return row[word]

    groups: Dict[Optional[str], List[Row]] = {}
    for row in rows:
        parts = [part(row, word) for word in group_by.split(",")]
        groups.setdefault(" ".join(str(p) for p in parts if p) or None, []).append(row)
    return sorted(groups.items(), key=lambda pair: pair[0] or "")


def scale_of(chosen: str, unit: str, rows: List[Row], best: Row, worst: Row, sort: str) -> Tuple[str, float]:
    """Prefix and factor that make the numbers of a table short."""
    if unit == "operations":
        slowest = worst["ops"]
        return ("M", 1e-6) if slowest > 1e6 else ("K", 1e-3) if slowest > 1e3 else ("", 1.0)
    if chosen in UNITS:
        return UNITS[chosen]
    value = best[sort if sort in best else "min"]
    return UNITS["ns" if value < 1e-6 else "us" if value < 1e-3 else "ms" if value < 1 else "s"]


def named(row: Row, style: str) -> str:
    """With the kept result that a row is of, where rows of several stand beside each other."""
    source, name, full = row["source"], str(row["name"]), str(row["fullname"])
    number = source.rpartition("/")[2][:4] if source else ""
    if style == "trial":
        return number or "NOW"
    if style == "long":
        return full + (f" ({source})" if source else "")
    if style == "short":
        return (name[5:] if name.startswith("test_") else name) + (f" ({number})" if source else "")
    folder, slash, file = source.rpartition("/") if source else ("", "", "")
    return name + (f" ({folder}{slash}{file[:12]})" if source else "")


def relative(best: float, value: float) -> str:
    """How many times the best of its column a value is, calls a second included, in pytest-benchmark's words."""
    if value == best:
        return "(1.0)"
    ratio = abs(value / best) if best else float("inf")
    return "(inf)" if ratio == float("inf") else "(>1000.0)" if ratio > 1000 else f"({ratio:.2f})"


class Table:
    """The rows of one group."""

    def __init__(self, config: Any, group: Optional[str], rows: List[Row]) -> None:
        sort = option(config, "sort")
        self.group, self.rows = group, sorted(rows, key=lambda row: row[sort])
        self.columns = option(config, "columns")
        self.best = {key: min(row[key] for row in rows) for key in TIMES}
        self.worst = {key: max(row[key] for row in rows) for key in TIMES}
        self.best["ops"], self.worst["ops"] = max(row["ops"] for row in rows), min(row["ops"] for row in rows)
        scale = config.hook.pytest_benchmark_scale_unit
        about = {"config": config, "benchmarks": self.rows, "best": self.best, "worst": self.worst, "sort": sort}
        self.prefix, self.factor = scale(unit="seconds", **about)
        self.ops_prefix, self.ops_factor = scale(unit="operations", **about)
        self.names = [named(row, option(config, "name")) for row in self.rows]

    def cell(self, row: Row, column: str) -> str:
        if column not in TIMES and column != "ops":
            return str(row[column])
        text = f"{row[column] * (self.ops_factor if column == 'ops' else self.factor):,.4f}"
        if len(self.rows) > 1:
            text += " " + relative(self.best[column], row[column]).ljust(9)
        return text

    def title(self, column: str) -> str:
        text = f"OPS ({self.ops_prefix}ops/s)" if column == "ops" and self.ops_prefix else TITLES[column]
        return text + " " * 10 if len(self.rows) > 1 and (column in TIMES or column == "ops") else text

    def markup(self, row: Row, column: str) -> Dict[str, bool]:
        if len(self.rows) < 2 or column not in self.best:
            return {}
        return {"green": row[column] == self.best[column], "red": row[column] == self.worst[column] != self.best[column]}

    def show(self, reporter: Any) -> None:
        head = f"Name (time in {self.prefix}s)"
        left = max(map(len, [head, *self.names]))
        cells = [[self.cell(row, column) for column in self.columns] for row in self.rows]
        widths = [2 + max(map(len, [self.title(column), *(line[i] for line in cells)])) for i, column in enumerate(self.columns)]
        line = head.ljust(left) + "".join(self.title(column).rjust(width) for column, width in zip(self.columns, widths))
        count = f"{len(self.rows)} test{'s' if len(self.rows) != 1 else ''}"
        reporter.write_line(f" benchmark{'' if self.group is None else ' ' + repr(self.group)}: {count} ".center(len(line), "-"), yellow=True)
        reporter.write_line(line.rstrip())
        reporter.write_line("-" * len(line), yellow=True)
        for name, row, texts in zip(self.names, self.rows, cells):
            reporter.write(name.ljust(left), red=bool(row.get("has_error")))
            for column, width, text in zip(self.columns, widths, texts):
                reporter.write(text.rjust(width), **self.markup(row, column))
            reporter.write("\n")
        reporter.write_line("-" * len(line), yellow=True)
        reporter.write_line("")


def show(config: Any, reporter: Any, groups: Any) -> None:
    """All tables."""
    reporter.ensure_newline()
    reporter.write_line("")
    for group, rows in groups:
        Table(config, group, rows).show(reporter)
    if {"outliers", "ops"} & set(option(config, "columns")):
        reporter.write_line("Outliers: beyond one standard deviation of the mean; beyond 1.5 interquartile ranges of the quartiles. OPS: calls per second.")
