"""A program that `leadline run` started: its regions go into that recording.

The run's tool has put a file into the directory LEADLINE_SESSION names. A line of it is a region; each is one write, so nothing
is lost when the process is killed, and processes need not agree.
"""

import os
import zlib

from leadline import _region

CHECK_EVERY = 1024  # lines, between two looks whether anybody still reads
NAME_CHARS_MOST = 500  # as wire/name.h has it
_ONE_LINE = {0: "\u2400", 10: "\\n", 13: "\\r"}


class _Writer:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._pid = 0
        self._process = ""
        self._left = CHECK_EVERY

    def __call__(self, begin_ns: int, duration_ns: int, thread: int, name: str) -> None:
        if self._pid != os.getpid():  # also in a forked child
            self._pid = os.getpid()
            self._process = f"{self._pid} {_start_ns()}"
        self._left -= 1
        if self._left <= 0:
            self._left = CHECK_EVERY
            if not os.fstat(self._fd).st_nlink:  # the recording has ended
                _region.remove_sink(self)
                return
        line = f"{self._process} {thread} {begin_ns} {duration_ns} {_told(name)}\n"
        try:
            os.write(self._fd, line.encode("utf-8", "replace"))
        except OSError:
            _region.remove_sink(self)


def _told(name: str) -> str:
    """The name in one line, and cut as FORMAT.md says where it is longer than names are: two that begin alike stay two."""
    if len(name) > NAME_CHARS_MOST:
        name = f"{name[:NAME_CHARS_MOST - 9]}…{zlib.crc32(name.encode('utf-8', 'replace')):08x}"
    return name.translate(_ONE_LINE)


def _start_ns() -> int:
    """When this process began, after boot."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
    return ticks * 10**9 // os.sysconf("SC_CLK_TCK")


def join() -> None:
    """Tells the run of regions from now on, where there is one."""
    folder = os.environ.get("LEADLINE_SESSION")
    if not folder:
        return
    try:
        fd = os.open(folder + "/regions", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return
    _region.add_sink(_Writer(fd))
