"""The recorder's memory does not grow with what came and went; `make soak` watches it for longer."""
import churn
import conftest

SEGMENT_S = 60  # of a recording, which keeps the tables of one in memory
SECONDS = 105
# In a round of the program four threads, four tasks, a process and five functions come and go: what they leave is 3 kB where all of it is kept.
MOST_BYTES_A_ROUND = 200
SLACK_BYTES = 2 * 1024 * 1024  # buffers fill for minutes, and holes come and go; `make soak` watches for what is slower


def test_memory_is_bounded_while_everything_comes_and_goes():
    readings, rounds = churn.watch(conftest.LEADLINE, "3.13", SECONDS)
    grown = churn.middle(readings, SECONDS - 10, SECONDS) - churn.middle(readings, SEGMENT_S - 8, SEGMENT_S - 2)
    assert rounds > 50
    assert grown <= SLACK_BYTES + MOST_BYTES_A_ROUND * rounds / 2, [rounds] + [f"{at:.0f} s {size // 1024} KiB" for at, size in readings[::10]]
