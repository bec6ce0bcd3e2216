"""Little but lines: a loop with two branches, of which one is taken. Marked for line_profiler and for `leadline run --lines=`; prints T and the
seconds it took."""
import builtins
import sys
import time

N = 1_000_000
mark = getattr(builtins, "profile", lambda function: function)


@mark
def hot(n):
    s = 0
    for i in range(n):
        a = i * 3
        b = a ^ i
        if b & 1:
            s += b
        else:
            s -= a
    return s


if __name__ == "__main__":
    begin = time.perf_counter()
    hot(N)
    sys.stderr.write("T %.4f\n" % (time.perf_counter() - begin))
