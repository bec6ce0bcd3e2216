import _thread
import os


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def parse(text):
    return sorted(text.split(","))


def rows(count):
    for number in range(count):
        yield parse(str(number) + ",7,3")


def work(count):
    return sum(len(row) for row in rows(count)) + fib(11)


def second(done):
    work(60)
    done.release()


def main():
    child = os.fork()
    if child == 0:
        work(20)
        os._exit(0)
    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(second, (done,))
    work(90)
    done.acquire()
    os.waitpid(child, 0)


main()
