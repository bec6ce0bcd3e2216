"""Traces of torch.profiler under AddressSanitizer and UBSan, whole and damaged in ways that a reader of JSON lets pass: ids twice, times and
sizes out of all bounds, spans that end before they begin. Every page, every comparison, every file that is made of one."""
import gzip
import random
import re

import conftest
import pytest
from test_sanitized import sanitized
from torch_traces import DATA, trace

TRACES = sorted(p.name.split(".")[0] for p in DATA.glob("*.pt.trace.json.gz"))
RANKS = sorted((conftest.ROOT / "tests" / "data" / "torch_ranks").iterdir())
PAGES = [["--overview", "--steps", "--ops", "--kernels", "--streams", "--modules", "--memory", "--compile"],
         ["--ops", "--torch", "--limit=-1"], ["--ops", "--torch=2.11", "--group-by-shape", "--sort=self_cuda_time_total"],
         ["--overview", "--steps", "--ops", "--group-by-stack=3", "--kernels", "--streams", "--modules", "--memory", "--compile", "--json", "--limit=0"]]
FINE, DAMAGED = 0, 6
ODD = ["-1", "0", "1", "1e308", "-1e30", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "4294967295", "0.0001", "null", '""', "[]", "{}"]


def damaged(text, seed):
    """With 1 to 40 numbers and names exchanged for others, and now and then cut off."""
    rng = random.Random(seed)
    tokens = re.split(r'(-?\d+(?:\.\d+)?|"[^"]*")', text)
    for _ in range(rng.choice((1, 5, 40))):
        at = rng.randrange(1, len(tokens), 2)
        tokens[at] = rng.choice(ODD) if rng.random() < 0.5 else tokens[rng.randrange(1, len(tokens), 2)]
    text = "".join(tokens)
    return text[: rng.randrange(len(text))] if rng.random() < 0.1 else text


def look_at(path, folder, whole):
    """Everything there is to ask of one trace. None of it may end otherwise than well or with the word that the file is damaged."""
    allowed = (FINE, DAMAGED)
    for options in PAGES:
        assert sanitized("report", *options, path).returncode in allowed
    assert sanitized("diff", path, whole).returncode in allowed
    assert sanitized("diff", "--json", "--normalize=absolute", whole, path).returncode in allowed
    made = sanitized("export", "--force", path, "-o", folder / "t.lead").returncode
    assert made in allowed
    if made == FINE:
        assert sanitized("report", *PAGES[0], folder / "t.lead").returncode == FINE
        assert sanitized("export", "--force", folder / "t.lead", "--format=torch-trace", "-o", folder / "again.json").returncode == FINE


@pytest.mark.parametrize("name", TRACES)
def test_a_trace(name, tmp_path):
    whole = trace(name)
    look_at(whole, tmp_path, whole)
    text = gzip.decompress(whole.read_bytes()).decode()
    for seed in range(2):
        path = tmp_path / f"{seed}.json"
        path.write_text(damaged(text, f"{name} {seed}"))
        look_at(path, tmp_path, whole)


def test_ranks(tmp_path):
    assert sanitized("report", "--distributed", RANKS[0].parent).returncode == FINE
    texts = [gzip.decompress(p.read_bytes()).decode() for p in RANKS]
    for seed in range(8):
        for i, text in enumerate(texts):
            (tmp_path / f"node_{i}.1.pt.trace.json").write_text(damaged(text, f"{i} {seed}"))
        for options in ([], ["--json"]):
            assert sanitized("report", "--distributed", *options, tmp_path).returncode in (FINE, 2, DAMAGED)


def test_the_page(tmp_path):
    """As one file, which holds what the server would answer."""
    assert sanitized("view", "--force", trace("h200_conv"), "-o", tmp_path / "t.html").returncode == FINE
