"""Traces of the ranks of a distributed job side by side: made-up ones whose truth is known, and two of gloo."""
import gzip
import json
import random
import shutil

import conftest
import pytest

GLOO = conftest.ROOT / "tests" / "data" / "torch_ranks"


def nccl_rank(rank, world, draw, n_steps=3, seq=True):
    """Events of one rank, and what is true of it. In each step a kernel, a collective of all ranks that it comes to when its own work is done,
    beside it a second kernel, and a copy; with more than two ranks also an all-gather of the first two. Clocks differ by rank."""
    clock, events, truth = rank * 7_000_000, [], {"waiting": 0, "transfer": 0, "last": 0, "caused": 0}
    args = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": world,
            "Process Group Name": "0", "Process Group Ranks": str(list(range(world))).replace(" ", ""), "stream": 20}

    def add(cat, name, begin, end, tid=7, **more):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1 if cat == "user_annotation" else 0, "tid": tid, "ts": (clock + begin) / 1000,
                       "dur": (end - begin) / 1000, "args": more})

    number = 0
    for k in range(n_steps):
        begin = k * 1_000_000
        add("user_annotation", f"ProfilerStep#{k}", begin, begin + 990_000, tid=1)
        work, transfer = draw[k]["work"], draw[k]["transfer"]
        add("kernel", "gemm", begin, begin + work[rank])
        end = begin + max(work) + transfer
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin + work[rank], end, tid=20, **args,
            **({"Seq": number} if seq else {}))
        number += 1
        add("kernel", "overlapped", begin + work[rank] + 1000, begin + work[rank] + 31_000)
        truth["waiting"] += max(work) - work[rank]
        truth["transfer"] += transfer
        last = work.index(max(work))
        truth["last"] += rank == last
        truth["caused"] += sum(max(work) - w for w in work) if rank == last else 0
        add("gpu_memcpy", "Memcpy DtoH", end + 5000, end + 15_000)
    whole = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "traceEvents": events}
    return whole, truth


def job(folder, world=3, seed=1, **kwargs):
    rng = random.Random(seed)
    draw = []
    for _ in range(3):
        work = [rng.randrange(50_000, 300_000) for _ in range(world)]
        work[1] += 200_000  # the slow one
        draw.append({"work": work, "transfer": rng.randrange(40_000, 90_000)})
    paths, truths = [], []
    for rank in range(world):
        whole, truth = nccl_rank(rank, world, draw, **kwargs)
        path = folder / f"host_{rank}.17000000{rank}.pt.trace.json"
        path.write_text(json.dumps(whole))
        paths.append(path)
        truths.append(truth)
    return paths, truths


def split(path):
    """What the moments of a rank's steps went to, moment by moment."""
    text = path.read_bytes()
    events = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)["traceEvents"]
    spans = [(round(e["ts"] * 1000), round(e["ts"] * 1000) + round(e["dur"] * 1000), e) for e in events if e["ph"] == "X"]
    device = any(e["cat"] == "kernel" for _, _, e in spans)
    steps = [s for s in spans if s[2]["name"].startswith("ProfilerStep#")]
    talks = [s for s in spans if s[2]["name"].startswith("nccl" if device else "gloo:") and s[2]["cat"] == ("kernel" if device else "user_annotation")]
    works = [s for s in spans if s[2]["cat"] in (("kernel", "gpu_memcpy") if device else ("cpu_op",)) and s not in talks]
    asks = [] if device else [s for s in works if s[2]["name"].startswith(("c10d::", "record_param_comms"))]
    works = [s for s in works if s not in asks]
    cuts = sorted({c for s in steps + talks + works + asks for c in s[:2]})

    def computes(low, high):
        """On some thread the innermost operator is not one that communicates."""
        inner = {}
        for begin, end, e in works + asks:
            if begin <= low and high <= end:
                inner[e["tid"]] = max(inner.get(e["tid"], (0, 0, True)), (begin, -end, (begin, end, e) in works))
        return any(is_work for _, _, is_work in inner.values())

    parts = {"computation_s": 0, "overlap_s": 0, "communication_s": 0, "other_s": 0}
    for low, high in zip(cuts, cuts[1:]):
        on = [any(b <= low and high <= e for b, e, _ in steps), computes(low, high), any(b <= low and high <= e for b, e, _ in talks)]
        if on[0]:
            parts[["other_s", "communication_s", "computation_s", "overlap_s"][on[1] * 2 + on[2]]] += (high - low) / 1e9
    return parts


def distributed(tool, *paths):
    done = tool("report", "--distributed", "--json", *paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["distributed"]


@pytest.mark.parametrize("seq", [True, False])
def test_what_ranks_wait_for_is_the_made_up_truth(tool, tmp_path, seq):
    paths, truths = job(tmp_path, seq=seq)
    ours = distributed(tool, *reversed(paths))
    assert ours["world_size"] == 3 and ours["backend"] == "nccl" and ours["notes"] == [] and ours["straggler"] == 1
    for rank, (row, path, truth) in enumerate(zip(ours["ranks"], paths, truths)):
        assert row["rank"] == rank and row["file"] == str(path) and row["steps"] == 3 and row["collectives"] == 3
        assert row["waiting_s"] == pytest.approx(truth["waiting"] / 1e9, abs=2e-9) and row["transfer_s"] == pytest.approx(truth["transfer"] / 1e9, abs=2e-9)
        assert row["times_last"] == truth["last"] and row["others_waited_s"] == pytest.approx(truth["caused"] / 1e9, abs=2e-9)
        assert {k: row[k] for k in split(path)} == pytest.approx(split(path), abs=1e-8)
        assert sum(split(path).values()) == pytest.approx(row["duration_s"], abs=1e-8)
    (kind,) = ours["collectives"]
    assert (kind["name"], kind["group"], kind["calls"], kind["matched"], kind["bytes"]) == ("allreduce", "[0,1,2]", 9, 3, 9 * 4000)
    assert kind["waiting_s"] == pytest.approx(sum(t["waiting"] for t in truths) / 1e9, abs=1e-8)


def test_a_folder_and_recordings_will_do(tool, tmp_path):
    paths, _ = job(tmp_path)
    (tmp_path / "host_0.16999.pt.trace.json").write_text("an older one of the same worker, never read")
    done = tool("report", "--distributed", "--json", tmp_path)
    ours = json.loads(done.stdout)["distributed"]
    assert "1 older trace of" in done.stderr and ours == distributed(tool, *paths)
    for k, path in enumerate(paths):
        tool("export", "--force", path, "-o", tmp_path / f"{k}.lead")
    leads = distributed(tool, *(tmp_path / f"{k}.lead" for k in range(3)))
    for row in ours["ranks"] + leads["ranks"]:
        row.pop("file")
    assert leads == ours


def test_collectives_of_gloo_on_the_cpu(tool):
    paths = sorted(GLOO.glob("*.gz"))
    ours = distributed(tool, GLOO)
    assert ours["backend"] == "gloo" and [r["rank"] for r in ours["ranks"]] == [0, 1] and ours["notes"] == []
    for row, path in zip(ours["ranks"], paths):
        assert {k: row[k] for k in split(path)} == pytest.approx(split(path), abs=1e-8)
    kinds = {c["name"]: c for c in ours["collectives"]}
    assert kinds["all_reduce"]["calls"] == 12 and kinds["all_reduce"]["matched"] == 6 and kinds["barrier"]["matched"] == 2
    assert kinds["all_reduce"]["bytes"] == 2 * 3 * (4810 + 1000) * 4 and kinds["barrier"]["bytes"] == 0
    text = tool("report", "--distributed", GLOO).stdout
    assert "Ranks (gloo)" in text and "all_reduce" in text


def test_ranks_that_do_not_match_are_told_in_one_line(tool, tmp_path):
    paths, _ = job(tmp_path, seq=False)
    twice = tool("report", "--distributed", paths[0], paths[0])
    assert twice.returncode == 2 and "are both from rank 0" in twice.stderr
    alone = tool("report", "--distributed", paths[0])
    assert alone.returncode == 2 and "two or more" in alone.stderr
    other = json.loads(paths[2].read_text())
    other["distributedInfo"]["world_size"] = 8
    (tmp_path / "other.json").write_text(json.dumps(other))
    done = tool("report", "--distributed", paths[0], tmp_path / "other.json")
    assert done.returncode == 2 and "is from a job of 8 ranks, the others from one of 3" in done.stderr and done.stdout == ""
    fewer = json.loads(paths[1].read_text())
    fewer["traceEvents"] = [e for e in fewer["traceEvents"] if e["ts"] < 7000 + 2000]
    (tmp_path / "fewer.json").write_text(json.dumps(fewer))
    ours = distributed(tool, paths[0], tmp_path / "fewer.json")
    assert ours["notes"] == ["these are 2 of the job's 3 ranks", "rank 0 has 3 steps and rank 1 has 2", "rank 0 has 3 allreduce and rank 1 has 2: they are not compared"]
    assert ours["straggler"] is None and ours["collectives"][0]["matched"] == 0
    both = tool("report", paths[0], paths[1])
    assert both.returncode == 2 and "--distributed takes" in both.stderr
    mixed = tool("report", "--distributed", "--ops", *paths)
    assert mixed.returncode == 2 and "does not apply to --distributed" in mixed.stderr
    (tmp_path / "empty").mkdir()
    none = tool("report", "--distributed", tmp_path / "empty")
    assert none.returncode == 5 and "no trace" in none.stderr


def test_a_job_that_does_not_communicate_says_so(tool, tmp_path):
    for rank in (0, 1):
        shutil.copy(conftest.ROOT / "tests" / "data" / "torch" / "mlp_plain.pt.trace.json.gz", tmp_path / f"rank{rank}.json.gz")
    done = tool("report", "--distributed", tmp_path)
    assert done.returncode == 0 and "none was found" in done.stdout
