"""Recorders: what the sampler and the tracer share, and the sampler."""

import json
import os
import sys
from typing import IO, Any, Dict, List, Optional, Tuple, TypeVar, Union

from leadline import _region
from leadline._host import Error, Host

Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="Recorder")

REGIONS_AT_ONCE = 512
INLINE_SIZE = "1MB"  # of a page inside a notebook, which is saved with it
INLINE_HEIGHT = 640  # pixels


def framed(page: str) -> str:
    """A page inside another: its scripts run, and reach nothing of what is around it."""
    escaped = page.replace("&", "&amp;").replace('"', "&quot;")
    return (f'<iframe srcdoc="{escaped}" sandbox="allow-scripts" title="leadline" '
            f'style="width: 100%; height: {INLINE_HEIGHT}px; border: 1px solid #8884; border-radius: 6px"></iframe>')


class Recorder:
    """A recording of this process, made by a tool process beside it.

    It begins with start() or `with`, and ends with stop(). Then it can be shown and saved as often as one likes.
    """

    _host: Optional[Host] = None  # of the class: __del__ may come before __init__ was done

    def __init__(self) -> None:
        self._is_on = False
        self._regions: List[Tuple[int, int, int, str]] = []

    def start(self) -> None:
        """Begins a new recording; a former one of this object is forgotten."""
        raise NotImplementedError

    def stop(self) -> None:
        """Ends the recording. Does nothing when none is in progress."""
        if not self._is_on:
            return
        self._is_on = False
        _region.remove_sink(self._on_region)
        host = self._connection()
        host.request("stop")
        self._send_regions(host)
        self._after_stop(host)

    def save(self, path: Path) -> None:
        """Ends the recording and writes it to a file, for `leadline report` and the others; replaces it."""
        self.stop()
        self._connection().request("save", path=os.path.abspath(os.fspath(path)))

    def report(self, *options: str) -> str:
        """Ends the recording; what `leadline report` prints with these options."""
        self.stop()
        return self._connection().ask("report", "--color=never", *options, "@").decode("utf-8")

    def json(self) -> Dict[str, Any]:
        """Ends the recording; `leadline report --json` of it."""
        self.stop()
        document: Dict[str, Any] = json.loads(self._connection().ask("report", "--json", "@"))
        return document

    def html(self, max_size: str = "5MB") -> str:
        """Ends the recording; the page of `leadline view` as one file of HTML that needs no server, pruned to max_size."""
        self.stop()
        return self._connection().ask("view", "-o", "-", "--max-size", max_size, "@").decode("utf-8")

    def _repr_html_(self) -> Optional[str]:
        """In a notebook: the page. While it records, or before, there is none, and looking must not end it."""
        return None if self._is_on or self._host is None else framed(self.html(INLINE_SIZE))

    def __enter__(self: Self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _after_stop(self, host: Host) -> None:
        """For recorders that have more to tell."""

    def _connection(self) -> Host:
        if self._host is None:
            raise Error("nothing was recorded yet: call start(), or use it with 'with'")
        return self._host

    def _begin(self, **request: Any) -> Any:
        if self._is_on:
            raise Error("this recorder is already recording")
        if self._host is None:
            self._host = Host()
        answer = json.loads(self._host.request("record", **request))
        self._is_on = True
        _region.add_sink(self._on_region)
        return answer

    def _on_region(self, *region: Any) -> None:
        self._regions.append(region)
        if len(self._regions) >= REGIONS_AT_ONCE and self._host is not None:
            self._send_regions(self._host)

    def _send_regions(self, host: Host) -> None:
        told, self._regions = self._regions, []
        if told and host.is_mine():
            host.tell("regions", regions=told)


class Sampler(Recorder):
    """Looks at all threads of this process from outside, `rate` times a second, without stopping it.

    rate: samples per second, or "max". output: a file that grows while it records, and so outlives a crash.
    children: processes that this one starts are recorded, too.
    """

    def __init__(self, rate: Union[int, str, None] = None, *, output: Optional[Path] = None,
                 children: bool = False) -> None:
        super().__init__()
        self._request = {"rate": None if rate is None else str(rate), "children": children,
                         "path": None if output is None else os.path.abspath(os.fspath(output))}

    def start(self) -> None:
        self._begin(**self._request)

    def print_stats(self, sort: str = "self", limit: int = 10, file: Optional[IO[str]] = None) -> None:
        """Ends the recording; prints functions and lines, on standard output if nothing else is said."""
        text = self.report("--sort", sort, "--limit", str(limit))
        print(text, end="", file=sys.stdout if file is None else file)


def sample(rate: Union[int, str, None] = None, *, output: Optional[Path] = None, children: bool = False) -> Sampler:
    """A sampler for `with`: `with leadline.sample() as s: …`, then `s.print_stats()`, `s.save("x.lead")`."""
    return Sampler(rate, output=output, children=children)
