"""`leadline view`: the server as a browser, a stranger and an attacker meet it."""
import base64
import contextlib
import gzip
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import urllib.parse
import zlib

import conftest
import pytest

DATA = conftest.ROOT / "tests" / "data"
ORDERS, TRACED = DATA / "orders.lead", DATA / "traced.lead"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


class Server:
    def __init__(self, process, unix=None):
        self.process, self.unix = process, unix
        self.url = urllib.parse.urlsplit(process.stdout.readline().strip())
        self.token = urllib.parse.parse_qs(self.url.fragment)["token"][0]

    def connect(self):
        c = http.client.HTTPConnection("localhost", self.url.port or 80, timeout=30)
        if self.unix:
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.connect(str(self.unix))
        else:
            c.sock = socket.create_connection(("127.0.0.1", self.url.port), timeout=30)
        return c

    def ask(self, path, method="GET", token=None, **headers):
        c = self.connect()
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        if token is None:
            headers["X-Leadline-Token"] = self.token
        c.request(method, path, headers=headers)
        response = c.getresponse()
        response.body = response.read()
        c.close()
        return response

    def get(self, name, **parameters):
        response = self.ask(f"/api/{name}?{urllib.parse.urlencode(parameters, doseq=True)}")
        assert response.status == 200, response.body
        return json.loads(response.body)


@contextlib.contextmanager
def view(*args, unix=None, **kwargs):
    command = [conftest.LEADLINE, "view", "--no-browser", *map(str, args)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **kwargs)
    try:
        yield Server(process, unix)
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()


@pytest.fixture(scope="module")
def server():
    with view(ORDERS, TRACED) as s:
        yield s


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Everything that can hold a text holds a script."""
    path = tmp_path_factory.mktemp("hostile") / "x.folded"
    path.write_text(f"main;{SCRIPT};leaf 10\n{SCRIPT};</script>{SCRIPT} 5\n")
    return path


# ---- the numbers are the report's ----------------------------------------------------------------

CHOICES = [
    ({}, []),
    ({"state": "cpu"}, ["--state", "cpu"]),
    ({"only_mine": 1}, ["--only-mine"]),
    ({"thread": "#1"}, ["--thread", "#1"]),
    ({"from": 0.2, "to": 0.8}, ["--from", "0.2", "--to", "0.8"]),
    ({"idle": 1}, ["--idle"]),
    ({"filter": "json"}, ["--filter", "json"]),
]


def without_ids(rows):
    """Functions are numbered as they are met: a report of a part meets fewer."""
    return [{key: value for key, value in row.items() if key != "function_id"} for row in rows]


@pytest.mark.parametrize("parameters, options", CHOICES, ids=[" ".join(o) or "all" for _, o in CHOICES])
def test_tables_have_the_numbers_of_the_report(server, tool, parameters, options):
    report = json.loads(tool("report", "--json", *options, ORDERS).stdout)
    for what in ("functions", "lines"):
        rows = server.get("table", what=what, limit=5000, **parameters)["rows"]
        wanted = report[what]
        assert len(rows) == len(wanted) > 0
        assert without_ids(rows) == without_ids(wanted)


def test_traced_calls_have_the_numbers_of_the_report(server, tool):
    report = json.loads(tool("report", "--json", TRACED).stdout)
    rows = server.get("table", r=1, limit=5000)["rows"]
    wanted = [{key: value for key, value in row.items() if key in rows[0]} for row in report["functions"]]
    assert without_ids(rows) == without_ids(wanted) and {"calls", "primitive_calls", "resumes"} < set(rows[0])
    assert without_ids(server.get("table", r=1, what="lines", limit=5000)["rows"]) == without_ids(report["lines"])


def nested(answer):
    """The boxes as report --tree --json has them."""
    functions = {f[0]: f for f in answer["functions"]}
    boxes, root, path = answer["boxes"], {"children": []}, []
    for f, depth, total, own in zip(boxes["f"], boxes["d"], boxes["w"], boxes["s"]):
        del path[depth - 1:]
        node = {"name": functions[f][1], "line": functions[f][3], "total": total, "self": own, "children": []}
        (path[-1] if path else root)["children"].append(node)
        path.append(node)
    return root["children"]


def same_tree(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(sorted(ours, key=lambda n: (n["name"], n["line"])), sorted(theirs, key=lambda n: (n["name"], n["line"]))):
        assert (a["name"], a["line"]) == (b["name"], b["line"])
        assert a["total"] == pytest.approx(b["total"], abs=1e-8)
        assert a["self"] == pytest.approx(b["self"], abs=1e-8)
        same_tree(a["children"], b["children"])


@pytest.mark.parametrize("parameters, options", [({}, []), ({"filter": "encode"}, ["--filter", "encode"])])
def test_the_tree_is_that_of_the_report(server, tool, parameters, options):
    report = json.loads(tool("report", "--json", "--tree", *options, ORDERS).stdout)
    answer = server.get("tree", width=1000000, collapse=1, **parameters)
    assert answer["left_out"]["boxes"] == 0
    same_tree(nested(answer), report["tree"])


def test_callers_are_those_of_the_report(server, tool):
    report = json.loads(tool("report", "--json", "--callers", "Book.save", ORDERS).stdout)["callers"][0]
    f = next(r["function_id"] for r in server.get("table", limit=5000)["rows"] if r["name"] == "Book.save")
    answer = server.get("table", what="callers", function=f)
    assert without_ids(answer["rows"]) == without_ids(report["callers"])


def test_the_overview_tells_what_the_report_tells(server, tool):
    report = json.loads(tool("report", "--json", "--threads", ORDERS).stdout)
    answer = server.get("overview")
    for key in ("wall_s", "bound", "fidelity", "threads", "idle", "command"):
        assert answer["report"][key] == report[key]
    assert answer["total"] == report["total"]
    assert [f["name"] for f in answer["functions"]] == [f["name"] for f in report["functions"][:20]]
    assert answer["views"]["flame"] == "" and answer["views"]["native"] != ""
    assert sum(seconds for _, seconds in answer["states"]) == pytest.approx(answer["total"], rel=0.01)
    part = server.get("overview", **{"from": 0.2, "to": 0.4, "thread": "#1"})
    assert sum(seconds for _, seconds in part["states"]) == pytest.approx(part["total"], rel=0.1)


# ---- answers -------------------------------------------------------------------------------------

def test_a_slice_holds_the_node_and_nothing_too_small(server):
    whole = server.get("tree", width=100)
    least = whole["value"] / 200
    assert all(w >= least for w in whole["boxes"]["w"])
    node = whole["boxes"]["id"][3]
    part = server.get("tree", width=100, node=node)
    assert part["node"] == node and part["boxes"]["id"][0] == node and part["boxes"]["d"][0] == 0
    assert [p[0] for p in part["path"]][-1] == node
    again = server.get("tree", width=100, node=part["key"])
    assert again == part


def test_focus_drop_and_merge_change_the_stacks(server):
    table = server.get("table", limit=5000)
    total = {r["name"]: r["total"] for r in table["rows"]}
    focused = server.get("table", limit=5000, focus="^Book.save ")
    assert focused["total"] == pytest.approx(total["Book.save"], rel=0.01)
    assert "main" not in {r["name"] for r in focused["rows"]}
    dropped = server.get("table", limit=5000, drop="^Book.save ")
    assert dropped["total"] == pytest.approx(table["total"] - focused["total"])
    merged = server.get("table", limit=5000, merge=["^Book.save ", "^dumps "])
    assert not {"Book.save", "dumps"} & {r["name"] for r in merged["rows"]}
    assert merged["total"] == pytest.approx(table["total"])


def test_a_sandwich_has_the_functions_time_on_both_sides(server):
    row = next(r for r in server.get("table")["rows"] if r["name"] == "JSONEncoder.encode")
    answer = server.get("sandwich", function=row["function_id"])
    assert answer["value"] == row["total"] and answer["self"] == row["self"]
    for half in ("callers", "callees"):
        assert answer[half]["f"][0] == row["function_id"]
        assert answer[half]["w"][0] == pytest.approx(row["total"], abs=1e-8)


def test_source_is_the_text_the_recording_holds(server):
    files = server.get("files")["files"]
    assert files[0]["self"] >= files[1]["self"]
    answer = server.get("source", file="/srv/app/orders.py")
    assert len(answer["text"]) == answer["n_lines"] == 58
    assert any(line["self"] > 0 for line in answer["lines"])
    assert server.get("source", file="/etc/passwd")["text"] == []


def test_timeline_graph_and_search_answer(server):
    timeline = server.get("timeline", px=100)
    assert [t["number"] for t in timeline["threads"]] == [1, 2, 3]
    for thread in timeline["threads"]:
        assert thread["t"] == sorted(thread["t"]) and thread["s"][-1] == 0 and len(thread["t"]) <= 101
    assert len(timeline["counters"]["t"]) == len(timeline["counters"]["rss_bytes"]) > 0
    graph = server.get("graph", nodes=10)
    assert len(graph["nodes"]) == 10 and graph["edges"]
    rows = {r["function_id"]: r for r in server.get("table", limit=5000)["rows"]}
    found = server.get("search", q="Book.")
    assert found["n"] == len(found["ids"]) == sum("Book." in r["name"] for r in rows.values())
    assert found["value"] >= max(rows[f]["total"] for f in found["ids"]) * 0.999
    time = server.get("tree", direction="time", width=200)
    assert time["thread"] == "#1" and time["boxes"]["x"] == sorted(time["boxes"]["x"])


def test_traced_calls_are_shown_in_the_order_of_time(tool, tmp_path):
    program, recording = tmp_path / "p.py", tmp_path / "p.lead"
    program.write_text("def a(): pass\ndef b():\n    a()\n    a()\nfor i in range(3):\n    a()\n    b()\n")
    assert tool("run", "--trace=timeline", "-o", recording, program).returncode == 0
    with view(recording) as s:
        whole = s.get("tree", direction="time", width=1000000)
        module = next(f[0] for f in whole["functions"] if f[1] == "<module>" and f[2] == str(program))
        node = whole["boxes"]["id"][whole["boxes"]["f"].index(module)]
        answer = s.get("tree", direction="time", width=1000000, node=node)
        names = {f[0]: f[1] for f in answer["functions"]}
        calls = [names[f] for f in answer["boxes"]["f"] if names[f] in "ab"]
        assert calls == ["a", "b", "a", "a"] * 3
        assert s.get("overview")["views"]["time_order"] == ""
        assert answer["boxes"]["x"] == sorted(answer["boxes"]["x"])


@pytest.mark.parametrize("options, is_apart", [((), False), (("--trace",), True)], ids=("lines", "trace"))
def test_own_time_of_lines_says_whether_callees_are_in_it(tool, tmp_path, options, is_apart):
    """Without --trace only functions whose lines are counted are told apart: the table, JSON and the page say so."""
    program = tmp_path / "own.py"
    program.write_text("def other(): return sum(range(1000))\ndef counted(): return 1\ndef work():\n    counted()\n    other()\nwork()\n")
    tool("run", *options, "--lines=work,counted", "-o", tmp_path / "x.lead", "--python", sys.executable, program)
    text = " ".join(tool("report", "--lines", tmp_path / "x.lead").stdout.split())
    assert ("time own in callees per hit" in text, "time own* in counted per hit" in text) == (is_apart, not is_apart)
    assert ("* own time includes callees whose lines were not counted; add --trace" in text) is not is_apart
    rows = {row["line"]: row for row in json.loads(tool("report", "--json", tmp_path / "x.lead").stdout)["lines"]}
    assert [rows[line]["self_has_callees"] for line in (2, 4, 5)] == [not is_apart] * 3
    assert rows[4]["callees"] > 0 and (rows[5]["callees"] > 0) is is_apart
    with view(str(tmp_path / "x.lead")) as s:
        notes = [s.get("source", file=str(program))["note"], s.get("table", what="lines")["note"]]
    assert [note.startswith("own time includes callees") for note in notes] == [not is_apart] * 2


@pytest.mark.parametrize("path, status", [
    ("nothing", 404), ("table?r=7", 404), ("table?r=-1", 400), ("table?what=x", 400), ("table?sort=x", 400),
    ("table?sort=calls", 409), ("table?filter=[", 400), ("tree?focus=(", 400), ("tree?node=99999999", 404),
    ("tree?direction=x", 400), ("tree?width=0", 400), ("tree?width=nan", 400), ("table?what=callers", 404),
    ("table?what=callers&function=99999", 404), ("source", 400), ("bytecode?function=1", 409), ("search", 400),
    ("table?thread=nobody", 400), ("table?process=1", 400), ("table?from=x", 400), ("table?r=1&state=cpu", 409),
    ("tree?r=1&direction=time", 409), ("table?a=%00", 400), ("table?a=%zz", 400), ("overview?state=x", 400),
])
def test_what_cannot_be_answered_is_told_in_one_line(server, path, status):
    response = server.ask(f"/api/{path}")
    assert response.status == status
    error = json.loads(response.body)["error"]
    assert error and "\n" not in error


def test_answers_are_compressed_as_asked(server):
    plain = server.ask("/api/tree").body
    packed = server.ask("/api/tree", Accept_Encoding="gzip, br")
    assert packed.headers["Content-Encoding"] == "gzip" and gzip.decompress(packed.body) == plain
    packed = server.ask("/api/tree", Accept_Encoding="gzip, br, zstd")
    assert packed.headers["Content-Encoding"] == "zstd" and packed.body[:4] == b"\x28\xb5\x2f\xfd"


def test_other_tools_files_are_shown_with_what_they_say(tmp_path, tool):
    pstats = tmp_path / "x.prof"
    assert tool("export", "--force", TRACED, "-o", pstats).returncode == 0
    with view(pstats) as s:
        overview = s.get("overview")
        assert overview["format"] == "pstats" and overview["has_calls"] and overview["verdict"] == ""
        assert overview["views"]["flame"] == "" and s.get("graph")["nodes"]
        tree = s.get("tree")
        assert "not from stacks" in tree["note"] and tree["value"] == pytest.approx(overview["total"], rel=1e-4)


# ---- damaged recordings --------------------------------------------------------------------------

def chunks(data):
    """Where each chunk of a recording begins, and what kind of records it holds (docs/FORMAT.md)."""
    at = 56
    while data[at:at + 4] == b"LDCK":
        kind, stored = struct.unpack_from("<HxxI", data, at + 4)
        yield at, kind
        at += 40 + stored + -stored % 8


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Two ranks of a job as recordings."""
    folder = tmp_path_factory.mktemp("ranks")
    for i, trace in enumerate(sorted((DATA / "torch_ranks").glob("*.gz"))):
        subprocess.run([conftest.LEADLINE, "export", "--force", trace, "-o", folder / f"{i}.lead"], check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.glob("*.lead"))


def test_ranks_of_a_recording_with_one_flipped_bit_are_told_or_refused(ranks, tmp_path):
    """Each chunk damaged in turn: a recording whose run is lost still shows its operators, as ranks, too."""
    whole = ranks[0].read_bytes()
    answered = 0
    for at, kind in chunks(whole):
        damaged = tmp_path / f"{at}.lead"
        damaged.write_bytes(whole[:at + 40] + bytes([whole[at + 40] ^ 1]) + whole[at + 41:])
        with view(damaged, ranks[1]) as s:
            for name in ("ranks", "torch?r=0", "ops_diff?r=0&with=1", "diff?r=0&with=1", "overview?r=0"):
                response = s.ask(f"/api/{name}")
                assert response.status in (200, 409), (kind, name, response.body)
                answered += name == "ranks" and response.status == 200
    assert answered >= 1


INDEX = 240  # kind of chunk; without it all others are found
ABOUT = ["overview", "tree", "tree?direction=inverted", "table?what=functions", "table?what=lines", "files", "graph", "timeline", "search?q=a",
         "torch", "torch?what=operators", "torch?what=memory", "torch?what=modules"]


def flip(data, kind):
    """One bit of the largest chunk of that kind."""
    at = max((at for at, k in chunks(data) if k == kind), key=lambda at: struct.unpack_from("<I", data, at + 8)[0])
    return data[:at + 45] + bytes([data[at + 45] ^ 4]) + data[at + 46:]


def damaged_ones(ranks):
    """Recordings of each sort, each with a part that cannot be read."""
    for path in (ORDERS, TRACED, ranks[0]):
        data = path.read_bytes()
        yield f"cut-{path.name}", data[:len(data) * 3 // 4]
        for kind in {kind for _, kind in chunks(data)} - {INDEX}:
            yield f"{kind}-{path.name}", flip(data, kind)


def test_every_answer_about_a_damaged_recording_says_so(ranks, tmp_path):
    """And none of them guesses why something is missing."""
    n_answers = 0
    for name, data in damaged_ones(ranks):
        path = tmp_path / name
        path.write_bytes(data)
        process = subprocess.Popen([conftest.LEADLINE, "view", "--no-browser", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if process.poll() is None and (url := process.stdout.readline()):
            s = Server.__new__(Server)
            s.process, s.unix, s.url = process, None, urllib.parse.urlsplit(url.strip())
            s.token = s.url.fragment.removeprefix("token=")
            for about in ABOUT:
                response = s.ask(f"/api/{about}")
                answer = json.loads(response.body)
                if response.status == 200:
                    assert answer["damage"], (name, about)
                    n_answers += 1
                elif response.status == 409:
                    assert "damaged" in answer["error"], (name, about, answer)
                for view_name, why in answer.get("views", {}).items():
                    assert view_name in ("native", "kernel", "gpu", "memory", "bench") or not why or "damaged" in why, (name, why)
                for pane, why in answer.get("panes", {}).items():
                    assert not why or "damaged" in why, (name, pane, why)
            process.terminate()
        told = process.communicate(timeout=60)[1]
        assert process.returncode in (0, 6) and name in told
    assert n_answers > 100


def test_damage_of_one_recording_is_not_told_of_another(tmp_path):
    bad = tmp_path / "bad.lead"
    bad.write_bytes(ORDERS.read_bytes()[:-1000])
    with view(bad, TRACED) as s:
        assert [bool(r["damage"]) for r in s.get("overview")["recordings"]] == [True, False]
        assert s.get("table", r=0)["damage"].startswith("bad.lead: ") and "damage" not in s.get("table", r=1)
        compared = s.get("diff", r=1, **{"with": 0})
        assert "bad.lead" in compared["damage"] and "damage" in compared["b"] and "damage" not in compared["a"]


def test_names_of_files_reach_a_terminal_without_escapes(tool, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a\x1b[31m\n.lead", "b.lead"):
        shutil.copy(ORDERS, folder / name)
    done = tool("view", "--force", folder, "--max-size", "400KB", "-o", tmp_path / "x.html")
    assert done.returncode == 0 and "Left out" in done.stdout and "\\x1b[31m\\n.lead: " in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_one_file_tells_of_damage(tool, tmp_path):
    bad = tmp_path / "bad.lead"
    bad.write_bytes(ORDERS.read_bytes()[:-1000])
    answers = one_file(tool, tmp_path, bad)[1]["answers"]
    assert len(answers) > 10 and all(answer["damage"] for answer in answers.values())
    assert answers["overview?r=0"]["recordings"][0]["damage"] == answers["overview?r=0"]["damage"]
    whole = one_file(tool, tmp_path, ORDERS)[1]["answers"]
    assert not any("damage" in answer for answer in whole.values()) and whole["overview?r=0"]["recordings"][0]["damage"] == ""


# ---- who may ask ---------------------------------------------------------------------------------

@pytest.mark.parametrize("headers, status", [
    ({"Host": "evil.example"}, 403), ({"Host": "localhost.evil.example:80"}, 403), ({"Host": "127.0.0.1:1"}, 200),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "http://localhost:9"}, 403),
    ({"Origin": "http://localhost:9", "Host": "localhost:9"}, 200), ({"Origin": "http://127.0.0.1:9", "Host": "localhost:9"}, 403),
])
def test_names_and_pages_from_elsewhere_are_refused(server, headers, status):
    assert server.ask("/api/overview", **headers).status == status
    assert server.ask("/", **headers).status == status


def test_nothing_is_answered_without_the_token(server):
    for path in ("/api/overview", "/api/quit", "/api/token", "/x", "/api/overview?token=", f"/api/overview?token={server.token}"):
        for method in ("GET", "POST"):
            assert server.ask(path, method=method, token=False).status == 403
    for wrong in ("", "A" * 32, server.token + "x", server.token[:-1]):
        assert server.ask("/api/overview", token=False, X_Leadline_Token=wrong).status == 403
        assert server.ask("/api/token", method="POST", X_Leadline_Code=wrong).status == 403
    assert server.ask("/api/overview", token=False, X_Leadline_Token=server.token).status == 200


def test_the_page_alone_holds_nothing_of_anybody(server):
    pages = [server.ask("/", token=False) for _ in range(2)]
    nonces = [re.search("'nonce-([^']+)'", page.headers["Content-Security-Policy"])[1] for page in pages]
    assert nonces[0] != nonces[1]
    bodies = [page.body.replace(nonce.encode(), b"") for page, nonce in zip(pages, nonces)]
    assert bodies[0] == bodies[1] and server.token.encode() not in bodies[0] and b"orders.lead" not in bodies[0]
    assert server.ask("/", method="POST", token=False).status == 405


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/api/../../etc/passwd", "//etc/passwd", "/api/", "/api",
                                  "/%2e%2e/%2e%2e/etc/passwd", "/api/overview/../../x", "/api/overview%00", "/favicon.ico"])
def test_paths_lead_nowhere_else(server, path):
    response = server.ask(path)
    assert response.status in (400, 404) and b"root:" not in response.body


def test_methods_that_change_nothing_are_the_only_ones(server):
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        assert server.ask("/api/overview", method=method).status in (400, 405, 501)
    assert server.ask("/api/overview", method="POST").status == 405
    assert server.ask("/api/quit").status == 405


def test_the_browser_is_told_to_be_strict(server):
    page = server.ask("/")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert page.body.count(b"<script") >= 1
    assert f'nonce="{nonce}"'.encode() in page.body and b"LEADLINE-NONCE" not in page.body
    assert not re.search(rb"(src|href|url)\W{1,2}(https?:)?//", page.body)
    for response in (page, server.ask("/api/overview"), server.ask("/x")):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer" and response.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in response.headers


def test_scripts_in_names_stay_text(hostile):
    with view(hostile) as s:
        assert SCRIPT.encode() not in s.ask("/").body
        names = {f[1] for f in s.get("tree")["functions"]}
        assert SCRIPT in names
        for name in ("overview", "tree", "table", "graph", "files", f"search?q={urllib.parse.quote(SCRIPT)}"):
            response = s.ask(f"/api/{name}")
            assert response.status == 200 and response.headers["Content-Type"] == "application/json"


def test_other_names_can_be_allowed():
    with view(ORDERS, "--allow-host", "hub.example.org") as s:
        assert s.ask("/api/overview", Host="hub.example.org", Origin="https://hub.example.org").status == 200
        assert s.ask("/api/overview", Host="hub.example.com").status == 403


# ---- those who do not behave ---------------------------------------------------------------------

def test_a_thousand_slow_clients_keep_nobody_waiting(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    clients = []
    try:
        for _ in range(min(1000, min(4096, hard) - 200)):
            clients.append(socket.create_connection(("127.0.0.1", server.url.port)))
            clients[-1].send(b"GET /api/overview HTTP/1.1\r\nHost: localh")
        assert server.get("overview")["name"] == "orders.lead"
    finally:
        for c in clients:
            c.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert server.get("overview")["name"] == "orders.lead"


def raw(server, data):
    """What comes back for bytes that need not be HTTP."""
    with socket.create_connection(("127.0.0.1", server.url.port), timeout=30) as c:
        with contextlib.suppress(OSError):
            c.sendall(data)
            c.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(OSError):
            while more := c.recv(65536):
                answer += more
        return answer


@pytest.mark.parametrize("data", [
    b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 1000000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100000 + b"\r\n",
    b"POST /api/quit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 1000000,
    b"POST /api/quit HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    b"POST /api/quit HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00" + bytes(500), b"\r\n" * 1000, b"GET\r\n\r\n", b"", b"GET / HTTP/9.9\r\n\r\n",
], ids=["path", "header", "headers", "body", "negative", "chunked", "tls", "lines", "no path", "nothing", "version"])
def test_requests_that_are_none_do_no_harm(server, data):
    assert b"200 OK" not in raw(server, data)
    assert server.get("overview")["name"] == "orders.lead"


def test_who_goes_away_before_the_answer_does_no_harm(server):
    asked = f"GET /api/tree?width=10000 HTTP/1.1\r\nHost: localhost\r\nX-Leadline-Token: {server.token}\r\n\r\n".encode()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.url.port)) as c:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed with a reset
            c.sendall(asked * 20)
    assert server.get("overview")["name"] == "orders.lead"


# ---- beginning and ending ------------------------------------------------------------------------

def test_the_page_can_end_it():
    with view(ORDERS) as s:
        assert s.ask("/api/quit", method="POST").status == 200
        assert s.process.wait(30) == 0


def test_ctrl_c_ends_it():
    with view(ORDERS) as s:
        s.process.send_signal(signal.SIGINT)
        assert s.process.wait(30) == 0


def test_a_unix_socket_is_the_users_own(tmp_path, tool):
    path = tmp_path / "s"
    with view(ORDERS, "--unix", path, unix=path) as s:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert s.get("overview")["name"] == "orders.lead"
        taken = tool("view", "--no-browser", "--unix", path, ORDERS)
        assert taken.returncode == 7 and len(taken.stderr.splitlines()) <= 2
    assert not path.exists()


def test_a_folder_opens_what_is_in_it(tmp_path):
    shutil.copy(ORDERS, tmp_path / "b.lead")
    shutil.copy(TRACED, tmp_path / "a.lead")
    (tmp_path / "note.txt").write_text("x")
    with view(tmp_path) as s:
        assert [r["name"] for r in s.get("overview")["recordings"]] == ["a.lead", "b.lead"]
        assert s.get("overview", r=1)["name"] == "b.lead"


def test_over_ssh_the_line_to_type_is_printed(tmp_path):
    environment = {**os.environ, "SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22", "USER": "ann"}
    process = subprocess.Popen([conftest.LEADLINE, "view", ORDERS], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        port = urllib.parse.urlsplit(lines[0]).port
        assert f"ssh -N -L {port}:127.0.0.1:{port} ann@10.0.0.2\n" in "".join(lines)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def test_without_a_browser_the_address_is_enough(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("SSH_CONNECTION", "WAYLAND_DISPLAY")}
    environment |= {"DISPLAY": ":9", "PATH": str(tmp_path), "BROWSER": ""}
    process = subprocess.Popen([conftest.LEADLINE, "view", ORDERS], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[0].startswith("http://127.0.0.1:") and "No browser" in lines[1]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def test_what_cannot_be_shown_is_told_in_one_line(tool, tmp_path):
    (tmp_path / "bad.lead").write_bytes(ORDERS.read_bytes()[:9])
    (tmp_path / "empty").mkdir()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        for arguments, status, word in [
            ([tmp_path / "bad.lead"], 6, "bad.lead"), ([tmp_path / "missing"], 5, "missing"),
            ([tmp_path / "empty"], 5, "no recording"), (["--port", port, ORDERS], 7, str(port)), ([], 2, "which recording"),
            (["--port", 0, ORDERS], 2, "--port"), (["--port", 70000, ORDERS], 2, "--port"),
        ]:
            done = tool("view", "--no-browser", *arguments)
            assert done.returncode == status and word in done.stderr and done.stdout == ""
            assert len(done.stderr.splitlines()) <= 2


# ---- one file ------------------------------------------------------------------------------------

def one_file(tool, tmp_path, *args):
    path = tmp_path / "x.html"
    done = tool("view", "--force", *args, "-o", path)
    assert done.returncode == 0, done.stderr
    html = path.read_text()
    data = re.search(r'<script type="application/octet-stream" id="leadline-data">([A-Za-z0-9+/=]+)</script>', html)
    return html, json.loads(zlib.decompress(base64.b64decode(data[1]), -15)), done.stdout


def test_one_file_holds_the_servers_answers(server, tool, tmp_path):
    html, data, told = one_file(tool, tmp_path, ORDERS)
    answers = data["answers"]
    assert answers["table?r=0&what=functions"] == server.get("table", what="functions", limit=5000)
    assert answers["table?r=0&only_mine=1&what=lines"] == server.get("table", what="lines", limit=5000, only_mine=1)
    assert answers["tree?r=0&direction=left-heavy"] == server.get("tree", width=10000)
    assert answers["tree?r=0&direction=inverted&only_mine=1"] == server.get("tree", direction="inverted", width=10000, only_mine=1)
    assert answers["tree?r=0&direction=left-heavy&thread=#1"] == server.get("tree", width=10000, thread="#1")
    assert answers["source?r=0&file=/srv/app/orders.py"] == server.get("source", file="/srv/app/orders.py")
    assert {"overview?r=0", "timeline?r=0", "graph?r=0", "files?r=0", "tree?r=0&direction=time"} <= set(answers)
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', html)[1]
    assert "connect-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r"(src|href|url)\W{1,2}(https?:)?//", html)


@pytest.mark.parametrize("for_data", [50000, 200000, 1000000])
def test_one_file_keeps_to_its_size_and_says_what_is_left_out(server, tool, tmp_path, for_data):
    most = len(server.ask("/").body) + for_data
    html, data, told = one_file(tool, tmp_path, ORDERS, TRACED, "--max-size", most)
    assert len(html.encode()) <= most
    assert {"overview?r=0", "overview?r=1", "tree?r=0&direction=left-heavy", "tree?r=1&direction=left-heavy"} <= set(data["answers"])
    assert all(line in told for line in data["dropped"])
    assert data["dropped"] or for_data == 1000000


def test_scripts_in_names_cannot_leave_the_file_s_data(tool, tmp_path, hostile):
    html, data, told = one_file(tool, tmp_path, hostile)
    assert "alert(1)" not in html
    assert SCRIPT in json.dumps(data["answers"])


def test_sizes_that_are_none_are_refused(tool, tmp_path):
    for size in ("x", "-1", "0", "5XB", "1e30", "100"):
        done = tool("view", "--force", ORDERS, "-o", tmp_path / "y.html", "--max-size", size)
        assert done.returncode == 2 and "--max-size" in done.stderr
    assert not (tmp_path / "y.html").exists()
    assert tool("view", "--force", ORDERS, "-o", tmp_path / "none" / "y.html").returncode == 5


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The orders, with the function that was seen most often taking three times as long."""
    path = tmp_path_factory.mktemp("changed") / "changed.speedscope.json"
    subprocess.run([conftest.LEADLINE, "export", "--force", ORDERS, "--idle", "--format=speedscope", "-o", path], check=True)
    data = json.loads(path.read_text())
    names = [frame["name"] for frame in data["shared"]["frames"]]
    seen = [names[stack[-1]] for profile in data["profiles"] for stack in profile["samples"]]
    most = max(set(seen), key=seen.count)
    for profile in data["profiles"]:
        profile["weights"] = [w * (3 if names[stack[-1]] == most else 1) for stack, w in zip(profile["samples"], profile["weights"])]
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("options, asked", [([], {}), (["--normalize=run"], {"normalize": "run"}), (["--normalize=unit", "--unit=100:300"], {"normalize": "unit", "unit": "100:300"}),
                                            (["--only-mine", "--sort=total", "--noise=1%"], {"only_mine": 1, "sort": "total", "noise": 0.01})])
def test_a_comparison_has_the_numbers_of_diff(options, asked, changed, tool):
    wanted = json.loads(tool("diff", ORDERS, changed, "--json", "--paths", *options).stdout)
    with view(ORDERS, changed) as s:
        got = s.get("diff", r=0, **{"with": 1, "limit": 5000, **asked})
        assert s.get("diff", r=0, **{"with": 1, "limit": 5000, "quick": 1, **asked}) == got
        tree = s.get("difftree", r=0, **{"with": 1, "width": 1000000, **asked})
    assert len(got["functions"]) > 10 and any(row["self"]["is_named"] for row in got["functions"])
    for key in ("total", "functions", "lines", "unit", "noise_share"):
        assert got[key] == wanted[key]
    # Every path that is in B has a box, as wide as its time there.
    boxes = tree["boxes"]
    in_b = sorted(row["total"]["b"] for row in wanted["paths"] if row["total"]["b"] > 1e-5 * tree["total"])
    assert sorted(w for w in boxes["w"] if w > 1e-5 * tree["total"]) == pytest.approx(in_b, abs=2e-9)
    assert boxes["w"] == boxes["b"]
    assert {i for i, n in zip(boxes["id"], boxes["named"]) if n} or not any(row["total"]["is_named"] for row in wanted["paths"])


def test_what_cannot_be_compared_is_told(changed):
    with view(ORDERS, changed, DATA / "gil.lead") as s:
        for query, status, why in [("r=0&with=0", 400, "same recording"), ("r=0&with=7", 404, "no recording 7"), ("r=0&with=1&normalize=x", 400, "normalize"),
                                   ("r=0&with=1&normalize=unit&unit=nobody", 409, "called 'nobody'"), ("r=0&with=1&noise=x", 400, "noise"), ("r=0&with=2", 409, "no samples")]:
            response = s.ask(f"/api/diff?{query}")
            assert (response.status, why in json.loads(response.body)["error"]) == (status, True), response.body
        assert s.ask("/api/difftree?r=0&with=1&node=99999999").status == 404


def test_source_lines_link_to_an_editor_when_asked(tool):
    with view("--editor=pycharm", ORDERS) as s:
        assert s.get("overview", r=0)["editor"] == "pycharm://open?file={file}&line={line}"
    with view(ORDERS) as s:
        assert s.get("overview", r=0)["editor"] == ""
    for bad in ("nano", "javascript://{file}", "my://open"):
        done = tool("view", "--no-browser", f"--editor={bad}", ORDERS)
        assert (done.returncode, f"not '{bad}'" in done.stderr) == (2, True)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Two with 60 000 stacks each: more than the server compares by itself."""
    folder = tmp_path_factory.mktemp("large")
    for name, more in (("a", 0), ("b", 7)):
        lines = (f"main;f{i % 250};g{i // 250} {1 + i % 5 + (more if i % 250 == 3 else 0)}\n" for i in range(60000))
        (folder / f"{name}.folded").write_text("".join(lines))
    return folder / "a.folded", folder / "b.folded"


def helpers(s):
    return [int(pid) for pid in open(f"/proc/{s.process.pid}/task/{s.process.pid}/children").read().split()]


def test_large_ones_are_compared_beside_the_server(large, tool):
    wanted = json.loads(tool("diff", *large, "--json").stdout)
    with view(*large) as s:
        assert s.ask("/api/diff?r=0&with=1&quick=1").status == 409 and not helpers(s)
        waiting, gone = s.connect(), s.connect()
        for c in (gone, waiting):
            c.request("GET", "/api/diff?r=0&with=1", headers={"X-Leadline-Token": s.token, "Accept-Encoding": "gzip"})
        assert s.get("overview", r=0)["r"] == 0
        gone.close()
        got = json.loads(gzip.decompress(waiting.getresponse().read()))
        waiting.close()
        assert got["functions"] == wanted["functions"] and got["n_functions"] == 491
        helper = helpers(s)
        assert len(helper) == 1
        tree = s.get("difftree", r=0, **{"with": 1, "width": 1000})
        assert tree["n_nodes"] == 60251 and tree["boxes"]["id"]
        assert s.ask("/api/difftree?r=0&with=1&node=99999999").status == 404
        assert "cannot be" in json.loads(s.ask("/api/diff?r=0&with=1&normalize=x").body)["error"]
        assert helpers(s) == helper
        os.kill(helper[0], signal.SIGKILL)
        again = s.ask("/api/diff?r=0&with=1")  # before or after the server knows
        assert again.status == 200 or "try again" in json.loads(again.body)["error"]
        assert s.get("diff", r=0, **{"with": 1})["n_functions"] == 491
        s.connect().request("GET", "/api/diff?r=0&with=1&normalize=run", headers={"X-Leadline-Token": s.token})


def test_the_order_of_time_is_offered_where_there_is_one(server):
    assert server.get("overview", r=0)["views"]["time_order"] == ""
    assert "--trace=timeline" in server.get("overview", r=1)["views"]["time_order"]
    assert server.ask("/api/tree?r=1&direction=time").status == 409


def test_lines_that_were_counted_are_sorted_and_filtered(server, tool):
    wanted = [(x["file"], x["line"], x["hits"]) for x in json.loads(tool("report", TRACED, "--json", "--limit=0").stdout)["lines"]]
    ask = lambda **more: server.get("table", r=1, what="lines", **more)
    assert sorted((x["file"], x["line"], x["hits"]) for x in ask()["rows"]) == sorted(wanted) and len(wanted) > 3
    hits = [x["hits"] for x in ask(sort="hits")["rows"]]
    assert hits == sorted(hits, reverse=True) and len(set(hits)) > 1
    totals = [x["total"] for x in ask(sort="total")["rows"] if x["total"] is not None]
    assert totals == sorted(totals, reverse=True)
    line = wanted[0][1]
    found = ask(filter=f":{line}\\)$")
    assert found["n"] == len(found["rows"]) > 0 and {x["line"] for x in found["rows"]} == {line}
    assert ask(sort="hits", offset=1, limit=2)["rows"] == ask(sort="hits")["rows"][1:3]


def test_a_functions_time_is_spread_over_threads_and_the_run(server):
    rows = server.get("table", r=0, what="functions", limit=50, sort="total", idle=1)["rows"]
    for row in rows[:10]:
        spread = server.get("spread", r=0, function=row["function_id"], idle=1)
        for key, steps in (("self", "selves"), ("total", "totals")):
            assert sum(t[key] for t in spread["threads"]) == pytest.approx(row[key], rel=1e-6, abs=1e-6)
            assert sum(spread[steps]) == pytest.approx(row[key], rel=1e-6, abs=1e-6)
        assert 1 < len(spread["totals"]) <= 64 and spread["step"] > 0
    assert server.ask("/api/spread?r=0&function=999999").status == 404
    counted = server.get("spread", r=1, function=server.get("table", r=1, what="functions")["rows"][0]["function_id"])
    assert counted["totals"] == [] and counted["threads"]
