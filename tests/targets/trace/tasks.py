"""Coroutines that wait for one another, and threads made by threading."""

import asyncio
import threading


async def leaf(n):
    await asyncio.sleep(0)
    return n


async def branch(n):
    total = 0
    for i in range(n):
        total += await leaf(i)
    return total


async def ticks(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


async def fails():
    await asyncio.sleep(0)
    raise ValueError("in a task")


async def forever():
    try:
        while True:
            await asyncio.sleep(1000)
    finally:
        await leaf(0)


class Context:
    async def __aenter__(self):
        return await leaf(1)

    async def __aexit__(self, *what):
        await leaf(2)


async def main():
    await asyncio.gather(*(branch(i) for i in range(5)), fails(), return_exceptions=True)
    [x async for x in ticks(4)]
    task = asyncio.ensure_future(forever())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    async with Context():
        pass


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work(n):
    fib(n)
    sum(x for x in range(n))


asyncio.run(main())
threads = [threading.Thread(target=work, args=(5 + i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
