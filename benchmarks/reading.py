"""How fast other tools' JSON profiles are read, and in how much memory, beside Python's json.loads.

    python benchmarks/reading.py [MB] [format ...]     200 MB of each by default

MB/s of CPU time, so that others on the machine do not count. Bars: 200 MB/s; while reading at most twice the memory of the tree
that is made of it (tables, places and call paths, as `report` and `view` work with them).
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
FRAMES = [(f"package{i % 40}.module{i % 300}.Class{i}.method_{i}", f"/usr/lib/python3/dist-packages/package{i % 40}/m{i % 300}.py", 10 + i % 900)
          for i in range(5000)]
SAMPLES = 200000  # that a piece is made of; pieces are repeated until the size is reached


def stacks(rng, n):
    """Stacks that go on from the last one, as a program's do, root first."""
    stack = list(range(12))
    for _ in range(n):
        del stack[rng.randint(max(4, len(stack) - 9), len(stack)):]
        while len(stack) < 8 or (len(stack) < 60 and rng.random() < 0.82):
            stack.append((stack[-1] * 7 + rng.randint(1, 3)) % len(FRAMES))
        yield stack


def frames_json():
    return json.dumps([{"name": name, "file": file, "line": line} for name, file, line in FRAMES])


def speedscope(file, size):
    rng = random.Random(1)
    pieces = [",".join(str(s).replace(" ", "") for s in stacks(rng, 20000)) for _ in range(5)]
    file.write('{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":' + frames_json() +
               '},"profiles":[{"type":"sampled","name":"MainThread","unit":"seconds","startValue":0,"endValue":1,"samples":[')
    n = 0
    while file.tell() < size:
        file.write((n and "," or "") + pieces[n % 5])
        n += 1
    file.write('],"weights":[')
    for i in range(n):
        file.write((i and "," or "") + ",".join(f"0.0{rng.randint(100000, 999999)}" for _ in range(20000)))
    file.write("]}]}")


def events(rng, n):
    """(opens, frame, ns) as calls come and go."""
    open_now, at = [], 0
    for stack in stacks(rng, n):
        same = 0
        while same < min(len(open_now), len(stack)) and open_now[same] == stack[same]:
            same += 1
        for frame in reversed(open_now[same:]):
            at += rng.randint(100, 9000)
            yield False, frame, at
        for frame in stack[same:]:
            at += rng.randint(100, 9000)
            yield True, frame, at
        open_now = list(stack)
    for frame in reversed(open_now):
        yield False, frame, at + 1


def evented(file, size):
    rng = random.Random(2)
    piece = list(events(rng, 20000))
    length = piece[-1][2]
    file.write('{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":' + frames_json() +
               '},"profiles":[{"type":"evented","name":"MainThread","unit":"nanoseconds","startValue":0,"endValue":1,"events":[')
    n = 0
    while file.tell() < size:
        file.write((n and "," or "") + ",".join(f'{{"type":"{"O" if o else "C"}","frame":{f},"at":{at + n * length}}}' for o, f, at in piece))
        n += 1
    file.write("]}]}")


def chrome(file, size):
    rng = random.Random(3)
    piece = list(events(rng, 20000))
    length, spans, begun = piece[-1][2], [], []
    for is_open, frame, at in piece:
        if is_open:
            begun.append(at)
        else:
            spans.append((begun.pop(), at, frame))
    file.write('{"schemaVersion":1,"traceEvents":[')
    n = 0
    while file.tell() < size:
        file.write((n and ",\n" or "") + ",\n".join(
            f'{{"ph":"X","cat":"python_function","name":"{FRAMES[f][0]}","pid":4711,"tid":4711,"ts":{(a + n * length) / 1e3:.3f},'
            f'"dur":{(b - a) / 1e3:.3f},"args":{{"Python id":{f},"Ev Idx":{a % 999}}}}}' for a, b, f in spans))
        n += 1
    file.write("]}")


def firefox(file, size):
    rng = random.Random(4)
    table, columns, samples = {}, ([], []), []
    for stack in stacks(rng, SAMPLES):
        at = None
        for frame in stack:
            key = (at, frame)
            if key not in table:
                table[key] = len(columns[0])
                columns[0].append(frame)
                columns[1].append(at)
            at = table[key]
        samples.append(at)
    n = len(FRAMES)
    strings = [f[0] for f in FRAMES] + [f[1] for f in FRAMES]
    tables = {"stackTable": {"frame": columns[0], "prefix": columns[1], "length": len(columns[0])},
              "frameTable": {"func": list(range(n)), "line": [f[2] for f in FRAMES], "length": n},
              "funcTable": {"name": list(range(n)), "fileName": list(range(n, 2 * n)), "lineNumber": [1] * n, "length": n},
              "stringArray": strings}
    file.write('{"meta":{"preprocessedProfileVersion":57,"processType":0,"interval":1},"threads":[{"name":"MainThread","pid":"1","tid":1,' +
               json.dumps(tables, separators=(",", ":"))[1:-1] + ',"samples":{"stack":[')
    stack_piece, pieces = ",".join(map(str, samples)), 0
    per_piece = len(stack_piece) + 18 * len(samples)
    pieces = max(1, (size - file.tell()) // per_piece)
    file.write(",".join([stack_piece] * pieces) + '],"time":[')
    for i in range(pieces):
        file.write((i and "," or "") + ",".join(f"{(i * len(samples) + k) * 1.0013:.4f}" for k in range(len(samples))))
    file.write('],"weight":[')
    for i in range(pieces):
        file.write((i and "," or "") + ",".join(["1.0013"] * len(samples)))
    file.write('],"weightType":"tracing-ms","length":%d}}]}' % (pieces * len(samples)))


FORMATS = {"speedscope": speedscope, "speedscope-evented": evented, "chrome": chrome, "firefox": firefox}


def main():
    size = int(sys.argv[1]) * 10**6 if len(sys.argv) > 1 else 200 * 10**6
    for name in sys.argv[2:] or FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            with path.open("w") as file:
                FORMATS[name](file, size)
            mb = path.stat().st_size / 1e6
            out = subprocess.run([BUILD / "benchmarks" / "read_bench", path], capture_output=True, text=True, check=True).stdout.split()
            seconds, (peak, recording, rows, tree) = float(out[0]), map(int, out[1:])
            line = (f"{name}: {mb:.0f} MB at {mb / seconds:.0f} MB/s of CPU ({seconds:.2f} s); peak {peak / 1e6:.0f} MB, "
                    f"{peak / tree:.2f} times the tree ({tree / 1e6:.0f} MB); the recording {recording / 1e6:.0f} MB with {rows} stacks")
            if mb <= 250:
                begun = time.process_time()
                with path.open() as file:
                    json.load(file)
                line += f"; json.loads {mb / (time.process_time() - begun):.0f} MB/s"
            print(line, flush=True)


if __name__ == "__main__":
    main()
