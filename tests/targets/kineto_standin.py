"""Stands in for a job of PyTorch started with KINETO_USE_DAEMON, and for a dynolog that answers it: both by their protocols.

    kineto_standin.py job FOLDER ROLE...       starts a program of each role and prints "ready"; ends with its standard input
    kineto_standin.py dynolog FOLDER ROLE...   the same, and answers them itself; questions it gets lie in FOLDER/questions

Roles: plain; late (hears each answer when it next asks); idle (makes no steps, so its traces are of half a second); silent (never asks)."""

import fcntl
import json
import mmap
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid

HEADER = struct.Struct("=Q32s")


def address(name):
    """Abstract names have a NUL before and one behind; so has the length of a file's."""
    folder = os.environ.get("KINETO_IPC_SOCKET_DIR")
    return f"{folder}/{name}" if folder else f"\0{name}\0"


def datagrams(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(address(name))
    return s


# ---- a program

def ancestors():
    pids = [os.getpid()]
    while pids[-1] > 1:
        pids.append(int(pathlib.Path(f"/proc/{pids[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
    return [pid for pid in pids if pid > 0]


def span(name, ts, dur, number):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": os.getpid(), "tid": os.getpid(), "ts": ts, "dur": dur, "args": {"External id": number}}


def trace(config, role):
    """What it did as long as it was asked to; written under another name first."""
    time.sleep(max(0, int(config.get("PROFILE_START_TIME", "0")) / 1000 - time.time()))
    events = [span("aten::add", 100 * i, 50, i + 1) for i in range(4)]
    if role != "idle":
        events += [span("Optimizer.step#SGD.step", 1000 + 100 * i, 50, 10 + i) for i in range(int(config.get("ACTIVITIES_ITERATIONS", "0")))]
    path = config["ACTIVITIES_LOG_FILE"].replace(".pt.trace.json", f"_{os.getpid()}.pt.trace.json")
    pathlib.Path(path + ".tmp").write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events}))
    os.rename(path + ".tmp", path)


def program(folder, role):
    with open(f"{folder}/libtorch_cpu.so", "rb") as file:
        library = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
    if role == "silent":
        print("asked", flush=True)
        sys.stdin.read()
    s, pids, is_first, n_asked = datagrams("dynoconfigclient" + str(uuid.uuid4())), ancestors(), True, 0
    payload = struct.pack(f"=iiq{len(pids)}i", 2, len(pids), int(os.environ.get("SLURM_JOB_ID", "0")), *pids)
    while True:
        try:
            s.sendto(HEADER.pack(len(payload), b"req") + payload, address("dynolog"))
            is_heard = True
        except (ConnectionRefusedError, FileNotFoundError):
            is_heard = False
        text = "" if not is_heard or (role == "late" and is_first) else s.recv(65536)[HEADER.size:].decode()
        if n_asked == 0:  # and with a dynolog there, it knows us
            print("asked", flush=True)
        if text.strip():
            trace(dict(line.split("=", 1) for line in text.splitlines() if line), role)
            assert library[0]
        is_first, n_asked = is_first and not is_heard, n_asked + 1
        time.sleep(0.1)


# ---- a dynolog

class Dynolog:
    def __init__(self, folder):
        self.questions, self.known, self.fabric = pathlib.Path(folder, "questions"), {}, datagrams("dynolog")
        with socket.socket() as s:  # an interface of a network of one's own is down
            fcntl.ioctl(s, 0x8914, struct.pack("16sh22x", b"lo", 1))
        self.door = socket.create_server(("::", 1778), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=self.answer_programs, daemon=True).start()
        threading.Thread(target=self.answer_questions, daemon=True).start()

    def answer_programs(self):
        while True:
            data, sender = self.fabric.recvfrom(65536)
            kind, n, job = struct.unpack_from("=iiq", data, HEADER.size)
            pids = struct.unpack_from(f"={n}i", data, HEADER.size + 16)
            process = self.known.setdefault((job, frozenset(pids)), {"pid": pids[0], "config": ""})
            text, process["config"] = (process["config"], "") if kind & 2 else ("", process["config"])
            self.fabric.sendto(HEADER.pack(len(text), b"req") + text.encode(), sender)

    def matched(self, question):
        told, matched = [], []
        for (job, pids), process in self.known.items():
            if job == question["job_id"] and (not question["pids"] or pids & set(question["pids"])):
                matched.append(process["pid"])
                if not process["config"] and len(told) < question["process_limit"]:
                    process["config"] = question["config"] + "\n"
                    told.append(process["pid"])
        return {"processesMatched": matched, "eventProfilersTriggered": [], "activityProfilersTriggered": told,
                "eventProfilersBusy": 0, "activityProfilersBusy": len(matched) - len(told)}

    def answer_questions(self):
        while True:
            with self.door.accept()[0] as s, s.makefile("rwb") as file:
                text = file.read(struct.unpack("=i", file.read(4))[0]).decode()
                with self.questions.open("a") as out:
                    out.write(text + "\n")
                answer = json.dumps(self.matched(json.loads(text))).encode()
                file.write(struct.pack("=i", len(answer)) + answer)


def main(what, folder, *roles):
    if what == "program":
        return program(folder, *roles)
    pathlib.Path(folder, "libtorch_cpu.so").write_bytes(b"x" * 4096)
    if what == "dynolog":
        Dynolog(folder)
    programs = [subprocess.Popen([sys.executable, __file__, "program", folder, role], env={**os.environ, "RANK": str(rank)},
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for rank, role in enumerate(roles)]
    for p in programs:
        assert p.stdout.readline() == "asked\n"
    print("ready", *(p.pid for p in programs), flush=True)
    sys.stdin.read()
    for p in programs:
        p.kill()
        p.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
