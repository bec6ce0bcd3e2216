"""How quickly `leadline view` answers on a large recording: ready, then slices of its trees and its timeline; how its page
does in Chromium; and how speedscope does with the same samples, where it can open them.

    python benchmarks/view.py [samples] [stacks]       4000000 2000000: some ten million nodes; 400000 200000: one million
    python benchmarks/view.py 10000000 3000            ten million spans in the timeline

Times of the server are its CPU time (its schedstat), so that others on the machine do not count, and what a client waits; those
of the page want a quiet machine. Bars: slices 20 ms, 1 MB; first paint 1 s (one million nodes), 2 s (ten); frames 16 ms, with a
round trip 60 ms; 150 MB of heap; 100 bytes of the server's memory a node.
"""
import http.client
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SPEEDSCOPE_BYTES = 500 * 10**6  # a text of more than 2^29 characters no V8 takes
ASKED = ["overview", "tree?width=1400", "timeline?px=1400", "tree?direction=time&width=1400", "table?limit=200",
         "tree?direction=inverted&width=1400"]


class Server:
    def __init__(self, path):
        self.process = subprocess.Popen([BUILD / "leadline", "view", "--no-browser", path], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        url = urllib.parse.urlsplit(self.url)
        self.headers = {"X-Leadline-Token": urllib.parse.parse_qs(url.fragment)["token"][0], "Accept-Encoding": "gzip"}
        self.connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=600)

    def cpu_ms(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e6

    def ask(self, path, **headers):
        """CPU time and time waited in ms, and the answer's bytes."""
        cpu, begun = self.cpu_ms(), time.perf_counter()
        self.connection.request("GET", f"/api/{path}", headers={**self.headers, **headers})
        body = self.connection.getresponse().read()
        return self.cpu_ms() - cpu, (time.perf_counter() - begun) * 1e3, body


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def in_browser(script, *args):
    """What a script of ours says of a page, or None where there is no Chromium."""
    if not (ROOT / "ui" / "node_modules" / "playwright-core").exists() or not shutil.which("chromium"):
        return None
    done = subprocess.run(["node", script, *map(str, args)], capture_output=True, text=True, timeout=600)
    return json.loads(done.stdout) if done.stdout else {"failed": done.stderr.strip().splitlines()[-1:]}


def show_page(server, nodes):
    page = in_browser(ROOT / "benchmarks" / "view_page.mjs", server.url, ",".join(map(str, nodes)))
    if not page or "failed" in page:
        print(f"page: {page or 'no Chromium'}")
        return
    trip, worked = (page["trip_ms"], page["trip_cpu_ms"]) if page["trip_ms"] else ([float("nan")] * 2,) * 2
    print(f"page: first paint {page['first_paint_ms']:.0f} ms, flame graph {page['picture_ms']:.0f} ms; a frame p50 {page['frame_ms'][0]:.1f}, "
          f"p95 {page['frame_ms'][1]:.1f} ms of CPU; with a round trip p50 {trip[0]:.0f}, p95 {trip[1]:.0f} ms, of it p50 {worked[0]:.1f}, "
          f"p95 {worked[1]:.1f} ms of CPU; heap {page['heap_mb']:.0f} MB")


def show_speedscope(path, folder):
    cache = subprocess.run([ROOT / "tools" / "setup", "--cache"], capture_output=True, text=True, check=True).stdout.strip()
    app, file = pathlib.Path(cache) / "consumers" / "speedscope", pathlib.Path(folder) / "x.speedscope.json"
    subprocess.run([BUILD / "leadline", "export", path, "-f", "speedscope", "-o", file], check=True)
    size = file.stat().st_size
    shown = None
    if app.exists() and size < SPEEDSCOPE_BYTES:
        shown = in_browser(ROOT / "tests" / "e2e" / "speedscope.mjs", app, file, 300)
    said = (f"{shown['ms'] / 1e3:.1f} s, heap {shown['heap_mb']:.0f} MB" if shown and "ms" in shown
            else shown["failed"] if shown else "not tried" if size < SPEEDSCOPE_BYTES else "more than a text of V8's may hold")
    print(f"speedscope with the same samples ({size / 1e6:.0f} MB): {said}")


def main():
    samples, stacks = sys.argv[1:] or ("4000000", "2000000")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/big.lead"
        subprocess.run([BUILD / "benchmarks" / "long_recording", path, samples, stacks], check=True)
        server = Server(path)
        ready = int(pathlib.Path(f"/proc/{server.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
        print(f"{pathlib.Path(path).stat().st_size / 1e6:.0f} MB; ready after {server.cpu_ms() / 1e3:.1f} s of CPU")
        for asked in ASKED:
            first, again = server.ask(asked), server.ask(asked)
            print(f"{asked}: first {first[0]:.1f} ms, then {again[0]:.1f} ms of CPU ({again[1]:.1f} ms waited), "
                  f"{len(again[2]) / 1e3:.0f} KB")
        tree = json.loads(server.ask("tree?width=1400", **{"Accept-Encoding": "identity"})[2])
        nodes = tree["boxes"]["id"][:: max(1, len(tree["boxes"]["id"]) // 200)]
        slices = [server.ask(f"tree?width=1400&node={node}") for node in nodes]
        print(f"{tree['n_nodes']} nodes; {len(slices)} slices: p50 {percentile([s[0] for s in slices], 0.5):.1f}, "
              f"p95 {percentile([s[0] for s in slices], 0.95):.1f}, most {max(s[0] for s in slices):.1f} ms of CPU; "
              f"largest {max(len(s[2]) for s in slices) / 1e3:.0f} KB")
        peak = int(pathlib.Path(f"/proc/{server.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
        print(f"peak memory {peak / 1e9:.2f} GB, of it {ready / max(1, tree['n_nodes']):.0f} B a node when ready")
        show_page(server, nodes[1:: len(nodes) // 20 + 1])
        server.process.terminate()
        server.process.wait()
        show_speedscope(path, folder)


if __name__ == "__main__":
    main()
