"""The token of `leadline view` on a machine with other users: it stands in no program's arguments, the browser comes by a file that
only its user can read, and what is in that file is good once."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import time
import urllib.parse

import conftest
import pytest
from users import ALICE, BOB, as_user, needs_root, open_folder, run_as

ORDERS = conftest.ROOT / "tests" / "data" / "orders.lead"

# What a browser does, as far as it matters here: it tells its arguments, waits until somebody has looked at them, and follows the file.
BROWSER = """#!/usr/bin/python3
import http.client, json, os, re, sys, time, urllib.parse
folder = os.path.dirname(os.path.abspath(__file__))
def tell(name, text):
    with open(f"{folder}/{name}.new", "w") as f:
        f.write(text)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")
tell("arguments", json.dumps(sys.argv[1:]))
while not os.path.exists(f"{folder}/go"):
    if not os.path.exists(folder):
        sys.exit(1)
    time.sleep(0.01)
with open(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path)) as f:
    url = urllib.parse.urlsplit(re.search('content="0; url=([^"]+)"', f.read())[1])
c = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
c.request("POST", "/api/token", headers={"X-Leadline-Code": url.fragment.removeprefix("code=")})
tell("answer", json.dumps([url.geturl(), json.loads(c.getresponse().read())]))
"""


class Viewed:
    """`leadline view` of one user, with a browser that stands still until `go`."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder
        self.url = urllib.parse.urlsplit(process.stdout.readline().strip())
        self.token = self.url.fragment.removeprefix("token=")
        self.said = "".join(iter(process.stdout.readline, "Ctrl-C stops it.\n"))

    def wait_for(self, name):
        """The text of a file that the browser writes; it is there whole or not at all."""
        while not (self.folder / name).exists():
            assert self.process.poll() is None
            time.sleep(0.01)
        return json.loads((self.folder / name).read_text())

    def file(self):
        [argument] = self.wait_for("arguments")
        assert argument.startswith("file:///")
        return pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(argument).path))

    def let_browser_go(self):
        (self.folder / "go").touch()
        return self.wait_for("answer")

    def ask(self, method, path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.url.port, timeout=60)
        c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = c.getresponse()
        return response.status, json.loads(response.read())


@contextlib.contextmanager
def viewed(folder, uid, **environment):
    """folder: the user's own, where everything lies."""
    recording, browser = folder / "orders.lead", folder / "browser"
    shutil.copy(ORDERS, recording)
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    for path in (recording, browser):
        os.chown(path, uid, uid)
    who = as_user(uid, {"BROWSER": str(browser), **environment})
    process = subprocess.Popen([conftest.LEADLINE, "view", recording], stdout=subprocess.PIPE, text=True, **who)
    try:
        yield Viewed(process, folder)
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.stdout.close()


@pytest.fixture
def alice():
    """A folder that is hers, and one inside it that is nobody else's to read, as a login makes it."""
    with open_folder(ALICE) as folder:
        runtime = folder / "runtime"
        runtime.mkdir(0o700)
        os.chown(runtime, ALICE, ALICE)
        yield folder


def arguments_of_all():
    """What anyone can read of all programs that run."""
    looked = run_as(BOB, "sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")
    return looked.stdout


@needs_root
def test_another_user_finds_the_token_nowhere(alice):
    with viewed(alice, ALICE, XDG_RUNTIME_DIR=str(alice / "runtime")) as v:
        path = v.file()
        text = path.read_text()
        code = re.search(r"#code=([\w-]{32})\"", text)[1]
        seen = arguments_of_all()
        assert str(path) in seen and v.token not in seen and code not in seen and v.token not in text
        assert run_as(BOB, "cat", path).returncode != 0 and run_as(BOB, "ls", path.parent).returncode != 0
        url, answer = v.let_browser_go()
        assert answer == {"token": v.token} and v.token not in url
        seen = arguments_of_all()
        assert v.token not in seen and code not in seen


@needs_root
def test_the_file_is_private_and_goes_when_it_was_used(alice):
    # Her runtime folder lies below /tmp here, where others can make names: that is no place for it.
    with viewed(alice, ALICE, XDG_RUNTIME_DIR=str(alice / "runtime")) as v:
        path = v.file()
        assert path.parent.parent == pathlib.Path(f"/tmp/leadline-{ALICE}")
        for what, mode in ((path, 0o600), (path.parent, 0o700), (path.parent.parent, 0o700)):
            assert (stat.S_IMODE(what.stat().st_mode), what.stat().st_uid) == (mode, ALICE)
        v.let_browser_go()
        assert not path.parent.exists()


@needs_root
def test_a_code_is_good_once(alice):
    with viewed(alice, ALICE, XDG_RUNTIME_DIR=str(alice / "runtime")) as v:
        code = re.search(r"#code=([\w-]{32})\"", v.file().read_text())[1]
        assert v.ask("GET", "/api/token", X_Leadline_Code=code)[0] in (403, 405)
        assert v.ask("POST", "/api/token", X_Leadline_Code=code, Origin="http://127.0.0.1:9")[0] == 403
        assert v.ask("POST", "/api/token", X_Leadline_Code=v.token)[0] == 403
        assert v.ask("POST", "/api/token", X_Leadline_Code=code) == (200, {"token": v.token})
        status, answer = v.ask("POST", "/api/token", X_Leadline_Code=code)
        assert status == 403 and "works only once" in answer["error"]
        assert v.ask("POST", "/api/token", X_Leadline_Code="")[0] == 403
        assert v.ask("GET", "/api/overview", X_Leadline_Token=code)[0] == 403
        assert v.ask("GET", "/api/overview", X_Leadline_Token=v.token)[0] == 200


@needs_root
@pytest.mark.parametrize("mode, owner", [(0o755, ALICE), (0o777, ALICE), (0o700, BOB)], ids=["readable", "open", "another's"])
def test_a_runtime_folder_that_is_not_private_is_not_used(alice, mode, owner):
    runtime = alice / "runtime"
    runtime.chmod(mode)
    os.chown(runtime, owner, owner)
    with viewed(alice, ALICE, XDG_RUNTIME_DIR=str(runtime)) as v:
        path = v.file()
        assert runtime not in path.parents
        for what, wanted in ((path, 0o600), (path.parent, 0o700)):
            assert (stat.S_IMODE(what.stat().st_mode), what.stat().st_uid) == (wanted, ALICE)
        v.let_browser_go()
    assert not path.parent.exists()


@needs_root
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_the_file_goes_when_the_server_ends(alice, number):
    with viewed(alice, ALICE, XDG_RUNTIME_DIR=str(alice / "runtime")) as v:
        assert v.file().exists()
        v.process.send_signal(getattr(signal, number))
        assert v.process.wait(60) == 0
        assert list((alice / "runtime").iterdir()) == []


@needs_root
@pytest.mark.parametrize("name", ["WSL_DISTRO_NAME", "CODESPACES", "REMOTE_CONTAINERS"])
def test_a_browser_of_another_system_is_not_started(alice, name):
    with viewed(alice, ALICE, XDG_RUNTIME_DIR=str(alice / "runtime"), **{name: "1"}) as v:
        assert v.said.startswith("No browser could be started") and not list((alice / "runtime").iterdir())
