"""How quickly `leadline view` answers on a large recording: ready, then slices of its trees and its timeline.

    python benchmarks/view.py [samples] [stacks]       4000000 2000000: some ten million nodes

Times are the server's CPU time (its schedstat), so that others on the machine do not count, and what a client waits.
"""
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
ASKED = ["overview", "tree?width=1400", "timeline?px=1400", "tree?direction=time&width=1400", "table?limit=200",
         "tree?direction=inverted&width=1400"]


class Server:
    def __init__(self, path):
        self.process = subprocess.Popen([BUILD / "leadline", "view", "--no-browser", path], stdout=subprocess.PIPE, text=True)
        url = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.headers = {"X-Leadline-Token": urllib.parse.parse_qs(url.query)["token"][0], "Accept-Encoding": "gzip"}
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


def main():
    samples, stacks = sys.argv[1:] or ("4000000", "2000000")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/big.lead"
        subprocess.run([BUILD / "benchmarks" / "long_recording", path, samples, stacks], check=True)
        server = Server(path)
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
        peak = pathlib.Path(f"/proc/{server.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        print(f"peak memory {int(peak) / 1e6:.2f} GB")
        server.process.terminate()
        server.process.wait()


if __name__ == "__main__":
    main()
