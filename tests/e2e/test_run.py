"""`leadline run`, `report` and `export`: what a user types, and what goes wrong."""
import json
import os
import subprocess
import time

import conftest
import pytest
from interpreters import require

BIAS = conftest.ROOT / "tests" / "targets" / "bias.py"


@pytest.fixture
def python():
    return require("3.12").exe


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "hot.py"
    path.write_text("import sys\n\ndef spin(n):\n    for i in range(n): i * i\n\n"
                    "for _ in range(int(sys.argv[1])):\n    spin(20000)\nprint('done')\nsys.exit(int(sys.argv[2]))\n")
    return path


def test_a_script_is_run_with_the_chosen_python(tool, script, python, tmp_path):
    r = tool("run", "--python", python, script, "300", "5", cwd=tmp_path)
    assert r.returncode == 5 and r.stdout == "done\n"
    assert f"leadline: {python} (--python)" in r.stderr
    for words in ("CPU-bound", "Functions", "Lines", "spin", "hot.py:4", "samples", "Recording: hot.lead"):
        assert words in r.stderr, r.stderr
    assert (tmp_path / "hot.lead").exists()


def test_recordings_are_never_overwritten(tool, script, python, tmp_path):
    for name in ("hot.lead", "hot.2.lead", "hot.3.lead"):
        assert f"Recording: {name}" in tool("run", "--python", python, script, "1", "0", cwd=tmp_path).stderr
        assert (tmp_path / name).exists()
    before = (tmp_path / "hot.lead").read_bytes()
    assert tool("run", "-o", "hot.lead", "--python", python, script, "1", "0", cwd=tmp_path).returncode == 125
    assert (tmp_path / "hot.lead").read_bytes() == before


def test_a_module_and_a_command(tool, python, tmp_path):
    r = tool("run", "--python", python, "-m", "timeit", "-n", "1", "pass", cwd=tmp_path)
    assert r.returncode == 0 and "1 loop, best of 5" in r.stdout
    assert (tmp_path / "timeit.lead").exists()
    r = tool("run", "--python", python, "-m", "timeit", "-r", "2", "-n", "3", "pass", cwd=tmp_path)
    assert "3 loops, best of 2" in r.stdout
    r = tool("run", python, "-c", "print(6 * 7)", cwd=tmp_path)
    assert r.stdout == "42\n" and r.returncode == 0


def test_json_follows_the_contract(tool, script, python, tmp_path):
    out = tmp_path / "r.json"
    tool("run", f"--json={out}", "--python", python, script, "400", "0", cwd=tmp_path)
    report = json.loads(out.read_text())
    assert report["command"][0] == python
    assert set(report["fidelity"]) >= {"engine", "samples", "lost", "shortened", "rate_asked_hz", "rate_reached_hz",
                                       "own_cpu_s", "slowdown_est"}
    assert report["fidelity"]["slowdown_est"] is None  # not known is not 0
    top = report["functions"][0]
    assert top["name"] == "spin" and top["file"] == str(script) and top["calls"] is None
    assert top["self_low_s"] < top["self_s"] < top["self_high_s"]
    assert report["lines"][0]["line"] == 4 and report["lines"][0]["hits"] is None
    by_name = {f["name"]: f for f in report["functions"] if f["file"] == str(script)}
    assert by_name["spin"]["total_s"] > 0.8 * by_name["<module>"]["total_s"]


def test_views_of_a_recording(tool, script, python, tmp_path):
    tool("run", "--python", python, script, "200", "0", cwd=tmp_path)
    record = tmp_path / "hot.lead"
    assert "Lines" not in tool("report", "--functions", record).stdout
    assert "Functions" not in tool("report", "--lines", record).stdout
    threads = tool("report", "--threads", record).stdout
    assert "Threads" in threads and "holds GIL" in threads
    assert "Over time" in tool("report", "--host", record).stdout
    assert tool("report", "--state=cpu", record).returncode == 0
    folded = tool("export", record, "--format", "collapsed").stdout.splitlines()
    assert all(line.rpartition(" ")[2].isdigit() for line in folded)
    assert any(line.startswith("<module> (") and "spin (" in line for line in folded)
    total = sum(int(line.rpartition(" ")[2]) for line in folded)
    assert total == json.loads(tool("report", "--json", record).stdout)["fidelity"]["samples"]


def test_threads_that_fight_for_the_gil(tool, python, tmp_path):
    code = ("import threading\ndef work():\n    for i in range(12_000_000): pass\n"
            "ts = [threading.Thread(target=work) for _ in range(2)]\n[t.start() for t in ts]\n[t.join() for t in ts]\n")
    record = tmp_path / "g.lead"
    r = tool("run", "-o", record, python, "-c", code)
    assert r.returncode == 0
    report = json.loads(tool("report", "--json", record).stdout)
    work = next(f for f in report["functions"] if f["name"] == "work")
    gil = json.loads(tool("report", "--json", "--state=gil", record).stdout)
    held = next(f for f in gil["functions"] if f["name"] == "work")
    # Two threads are in work() all the time; one of them holds the GIL.
    assert 0.35 < held["self_samples"] / work["self_samples"] < 0.65


@pytest.mark.parametrize("args, status, words", [
    (["run"], 125, "which program?"),
    (["run", "--rate=0", "true"], 125, "--rate wants"),
    (["run", "--rate=fast", "true"], 125, "--rate wants"),
    (["run", "no-such-program-here"], 127, "command not found"),
    (["run", "missing.py"], 2, ""),
    (["export", "x.lead"], 2, "which format?"),
    (["export", "x.lead", "--format", "speedscope"], 2, "there is no format 'speedscope' yet"),
    (["export", "x.lead", "--format", "collapsed"], 5, "x.lead"),
])
def test_mistakes_get_one_clear_line(tool, args, status, words, tmp_path):
    r = tool(*args, cwd=tmp_path)
    assert r.returncode == status and words in r.stderr, r.stderr


def test_what_is_not_python_still_gets_host_figures(tool, tmp_path):
    r = tool("run", "-o", tmp_path / "x.lead", tool.storm, "busy", "0.3")
    assert r.returncode == 0 and "No Python stacks were seen" in r.stderr and "CPU-bound" in r.stderr


@pytest.mark.parametrize("label", ["3.8", "3.14"])
def test_interpreters_that_cannot_be_sampled_yet_run_undisturbed(tool, label, tmp_path):
    r = tool("run", "-o", tmp_path / "x.lead", *require(label).command("-c", "print(sum(range(3_000_000)))"))
    assert r.returncode == 0 and r.stdout == "4499998500000\n"
    assert "No Python stacks were seen" in r.stderr


def test_killing_leadline_leaves_the_program_running_and_the_recording_readable(tool, python, tmp_path):
    record = tmp_path / "k.lead"
    p = subprocess.Popen([tool.binary, "run", "-o", record, python, str(BIAS), "8"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + 20
    while not record.exists() or record.stat().st_size < 5000:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    p.kill()
    p.wait()
    r = tool("report", record)
    assert r.returncode == 0 and "the recorder did not finish" in r.stderr and "fib" in r.stdout
    assert json.loads(p.stdout.read())["kind"] == "plain"  # the program went on to its end


def test_as_an_ordinary_user(tool, tmp_path):
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    folder = tmp_path / "u"
    folder.mkdir()
    for f in [folder, *folder.parents]:
        if str(f).startswith("/tmp/"):
            f.chmod(0o777)
    copy, script = folder / "leadline", folder / "bias.py"
    copy.write_bytes(open(tool.binary, "rb").read())
    copy.chmod(0o755)
    script.write_text(BIAS.read_text())
    r = subprocess.run([*prefix, copy, "run", "--json=r.json", require("3.13").exe, "bias.py", "2"], cwd=folder, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    report = json.loads((folder / "r.json").read_text())
    assert report["fidelity"]["samples"] > 500
    assert any(f["name"] == "fib" for f in report["functions"])


def test_children_are_recorded_into_the_same_file(tool, python, tmp_path):
    code = ("import multiprocessing as m\ndef child(n):\n    t = 0\n    for i in range(n): t += i\n    return t\n"
            "if __name__ == '__main__':\n    ps = [m.Process(target=child, args=(8_000_000,)) for _ in range(2)]\n"
            "    [p.start() for p in ps]; [p.join() for p in ps]\n")
    script = tmp_path / "mp.py"
    script.write_text(code)
    record = tmp_path / "m.lead"
    r = tool("run", "-o", record, "--python", python, script)
    assert r.returncode == 0, r.stderr
    report = json.loads(tool("report", "--json", record).stdout)
    child = next(f for f in report["functions"] if f["name"] == "child")
    assert child["self_samples"] > 100
    assert "child" in tool("export", record, "--format", "collapsed").stdout
