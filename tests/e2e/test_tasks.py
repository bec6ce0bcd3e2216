"""asyncio's tasks by the coroutine functions they run: thousands of tasks are a few rows."""
import json

import pytest
from interpreters import require

PROGRAM = """
import asyncio, time


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


async def inner(seconds):
    work(seconds)


async def fetch():
    await asyncio.sleep(0)
    await inner(0.01)


async def parse():
    work(0.01)
    await asyncio.sleep(0)
    await inner(0.02)


class Server:
    async def handle(self):
        for _ in range(5):
            work(0.02)
            await asyncio.sleep(0)


async def main():
    await asyncio.gather(Server().handle(), *[fetch() for _ in range(20)], *[parse() for _ in range(10)])


asyncio.run(main())
"""


@pytest.fixture(scope="module", params=["3.8", "3.11", "3.13"])
def recording(request, tmp_path_factory, binary):
    import subprocess

    folder = tmp_path_factory.mktemp("tasks")
    (folder / "served.py").write_text(PROGRAM)
    subprocess.run([binary, "run", "-o", "t.lead", "--", *require(request.param).command("served.py")], cwd=folder, check=True,
                   capture_output=True, timeout=120)
    return request.param, folder / "t.lead"


def test_tasks_of_one_coroutine_are_one_row(tool, recording):
    label, path = recording
    document = json.loads(tool("report", "--tasks", "--json", path).stdout)
    groups = {g["name"].rpartition(".")[2]: g for g in document["task_groups"]}
    assert {"fetch", "parse", "handle"} <= set(groups), groups
    assert (groups["fetch"]["tasks"], groups["parse"]["tasks"], groups["handle"]["tasks"]) == (20, 10, 1)
    assert label == "3.8" or groups["handle"]["name"] == "Server.handle"
    assert groups["parse"]["file"].endswith("served.py") and groups["parse"]["line"] == PROGRAM.splitlines().index("async def parse():") + 1
    for g in document["task_groups"]:
        assert g["least_s"] <= g["median_s"] <= g["most_s"] <= g["total_s"] + 1e-9
        assert g["least_s"] * g["tasks"] <= g["total_s"] + 1e-9
    for key in ("total_s", "on_cpu_s", "samples"):
        assert sum(g[key] for g in document["task_groups"]) == pytest.approx(sum(t[key] for t in document["tasks"]))
    assert sum(g["tasks"] for g in document["task_groups"]) == len(document["tasks"])
    assert {t["coroutine"].rpartition(".")[2] for t in document["tasks"] if t["coroutine"]} >= {"fetch", "parse", "handle"}


def test_the_table_has_a_row_for_each_coroutine_and_single_tasks_on_request(tool, recording):
    _, path = recording
    grouped = tool("report", "--tasks", "--no-legend", path).stdout
    assert "Tasks by coroutine" in grouped and "Task-" not in grouped, grouped
    each = tool("report", "--tasks=each", "-n", "0", path).stdout
    assert each.count("Task-") >= 31 and "Tasks by coroutine" not in each
    wrong = tool("report", "--tasks=all", path)
    assert wrong.returncode == 2 and "--tasks takes no value or =each, not 'all'" in wrong.stderr
