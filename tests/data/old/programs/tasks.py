import asyncio
import time


def burn(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        for row in range(300):
            total += row * row % 7
    return total


async def client(seconds):
    for _ in range(100):
        burn(seconds / 3)
        await asyncio.sleep(0.002)


async def main():
    await asyncio.gather(*(asyncio.create_task(client(0.02 + 0.02 * n), name="client-%d" % n) for n in range(3)))


print("ready", flush=True)
asyncio.run(main())
