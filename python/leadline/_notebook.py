"""IPython's magics: %load_ext leadline, then %lead, %leadtrace, %leadlines and %leadtime, each with % before a statement or %% before a cell.

A cell's functions are named after it: `In [7]:3` is line 3 of that cell, whatever file IPython compiled it under.
"""

import html
import io
import linecache
import re
import time
from typing import Any, Dict, List, Optional, Tuple

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope
from IPython.display import display as show

from leadline import _stats
from leadline._bench import Result, bench
from leadline._host import Error, Host
from leadline._lines import LineCounter
from leadline._sampler import Recorder, Sampler
from leadline._tracer import Tracer

CELLS_MOST = 1000  # whose text goes into a recording
ROWS = 20
display: Any = show  # IPython has no types for it
STYLE = "text-align: right; font-variant-numeric: tabular-nums; padding: 0 0.6em"


class Report:
    """What a magic shows: plain text for terminals, tables for notebooks."""

    def __init__(self, text: str, tables: List[str]) -> None:
        self.text = text
        self._html = "".join(tables)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._html


class Page:
    """A recording as the page of `leadline view`; where nobody can draw it, as text."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __repr__(self) -> str:
        return self._recorder.report("--no-legend")

    def _repr_html_(self) -> Optional[str]:
        return self._recorder._repr_html_()


def table(title: str, heads: List[str], rows: List[List[str]]) -> str:
    """One table; the last column is text, the others are numbers."""

    def cells(tag: str, values: List[str]) -> str:
        styles = [STYLE] * (len(values) - 1) + ["text-align: left; font-family: monospace"]
        return "".join(f'<{tag} style="{s}">{html.escape(v)}</{tag}>' for s, v in zip(styles, values))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (f"<table><caption style='text-align: left'><b>{html.escape(title)}</b></caption>"
            f"<thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>")


def place(file: Optional[str], line: Optional[int]) -> str:
    """`In [7]:3`, or the last part of a path and the line."""
    if not file:
        return ""
    return f"{file if file.startswith('In [') else file.rpartition('/')[2]}:{line}"


def seconds(value: Optional[float]) -> str:
    """Three digits and the unit that fits; nothing for what is not known."""
    if value is None:
        return ""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def sampled_tables(document: Dict[str, Any], limit: int) -> List[str]:
    """Functions and lines, as the report has them."""
    # Shares are of all sampled time, which the outermost function has.
    whole = max((f["total"] for f in document.get("functions", [])), default=0) or 1

    def rows(name: str) -> List[Dict[str, Any]]:
        """Without the kernel's own functions, which only wait for the cell."""
        return [r for r in document.get(name, []) if r["self"] > 0 or r["file"].startswith("In [")][:limit]

    def share(value: float) -> str:
        return f"{100 * value / whole:.1f} %"

    functions = [[share(f["self"]), seconds(f["self"]), share(f["total"]),
                  f"{f['name']}  {place(f['file'], f['line'])}"] for f in rows("functions")]
    lines = [[share(x["self"]), seconds(x["self"]), share(x["total"]), place(x["file"], x["line"])]
             for x in rows("lines")]
    return [table("Functions", ["self", "time", "total", "function"], functions),
            table("Lines", ["self", "time", "total", "line"], lines)]


def traced_table(stats: _stats.Stats, sort: Any, limits: List[Any]) -> str:
    """The columns of pstats, in its order."""
    stats.sort_stats(sort)
    rows, chosen = [], stats.fcn_list  # type: ignore[attr-defined]
    for limit in limits:
        chosen = stats.eval_print_amount(limit, chosen, "")[0]
    for function in chosen:
        primitive, calls, own, total, _ = stats[function]
        count = str(calls) if calls == primitive else f"{calls}/{primitive}"
        name = function[2] if function[0] == "~" else f"{function[2]}  {place(function[0], function[1])}"
        rows.append([count, seconds(own), seconds(own / calls), seconds(total), seconds(total / (primitive or 1)), name])
    return table("Calls", ["calls", "own", "per call", "total", "per call", "function"], rows)


def counted_table(shell: Any, document: Dict[str, Any]) -> str:
    """Lines in their order, with their text."""
    files = {f"In [{number}]": name for name, number in cell_numbers(shell).items()}
    rows = []
    for x in sorted(document.get("lines", []), key=lambda x: (x["file"], x["line"])):
        text = linecache.getline(files.get(x["file"], x["file"]), x["line"]).rstrip("\n")
        rows.append([str(x["hits"]), seconds(x["total"]), seconds(x["total"] / x["hits"]) if x["hits"] else "",
                     f"{place(x['file'], x['line'])}  {text}"])
    return table("Lines", ["hits", "time", "per hit", "line"], rows)


@magics_class
class LeadlineMagics(Magics):
    """Each takes a statement on its line, or as a cell magic the cell.

    -s SORT   order of rows        -n ROWS   how many (20)        -o FILE   save the recording
    -l LIMIT  the same as -n; of %leadtrace also what else %prun takes: a share (0.1), a pattern of names; several times
    -r HZ     samples a second     -q        show nothing         -f FUNC   whose lines; several times
    -p        show the page of `leadline view` instead of tables
    """

    @needs_local_scope
    @line_cell_magic
    def lead(self, line: str, cell: Optional[str] = None, local_ns: Optional[Dict[str, Any]] = None) -> None:
        """Runs the statement or cell under the sampler and shows where its time went."""
        options, code, names = self._prepare(line, cell, "r:s:n:l:o:qp", local_ns)
        limit = self._rows(options)
        recorder = _CellSampler(self.shell, options.get("r"))
        self._run(recorder, code, names, options)
        if self._is_shown(recorder, options):
            return
        text = recorder.report("--sort", options.get("s", "self"), "--limit", str(limit), "--no-legend")
        display(Report(text, sampled_tables(recorder.json(), limit)))

    @needs_local_scope
    @line_cell_magic
    def leadtrace(self, line: str, cell: Optional[str] = None, local_ns: Optional[Dict[str, Any]] = None) -> None:
        """Runs the statement or cell under the tracer and shows its calls, as %prun does."""
        options, code, names = self._prepare(line, cell, "s:n:l:o:qp", local_ns)
        limits = self._limits(options)
        try:
            sort = _stats.sort_key(options.get("s", "tottime"))
        except ValueError as error:
            raise UsageError(f"-s: {error}") from None
        recorder = _CellTracer(self.shell)
        self._run(recorder, code, names, options)
        if self._is_shown(recorder, options):
            return
        stats, text = recorder.stats, io.StringIO()
        stats.stream = text  # type: ignore[attr-defined]
        stats.sort_stats(sort).print_stats(*limits)
        display(Report(text.getvalue(), [traced_table(recorder.stats, sort, limits)]))

    @needs_local_scope
    @line_cell_magic
    def leadlines(self, line: str, cell: Optional[str] = None, local_ns: Optional[Dict[str, Any]] = None) -> None:
        """Runs the statement or cell and shows every line of the functions named: %leadlines -f func statement."""
        options, code, names = self._prepare(line, cell, "f:n:l:o:qp", local_ns)
        wanted: Any = options.get("f") or []
        if not wanted:
            raise UsageError("which functions? For example: %leadlines -f work work()")
        functions = []
        for word in [wanted] if isinstance(wanted, str) else wanted:
            try:
                functions.append(eval(word, names))
            except Exception as error:
                raise UsageError(f"-f {word}: {error}") from None
        recorder = _CellLines(self.shell, *functions)
        self._run(recorder, code, names, options)
        if not self._is_shown(recorder, options):
            text = recorder.report("--lines", "--limit", str(self._rows(options, 0)), "--no-legend")
            display(Report(text, [counted_table(self.shell, recorder.json())]))

    @needs_local_scope
    @line_cell_magic
    def leadtime(self, line: str, cell: Optional[str] = None, local_ns: Optional[Dict[str, Any]] = None) -> Optional[Result]:
        """Times the statement, or the cell with the statement as its set-up, as %timeit does: -n -r -p -o -q, -t -c."""
        options, statement = self.parse_options(line, "n:r:p:oqtc", posix=False, strict=False)
        if cell is None and not statement.strip():
            raise UsageError("which statement? For example: %leadtime work()")
        shell: Any = self.shell
        text, setup = (statement, "pass") if cell is None else (shell.transform_cell(cell), statement.strip() or "pass")
        names = {**shell.user_ns, **(local_ns or {})}
        try:
            numbers = [int(options.get(letter, default)) for letter, default in (("n", 0), ("r", 7), ("p", 3))]
        except ValueError as error:
            raise UsageError(f"-n, -r and -p expect a number: {error}") from None
        if numbers[1] < 1 or numbers[0] < 0:
            raise UsageError("-r must be at least 1, -n at least 0")
        timer = time.process_time if "c" in options else time.perf_counter
        result = bench(text.strip("\n"), setup, numbers[0], numbers[1], names, timer)
        result = Result(result.loops, result.all_runs, precision=numbers[2])
        if "q" not in options:
            print(result)
        return result if "o" in options else None

    def _prepare(self, line: str, cell: Optional[str], letters: str,
                 local_ns: Optional[Dict[str, Any]]) -> Tuple[Dict[str, str], Any, Dict[str, Any]]:
        """Options, compiled code, and the namespace to run it in."""
        options, statement = self.parse_options(line, letters, posix=False)
        if cell is not None and statement.strip():
            raise UsageError(f"a cell magic takes options only, not '{statement.strip()}'")
        if cell is None and not statement.strip():
            raise UsageError("which statement? For example: %lead work(); or a cell that begins with %%lead")
        # The magic's own line counts, so that numbers are those a reader of the cell sees.
        shell: Any = self.shell
        text = statement if cell is None else "\n" + shell.transform_cell(cell)
        shown = statement if cell is None else f"%%{line.strip()}\n{cell}"
        # The last cell compiled is the one that runs; the counter may be ahead of it already.
        number = next(reversed(list(cell_numbers(shell).values())), shell.execution_count)
        name = shell.compile.cache(text, number, raw_code=shown)
        linecache.cache[name] = (len(shown), None, [row + "\n" for row in shown.splitlines()], name)
        code = compile(shell.compile.ast_parse(text, filename=name), name, "exec")
        if not local_ns or local_ns is shell.user_ns:
            return dict(options), code, shell.user_ns
        return dict(options), code, {**shell.user_ns, **local_ns}

    @staticmethod
    def _run(recorder: Recorder, code: Any, names: Dict[str, Any], options: Dict[str, str]) -> None:
        try:
            with recorder:
                exec(code, names)
        finally:
            recorder.stop()
            if "o" in options:
                recorder.save(options["o"])

    @staticmethod
    def _is_shown(recorder: Recorder, options: Dict[str, str]) -> bool:
        """Nothing is to be shown, or the page was; else tables are wanted."""
        if "p" in options and "q" not in options:
            display(Page(recorder))
        return "p" in options or "q" in options

    @staticmethod
    def _rows(options: Dict[str, str], rows: int = ROWS) -> int:
        if "n" in options and "l" in options:
            raise UsageError("-n and -l mean the same: give one of them")
        letter = "l" if "l" in options else "n"
        text: Any = options.get(letter, str(rows))
        if not isinstance(text, str) or not text.isdigit():
            raise UsageError(f"-{letter} expects a number of rows, not '{text if isinstance(text, str) else ' '.join(text)}'")
        return int(text)

    @classmethod
    def _limits(cls, options: Dict[str, str]) -> List[Any]:
        """What pstats' print_stats takes, as %prun -l has it: rows, a share of them, or a pattern; one after another."""
        if "l" not in options or "n" in options:
            return [cls._rows(options)]
        words: Any = options["l"]
        limits: List[Any] = []
        for word in [words] if isinstance(words, str) else words:
            word = word.strip("'\"")
            try:
                limits.append(int(word) if word.isdigit() else float(word))
            except ValueError:
                limits.append(_pattern(word))
            if isinstance(limits[-1], float) and not 0 <= limits[-1] < 1:
                raise UsageError(f"-l expects rows, a fraction of them below 1, or a pattern, not '{word}'")
        return limits


def _pattern(word: str) -> str:
    try:
        re.compile(word)
    except re.error as error:
        raise UsageError(f"-l {word}: no pattern: {error}") from None
    return word


# ---- cells ----------------------------------------------------------------------------------------------------


def cell_numbers(shell: Any) -> Dict[str, int]:
    """The number of each cell, by the name of the file it was compiled under; in their order."""
    numbers: Dict[str, int] = getattr(shell.compile, "_filename_map", {})
    return numbers


def tell_cells(shell: Any, host: Host) -> None:
    """What the cells are called, and their text: no file has it."""
    for name, number in list(cell_numbers(shell).items())[-CELLS_MOST:]:
        text = "".join(linecache.getlines(name))
        host.tell("source", path=name, text=text, name=f"In [{number}]")


class _CellSampler(Sampler):
    def __init__(self, shell: Any, rate: Optional[str]) -> None:
        super().__init__(rate)
        self._shell = shell

    def _after_stop(self, host: Host) -> None:
        tell_cells(self._shell, host)


class _CellLines(LineCounter):
    def __init__(self, shell: Any, *functions: Any) -> None:
        super().__init__(*functions)
        self._shell = shell

    def _after_stop(self, host: Host) -> None:
        tell_cells(self._shell, host)


class _CellTracer(Tracer):
    def __init__(self, shell: Any) -> None:
        super().__init__()
        self._shell = shell

    def _after_stop(self, host: Host) -> None:
        tell_cells(self._shell, host)


def load(shell: Any) -> None:
    """%load_ext leadline"""
    shell.register_magics(LeadlineMagics)
    shell.set_custom_exc((Error,), _show_error)


def _show_error(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: Any = None) -> None:
    """What the tool could not do is one line, not a traceback through this package."""
    print(f"leadline: {error}")
