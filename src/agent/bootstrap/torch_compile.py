"""What torch.compile did and why, as torch itself keeps it: run by sitecustomize before torch.py or torch_full.py, in the same globals.

Only read: when the program ends, and nothing of it where torch keeps none.
"""

import sys

_TEXT, _ROWS, _BYTES = 300, 64, 40000  # most characters of a text, rows of a kind, bytes of all


def _short(text):
    return str(text)[:_TEXT] if text is not None else None


def _compilations(utils):
    """The last of them, each with why the code there was could not be used."""
    rows = []
    for m in list(utils.get_compilation_metrics())[-_ROWS:]:
        row = {"id": m.compile_id, "function": m.co_name, "file": m.co_filename, "line": m.co_firstlineno,
               "reason": getattr(m, "recompile_reason", None), "failed": m.fail_reason}
        rows.append({key: value if isinstance(value, int) else _short(value) for key, value in row.items() if value is not None})
    return rows


def _breaks(utils):
    """Where graphs broke; times: how often one was compiled up to there."""
    rows = {}
    for reason in list(utils.graph_break_reasons)[:10000]:
        at = reason.user_stack[-1] if reason.user_stack else None
        where = (at.filename, at.lineno, at.name) if at else (None, None, None)
        key = (_short(reason.reason),) + where
        rows[key] = rows.get(key, 0) + 1
    names = "reason", "file", "line", "function"
    return [dict({k: v for k, v in zip(names, key) if v is not None}, times=n) for key, n in list(rows.items())[:_ROWS]]


def _explanations(utils):
    """What it could not compile, in the compiler's own words: the first line, and the one that explains it."""
    rows = []
    for kind in ("graph_break", "unimplemented"):
        for text, n in list(utils.counters.get(kind, {}).items())[:_ROWS]:
            lines = str(text).strip().splitlines() or [""]
            more = [line.partition("Explanation:")[2].strip() for line in lines if "Explanation:" in line]
            rows.append({"reason": _short(": ".join(lines[:1] + more[:1])), "times": n})
    return rows


def _compiled():
    """As JSON; None: nothing was compiled, or this torch keeps nothing of it."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return None
    import json

    told = {}
    for key, read in (("compilations", _compilations), ("breaks", _breaks), ("explained", _explanations)):
        try:
            told[key] = read(utils)
        except Exception:
            told[key] = []
    while any(told.values()) and len(json.dumps(told)) > _BYTES:
        max(told.values(), key=len).pop(0)
    return json.dumps(told) if any(told.values()) else None
