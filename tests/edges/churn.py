"""Threads, processes, code objects and asyncio's tasks that come and go, none of them twice under one name: churn.py SECONDS [READY]

Makes the file READY when it begins. It knows no truth to tell: whoever watches it must not grow.
"""
import asyncio
import os
import subprocess
import sys
import threading
import time

from stamps import burn

SECONDS = float(sys.argv[1])
BURN_S = 0.001
EVERY_S = 0.05  # a round: what is kept for a while is as much at any time, however fast the machine is just now


def compile_one(number):
    """A function that was never there before."""
    names = {"burn": burn, "BURN_S": BURN_S}
    exec(compile("def made_%d():\n    burn(BURN_S)\n" % number, "<made %d>" % number, "exec"), names)
    return names["made_%d" % number]


def run_threads(number):
    threads = [threading.Thread(target=compile_one(4 * number + i), name="churn %d %d" % (number, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fork(number):
    pid = os.fork()
    if not pid:
        compile_one(number)()
        os._exit(0)
    os.waitpid(pid, 0)


def start_program(number):
    subprocess.run([sys.executable, "-S", "-c", "# %d\nsum(range(20000))" % number], check=True)


async def one_task():
    burn(BURN_S)
    await asyncio.sleep(0)
    burn(BURN_S)


async def run_tasks(number):
    loop = asyncio.get_running_loop()
    made = [loop.create_task(one_task()) for _ in range(4)]
    for i, task in enumerate(made):
        task.set_name("task %d of %d" % (i, number))
    for task in made:
        await task


def churn(end):
    number, begin = 0, time.monotonic()
    while time.monotonic() < end:
        time.sleep(max(0, begin + number * EVERY_S - time.monotonic()))
        run_threads(number)
        asyncio.run(run_tasks(number))
        fork(number)
        if number % 8 == 0:
            start_program(number)
        number += 1
    return number


if len(sys.argv) > 2:
    with open(sys.argv[2], "w"):
        pass
print(churn(time.monotonic() + SECONDS), "rounds")
