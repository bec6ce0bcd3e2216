"""The tables of docs/JSON.md and docs/PAGE-API.md as a schema, and values held against it.

A table with the columns key, type, unit and meaning lists the keys of the result its heading names; "…" in place of keys stands for
all keys of another result. `Checker.check` yields what a value has that is not listed; `Checker.unseen` what is listed and never came.
"""
import pathlib
import re
from typing import Any, Dict, Iterator, List, NamedTuple, Set, Tuple

PAGES = ("docs/JSON.md", "docs/PAGE-API.md")
HEAD = "| key | type | unit | meaning |"
PLAIN = {"text": (str,), "number": (int, float), "flag": (bool,), "anything": (object,)}


class Key(NamedTuple):
    kind: str
    unit: str
    meaning: str


class Result(NamedTuple):
    keys: Dict[str, Key]
    parts: List[str]  # results whose keys stand here, too


Schema = Dict[str, Result]


def plain(text: str) -> str:
    """A type without its links."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).strip()


def read(root: pathlib.Path) -> Tuple[Schema, List[str]]:
    """All results of both pages, and what is wrong with the tables themselves."""
    schema: Schema = {}
    wrong: List[str] = []
    for page in PAGES:
        heading = ""
        inside = False
        if not (root / page).exists():
            wrong.append(f"{page}: is missing")
            continue
        for line in (root / page).read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                heading = line.lstrip("#").strip().replace("`", "")
            inside = line.startswith("|") and (inside or line == HEAD)
            if line == HEAD and heading in schema:
                wrong.append(f"{page}: {heading}: is listed twice")
            if line == HEAD:
                schema[heading] = Result({}, [])
            if inside and line != HEAD and not line.startswith("|---"):
                wrong += [f"{page}: {heading}: {text}" for text in take(schema[heading], line)]
    wrong += [f"docs/JSON.md: {name}: there is no result '{other}'" for name, result in schema.items()
              for other in [*result.parts, *(core(key.kind) for key in result.keys.values())]
              if other not in schema and other not in PLAIN]
    return schema, wrong


def take(result: Result, line: str) -> Iterator[str]:
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if len(cells) != 4:
        yield f"{line}: is not of four columns"
        return
    names, kind, unit, meaning = cells
    if names == "…":
        result.parts.append(plain(kind))
        return
    for name in re.findall(r"`([^`]+)`", names):
        if name in result.keys:
            yield f"{name} is listed twice"
        if not meaning:
            yield f"{name} has no meaning"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            yield f"{name} is not snake_case"
        result.keys[name] = Key(plain(kind), unit, meaning)


def core(kind: str) -> str:
    """What a list or a map is of."""
    return re.sub(r"^((list|map) of )+", "", kind)


class Checker:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.seen: Set[Tuple[str, str]] = set()

    def find(self, name: str, key: str) -> Tuple[str, Key]:
        """Where a key of a result is listed."""
        result = self.schema[name]
        if key in result.keys:
            return name, result.keys[key]
        for part in result.parts:
            try:
                return self.find(part, key)
            except KeyError:
                continue
        raise KeyError(key)

    def check(self, name: str, value: Any) -> Iterator[str]:
        """What an object has that the tables do not say of that result."""
        if not isinstance(value, dict):
            yield f"{name}: is no object but {value!r:.60}"
            return
        for key, item in value.items():
            try:
                place, listed = self.find(name, key)
            except KeyError:
                yield f"{name}: {key} is not listed"
                continue
            self.seen.add((place, key))
            for text in self.check_kind(listed.kind, item):
                yield text if ": " in text else f"{name}: {key}: {text}"

    def check_kind(self, kind: str, value: Any) -> Iterator[str]:
        if value is None:
            return
        if kind.startswith("list of "):
            for item in value if isinstance(value, list) else ():
                yield from self.check_kind(kind[len("list of "):], item)
            if not isinstance(value, list):
                yield f"is no list but {value!r:.60}"
        elif kind.startswith("map of "):
            for item in value.values() if isinstance(value, dict) else ():
                yield from self.check_kind(kind[len("map of "):], item)
            if not isinstance(value, dict):
                yield f"is no map but {value!r:.60}"
        elif kind not in PLAIN:
            yield from self.check(kind, value)
        elif not isinstance(value, PLAIN[kind]) or (isinstance(value, bool) and kind == "number"):
            yield f"is no {kind} but {value!r:.60}"

    def unseen(self) -> List[str]:
        return [f"{name}: {key} never occurs" for name, result in self.schema.items() for key in result.keys if (name, key) not in self.seen]
