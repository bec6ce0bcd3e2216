"""asyncio tasks that await each other in known ways, for `leadline dump`.

Says "ready" when all wait, then blocks in a plain call of the running task until the end of its input."""
import asyncio
import sys


async def leaf():
    await asyncio.get_running_loop().create_future()


async def middle():
    await leaf()


async def gathers():
    await asyncio.gather(name(middle(), "child-0"), name(middle(), "child-1"))


async def awaits(task):
    await task


async def groups():
    async with asyncio.TaskGroup() as group:
        name(None, "grouped-0", group.create_task(middle()))
        name(None, "grouped-1", group.create_task(middle()))


async def shields(task):
    await asyncio.shield(task)


async def waits(task):
    await asyncio.wait({task})


def name(coroutine, text, task=None):
    task = task or asyncio.ensure_future(coroutine)
    task.set_name(text)
    return task


def block():
    print("ready", flush=True)
    sys.stdin.read()


async def main():
    kept = [name(gathers(), "gatherer")]
    for how in (awaits, shields, waits):
        kept.append(name(middle(), "of-" + how.__name__))
        kept.append(name(how(kept[-1]), how.__name__))
    if hasattr(asyncio, "TaskGroup"):
        kept.append(name(groups(), "grouper"))
    for _ in range(5):
        await asyncio.sleep(0)
    block()


try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
