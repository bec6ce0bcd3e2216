"""An event loop with heartbeats, simulated downloads and one task that does not give way.

Needs nothing. Run:  python asyncio_mixed.py [scale]   (scale 1 writes 10 reports)
"""

# what is wrong with it: write_reports blocks the loop (CPU work, time.sleep), so all tasks wait; use run_in_executor
import asyncio
import sys
import time

HEARTBEATS, PERIOD = 3, 0.02


async def heartbeat(late):
    """Wake every PERIOD seconds and note by how much each wake-up was late."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + PERIOD
        await asyncio.sleep(PERIOD)
        late.append(loop.time() - due)


async def download(pages):
    """Fetch pages over a network that takes its time; blocks nobody."""
    size = 0
    for page in range(pages):
        await asyncio.sleep(0.01)
        size += len(f"page {page}" * 100)
    return size


def summarise(numbers):
    return sum(n * n % 7 for n in range(numbers))


def save(report):
    time.sleep(0.1)  # a slow disk, waited for in the wrong way
    return len(str(report))


async def write_reports(count):
    for _ in range(count):
        save(summarise(2_000_000))
        await asyncio.sleep(0.01)


async def run(count):
    late = []
    beats = [asyncio.ensure_future(heartbeat(late)) for _ in range(HEARTBEATS)]
    await asyncio.gather(write_reports(count), download(5 * count), download(5 * count))
    for beat in beats:
        beat.cancel()
    await asyncio.gather(*beats, return_exceptions=True)
    return late


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    count = max(1, round(10 * scale))
    late = asyncio.run(run(count))
    worst = max(late, default=0.0)
    print(f"{count} reports, {len(late)} heartbeats, the latest one {worst * 1000:.0f} ms behind time")


if __name__ == "__main__":
    main()
