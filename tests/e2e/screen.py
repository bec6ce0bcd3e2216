"""A terminal for tests: leadline in a pseudo terminal, its bytes kept as a screen of text.

Understands what leadline sends (cursor position, clearing, the other screen) and fails on what it does not, so
that no other sequence slips in. Waiting is waiting for bytes, never for time.
"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")
PATIENCE_S = 60  # after so long without what is waited for, a test fails


class Screen:
    """The cells of one screen, and where the cursor is."""

    def __init__(self, rows, columns):
        self.size = rows, columns
        self.clear()

    def clear(self):
        self.cells = [[" "] * self.size[1] for _ in range(self.size[0])]
        self.row = self.column = 0

    def put(self, char):
        if char == "\n":
            self.row += 1
            if self.row >= self.size[0]:
                self.cells = self.cells[1:] + [[" "] * self.size[1]]
                self.row = self.size[0] - 1
        elif char == "\r":
            self.column = 0
        elif unicodedata.combining(char):
            self.cells[self.row][self.column - 1] += char
        else:
            assert char.isprintable(), f"unprintable {char!r} on the screen"
            if self.column < self.size[1]:
                self.cells[self.row][self.column] = char
            self.column += 2 if unicodedata.east_asian_width(char) in "WF" else 1

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Terminal:
    """leadline in a pseudo terminal of its own."""

    def __init__(self, command, rows=24, columns=80, env=None, cwd=None):
        self.master, slave = pty.openpty()
        self.normal, self.other = Screen(rows, columns), Screen(rows, columns)
        self.in_other = False
        self.raw = b""  # all bytes so far
        self.pending = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")  # a read may end within a character
        self.set_size(rows, columns, tell=False)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", **(env or {})},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def set_size(self, rows, columns, tell=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:  # what is shown of the old size is void, as in a real terminal
            self.other = Screen(rows, columns)

    def keys(self, text):
        os.write(self.master, text.encode())

    def text(self):
        return (self.other if self.in_other else self.normal).text()

    def take(self, data):
        self.raw += data
        self.pending += self.decoder.decode(data)
        while self.pending:
            screen = self.other if self.in_other else self.normal
            if self.pending[0] != "\x1b":
                screen.put(self.pending[0])
                self.pending = self.pending[1:]
                continue
            m = SEQUENCE.match(self.pending)
            if not m:
                assert len(self.pending) < 12, f"unknown sequence {self.pending[:12]!r}"
                return
            self.pending = self.pending[m.end():]
            self.obey(screen, *m.groups())

    def obey(self, screen, private, numbers, final):
        values = [int(n or 0) for n in numbers.split(";")]
        if private and values == [1049]:
            self.in_other = final == "h"
            self.other.clear()
        elif final == "H":
            screen.row = (values[0] or 1) - 1
            screen.column = (values[1] if len(values) > 1 else 1) - 1
        elif final == "J":
            screen.cells = [[" "] * screen.size[1] for _ in range(screen.size[0])]
        elif final == "K":
            screen.cells[screen.row][screen.column:] = [" "] * (screen.size[1] - screen.column)
        elif final == "C":
            screen.column += values[0] or 1
        else:
            assert final == "m" or (private and values == [25]), f"unexpected {numbers}{final}"

    def wait(self, condition, what):
        """Takes in what leadline writes until the condition of the screen's text holds; returns the text."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition(self.text()):
            left = deadline - time.monotonic()
            ready = select.select([self.master], [], [], max(0, left))[0]
            assert ready, f"{what} did not come; the screen:\n{self.text()}"
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            assert data, f"{what} did not come before the end; the screen:\n{self.text()}"
            self.take(data)
        return self.text()

    def wait_for(self, *parts):
        return self.wait(lambda text: all(p in text for p in parts), parts)

    def wait_gone(self, part):
        return self.wait(lambda text: part not in text, f"the end of {part!r}")

    def wait_exit(self):
        """Until leadline has ended, reading all it writes; returns its status."""
        self.process.send_signal(0)
        while self.process.poll() is None:
            if select.select([self.master], [], [], 0.05)[0]:
                self.take(os.read(self.master, 65536))
        while select.select([self.master], [], [], 0)[0]:
            self.take(os.read(self.master, 65536))
        return self.process.returncode

    def is_restored(self):
        """Whether the terminal is as it was: its modes, its screen, its cursor."""
        same = termios.tcgetattr(self.slave) == self.before
        return same and not self.in_other and self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l")


def kill(process, number=signal.SIGKILL):
    os.kill(process.pid, number)
