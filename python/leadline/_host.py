"""The tool process behind the API: `leadline host`, started on first use and gone when this process is.

docs/HOST.md tells what is said between the two. One Host serves one recorder. A forked child does not share it:
what it asks raises Error, and nothing it does disturbs its parent.
"""

import json
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    import socket

ANSWER_SECONDS = 60.0
START_SECONDS = 20.0
PR_SET_PTRACER = 0x59616D61


class Error(RuntimeError):
    """What the tool could not do, in its words; status as the command line would have ended with."""

    def __init__(self, text: str, status: int = 7) -> None:
        super().__init__(text)
        self.status = status


class Host:
    """A connection. Every method may be called from any thread; requests wait for each other."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._unread = b""
        self._socket: "Optional[socket.socket]" = _start()
        self._socket.settimeout(START_SECONDS)
        hello = json.loads(self._answer())
        self.pid: int = hello["pid"]
        self._socket.settimeout(ANSWER_SECONDS)
        _allow_reading_by(self.pid)

    def request(self, what: str, **values: Any) -> bytes:
        """Asks and waits for the answer. Raises Error."""
        with self._lock:
            self._send(what, values)
            return self._answer()

    def tell(self, what: str, **values: Any) -> None:
        """Says something that has no answer."""
        with self._lock:
            self._send(what, values)

    def ask(self, *argv: str) -> bytes:
        """What a command prints; the word @ stands for the recording."""
        return self.request("ask", argv=list(argv))

    def is_mine(self) -> bool:
        """False in a forked child, and after the end."""
        return self._socket is not None and self._pid == os.getpid()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; without waiting, so that a program's end never depends on it."""
        open_socket, self._socket = getattr(self, "_socket", None), None
        if open_socket is not None:
            open_socket.close()

    def _send(self, what: str, values: Dict[str, Any]) -> None:
        if self._socket is None or not self.is_mine():
            raise Error("this recorder belongs to another process" if self._socket else "this recorder is closed")
        request = {"do": what, **{key: value for key, value in values.items() if value is not None}}
        try:
            self._socket.sendall(json.dumps(request).encode("utf-8", "surrogateescape") + b"\n")
        except OSError as error:
            raise self._lost(error) from error

    def _answer(self) -> bytes:
        head = self._read_head()
        words = head.split()
        try:
            status = int(words[1]) if words[0] == "error" else 0
            payload = self._read(int(words[-1]))
        except (IndexError, ValueError):
            raise self._lost(ValueError(f"it said {head!r}")) from None
        if status:
            raise Error(words_of(payload.decode("utf-8", "replace")), status)
        return payload

    def _read_head(self) -> str:
        while b"\n" not in self._unread:
            self._unread += self._receive()
        head, _, self._unread = self._unread.partition(b"\n")
        return head.decode("ascii", "replace")

    def _read(self, size: int) -> bytes:
        parts: List[bytes] = [self._unread]
        have = len(self._unread)
        while have < size:
            parts.append(self._receive())
            have += len(parts[-1])
        everything = b"".join(parts)
        self._unread = everything[size:]
        return everything[:size]

    def _receive(self) -> bytes:
        assert self._socket is not None
        try:
            got = self._socket.recv(1 << 16)
        except OSError as error:
            raise self._lost(error) from error
        if not got:
            raise self._lost(EOFError("it has ended"))
        return got

    def _lost(self, why: Exception) -> Error:
        """After half an answer nothing can be believed any more."""
        self.close()
        return Error(f"the leadline process does not answer: {why}")


def words_of(text: str) -> str:
    """A command's own words, without its name and its advice, which are for people at a terminal."""
    import re

    line = text.split("\n", 1)[0]
    return re.sub(r"^leadline: |/proc/self/fd/\d+: ", "", line)


def _start() -> "socket.socket":
    """Our end of the socket; the tool has the other, and forks itself off: we get no child."""
    import socket  # all of these here: a program that records nothing need not pay for them
    import subprocess

    from leadline._binary import find_binary

    ours, theirs = socket.socketpair()
    binary = find_binary()
    quiet = None if os.environ.get("LEADLINE_LOG") else subprocess.DEVNULL
    try:
        started = subprocess.Popen([binary, "host"], stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=quiet)
        started.wait(START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        ours.close()
        raise Error(f"cannot start {binary}: {error}", 126) from error
    finally:
        theirs.close()
    return ours


def _allow_reading_by(pid: int) -> None:
    """Where the kernel lets only parents read a process (Yama), names the one other that may."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            is_restricted = file.read().strip() == "1"
    except OSError:
        return
    if not is_restricted or os.geteuid() == 0:
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)
    except (ImportError, OSError):
        pass  # then the tool says that it may not
