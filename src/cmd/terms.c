/* SPDX-License-Identifier: MIT
 * See terms.h. Alphabetical, signs last. Written for somebody who sees the word for the first time. */
#include "cmd/terms.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

const struct term terms[] = {
	{ "accounted", "books lost not-seen late sampler-late",
		"Does a recording cover all of the time? What was sampled is checked against the\n"
		"kernel's clocks.\n"
		"\n"
		"  accounted: 99.4 % of 20.0 s of CPU, 99.9 % of 41 s of threads\n"
		"\n"
		"The first figure is the CPU time that samples stand for, of what the kernel\n"
		"counted for the processes. The second is the time of their threads, from the\n"
		"first to the last sample of each. What is missing has a name:\n"
		"\n"
		"  [sampler late]      nobody looked because the machine was too busy; run it\n"
		"                      again, without raising the rate\n"
		"  threads not seen    they came and went between two samples\n"
		"  lost                samples that met a stack while it changed\n"
		"  shortened           stacks whose outermost functions are missing" },
	{ "amdahl", "speedup limit",
		"Amdahl's law: make the part that takes the share p of the time s times as fast,\n"
		"and the whole becomes 1 / (1 - p + p / s) times as fast.\n"
		"\n"
		"  matmul takes 60 %; twice as fast:     1 / (0.4 + 0.3) = 1.43 times\n"
		"  the same, made to take no time:       1 / 0.4         = 2.5 times, and no more\n"
		"  a function of 2 %, whatever you do:   at most 1.02 times\n"
		"\n"
		"So look at the top of 'leadline report' first. The same holds for cores: what\n"
		"runs on one core alone limits what the others bring (leadline bench --scale\n"
		"threads=1,2,4)." },
	{ "bound", "verdict CPU-bound cpu-bound waiting",
		"What a program is bound by: the one thing that would make it faster if there\n"
		"were more of it.\n"
		"\n"
		"  cpu        it computes. Find the hot function, do less, or use more cores.\n"
		"             Waiting for memory counts as computing: only hardware counters\n"
		"             could tell them apart.\n"
		"  gil        its Python threads take turns on one core. Use processes, a\n"
		"             free-threaded build, or libraries that release the GIL.\n"
		"  system     the kernel works for it: many system calls or page faults.\n"
		"  io         it waits for storage. Read less, read ahead, or cache.\n"
		"  waiting    it sleeps: timers, locks, the network, other processes.\n"
		"  memory     it waits for memory to be freed or read back (swap). Use less.\n"
		"  mixed      no single thing takes half of the time and 1.3 times as much as\n"
		"             the next.\n"
		"  too_short  the kernel's clock ticked too few times to tell user time from\n"
		"             system time, or other programs had the CPU nearly all the time.\n"
		"\n"
		"The shares are of wall time and add up to 100 %. One of them is no verdict:\n"
		"\n"
		"  runnable   it was ready to run, but other programs had the CPU. The verdict\n"
		"             is about the rest of the time, so it does not depend on what else\n"
		"             the machine does." },
	{ "callgraph", "edges",
		"Who called whom, how often and for how long: that is all cProfile's files hold.\n"
		"If a function has several callers, the time of its callees is split among them\n"
		"as its own time is. What a caller really caused may differ. Pictures made of\n"
		"such a file say so.\n"
		"\n"
		"  leadline view x.prof                  flame graph and icicle of a .prof\n"
		"  leadline run script.py                true stacks, if you can run it again" },
	{ "CPU", "cpu-time",
		"Time on a CPU: what the program computed, over all its threads, without\n"
		"waiting.\n"
		"\n"
		"  leadline time CMD             user (its own code) and system (the kernel)\n"
		"  leadline report --state cpu   only samples of threads that were on a CPU\n"
		"\n"
		"Two threads that compute for 1 s use 2 s of CPU in 1 s of wall time. Compare:\n"
		"help wall, runnable, idle." },
	{ "cumtime", "cumulative cumulative-time",
		"pstats' word for the time of a function and everything it calls; leadline's own\n"
		"tables call it 'total'. In recursion each moment counts once. Sort by it to see\n"
		"where the program goes, from <module> down.\n"
		"\n"
		"  leadline run --trace -s cumtime script.py     every call, as in cProfile\n"
		"  leadline report run.lead -s cumtime           sampled\n"
		"\n"
		"See also: help tottime, ncalls, percall." },
	{ "exit", "status exit-status",
		"Exit statuses\n"
		"\n"
		"  run, lines, time:\n"
		"    the program's own; 128 + n if signal n killed it; 125 if leadline itself\n"
		"    failed, wrong usage included; 126 if the program cannot be executed; 127 if\n"
		"    it is not found; 1 if it succeeded but nothing could be traced because\n"
		"    leadline has no agent for its interpreter\n"
		"  others:\n"
		"    0  done; a damaged recording is shown as far as it can be read, and stderr\n"
		"       says what is missing\n"
		"    1  a check you asked for failed; doctor: the default run will not work\n"
		"       here; an option asks for something that is not built yet\n"
		"    2  wrong usage\n"
		"    3  a check you asked for could not be decided\n"
		"    4  no permission\n"
		"    5  no such process or file\n"
		"    6  unknown or damaged file, or unknown interpreter layout\n"
		"    7  the system refused: disk full, out of descriptors\n"
		"    8  what `bench` or `compare` was to measure failed" },
	{ "faults", NULL,
		"Page faults. Minor: a page of memory was mapped without reading from storage,\n"
		"which takes about 0.1 to 1 µs of system time. Major: it had to be read from\n"
		"storage, often for a millisecond. Many minor faults mean that memory is\n"
		"allocated and given back again and again; many major ones, that it does not\n"
		"fit." },
	{ "flame", "flamegraph icicle sunburst",
		"A picture of stacks. Each box is a function, as wide as its time; what it calls\n"
		"stands on top of it. Left and right mean nothing: look for wide boxes, and among\n"
		"them for those with nothing on top (self time).\n"
		"\n"
		"  leadline view run.lead                flame graph and icicle (upside down)\n"
		"  leadline export run.lead -o run.svg   as a file\n"
		"\n"
		"A .prof file has no stacks, only who called whom: see help callgraph." },
	{ "GC", "gc garbage-collection collector",
		"Python's cyclic garbage collector looks for objects that only refer to one\n"
		"another, and stops the program meanwhile. Reports show its share; that time\n"
		"counts for the functions it interrupted.\n"
		"\n"
		"  gc.freeze() after the start, gc.set_threshold(100000)   collect less often\n"
		"  gc.disable()                                            never: only where no\n"
		"                                                          cycles are made" },
	{ "GIL", "global-interpreter-lock",
		"The global interpreter lock: the thread that holds it runs Python, all others\n"
		"wait for it. So threads share one core, unless they wait for something else or\n"
		"run code that releases the GIL (NumPy, hashlib, reading files).\n"
		"\n"
		"  leadline report --state gil   where threads were while they held it\n"
		"  leadline run script.py        the verdict says if the GIL limits a program\n"
		"\n"
		"What helps: processes, a free-threaded build (python3.13t and later), libraries\n"
		"that release the GIL." },
	{ "idle", NULL,
		"A thread that only waits for work: a worker of a pool, a server's accept, a\n"
		"queue's get. Such time would bury the rest, so it is left out and mentioned\n"
		"below the table. --idle counts it.\n"
		"\n"
		"  leadline report --idle --threads run.lead\n"
		"\n"
		"A thread that waits for something it asked for (a file, an answer, a lock) is\n"
		"not idle. That time counts, and --state wait shows it alone." },
	{ "imports", "import [imports]",
		"Time spent importing modules: one row, [imports], with the packages that took\n"
		"most of it.\n"
		"\n"
		"  leadline report --imports run.lead    each module, and who imported whom\n"
		"\n"
		"You pay it once per start. To shorten it, import less, or import late: inside\n"
		"the function that needs the module." },
	{ "ncalls", "calls",
		"How often a function was called. 21/1 means 21 calls, 1 of them from outside:\n"
		"the others are recursion (the 1 is pstats' primitive calls). For generators and\n"
		"coroutines, leadline also counts how often they were resumed.\n"
		"\n"
		"  leadline run --trace script.py        counted and timed\n"
		"  leadline run --count script.py        only counted, which costs less\n"
		"\n"
		"Sampling does not count calls, so sampled tables have no ncalls." },
	{ "P", "parallelism",
		"P is the mean number of threads that were running or ready to run, while any\n"
		"was: what the program could use, at most the CPUs it may use (affinity and\n"
		"cgroup quota). A thread that waits for the GIL sleeps, so it does not count.\n"
		"A program that computes all the time uses real × P of user time." },
	{ "percall", NULL,
		"Time per call: tottime / ncalls, and cumtime per primitive call (see help\n"
		"ncalls).\n"
		"\n"
		"  ncalls  tottime  percall\n"
		"    2000    0.004  2.00 µs      2000 calls that took 4 ms in all\n"
		"\n"
		"A call below about a microsecond is mostly the cost of calling." },
	{ "phases", "phase set-up validation training",
		"Where the time of a PyTorch training run went, besides its steps:\n"
		"\n"
		"  imports      importing modules, by samples of the main thread\n"
		"  set-up       anything else before the first step\n"
		"  training     its steps\n"
		"  validation   forward passes without a backward pass, between steps or after\n"
		"               them\n"
		"  saving       torch.save and the like, by samples\n"
		"  other        the rest\n"
		"\n"
		"'leadline report run.lead --overview' lists them. --phase training counts only\n"
		"the steps, in report, export and diff." },
	{ "pressure", "psi",
		"Pressure stall information: the share of the time in which at least one task of\n"
		"the whole host waited for CPU, storage or memory (/proc/pressure). High CPU\n"
		"pressure means that other programs compete for the CPU." },
	{ "PSS", "proportional",
		"Proportional set size: the memory a process uses, with shared pages divided\n"
		"among the processes that share them. PSS can be added up over processes; adding\n"
		"up RSS counts shared pages several times." },
	{ "RSS", NULL,
		"Resident set size: memory of a process that is in RAM now, shared pages\n"
		"included. The figure for the largest process is the kernel's own maximum; sums\n"
		"over all processes come from regular looks at /proc." },
	{ "runnable", "ready",
		"Ready to run, but other programs had the CPU. This says something about the\n"
		"machine, not about the program, so the verdict leaves it out.\n"
		"\n"
		"  leadline report --state runnable      where threads waited for a CPU\n"
		"\n"
		"Much of it means too many processes or threads for the cores, a cgroup quota, or\n"
		"a busy neighbour." },
	{ "sampling", "sample sampler",
		"Looking at the stacks of all threads many times a second, from outside: what\n"
		"shows up in 30 % of the samples takes 30 % of the time, give or take (help ±).\n"
		"It costs the program next to nothing and needs no change to it. It does not\n"
		"count calls, and may miss what is rare and short.\n"
		"\n"
		"  leadline run script.py                1000 times a second\n"
		"  leadline attach -d 10 PID             a running program\n"
		"\n"
		"Compare: help tracing." },
	{ "self", NULL,
		"Time in a function's own code, without what it calls: this is what you can make\n"
		"faster in the function itself. pstats calls it tottime. 'total' includes what it\n"
		"calls.\n"
		"\n"
		"  def f():          self of f: the loop\n"
		"      for x in y:   total of f: the loop and all of g\n"
		"          g(x)" },
	{ "switches", NULL,
		"Context switches. Voluntary: the program waited for something. Involuntary: it\n"
		"was ready to run, and another thread or program got the CPU." },
	{ "top", "htop",
		"Instead of top, htop, time and /usr/bin/time -v, use 'leadline time CMD'. It\n"
		"shows what they show (CPU, memory, faults, switches, IO, for the program and all\n"
		"its children) and what the program is bound by.\n"
		"\n"
		"  time CMD              leadline time CMD\n"
		"  time -p CMD           leadline time -p CMD\n"
		"  /usr/bin/time -v CMD  leadline time -v CMD; each process: --tree\n"
		"  top, htop             leadline time -o run.lead CMD, then leadline report\n"
		"                        run.lead: the timeline" },
	{ "total", NULL,
		"Time in a function and everything it calls, counted once in recursion; pstats\n"
		"calls it cumtime. The share of <module> or main is near 100 %. A function with\n"
		"much total and little self only leads to the hot one: follow it with leadline\n"
		"report --callees NAME, or --tree." },
	{ "tottime", NULL,
		"pstats' word for the time in a function's own code, without what it calls;\n"
		"leadline's own tables call it 'self'. It is not the total time: that is cumtime.\n"
		"\n"
		"  leadline run --trace -s tottime script.py     every call, as in cProfile\n"
		"  leadline report run.lead -s tottime           sampled" },
	{ "tracing", "trace tracer",
		"Stamping the start and the end of every call, from inside the program: exact\n"
		"counts, and times corrected for what the stamps cost. Meanwhile, programs with\n"
		"many small calls run slower.\n"
		"\n"
		"  leadline run --trace script.py            as cProfile does\n"
		"  leadline run --budget=10% script.py       at most that much slower\n"
		"  leadline run --trace=timeline script.py   every call in order of time, as\n"
		"                                            viztracer does\n"
		"\n"
		"Compare: help sampling." },
	{ "wall", "real wall-time",
		"Time that passes on a clock, whether the program computes, waits or queues for a\n"
		"CPU. It is what users wait for, and the default in all tables; 'leadline time'\n"
		"calls it real.\n"
		"\n"
		"  leadline report --state wall | cpu | wait | gil | runnable\n"
		"\n"
		"Compare: help CPU." },
	{ "±", "interval error",
		"How far the figure before it may be off.\n"
		"\n"
		"  42.6 %  ±5.8     sampled: in 95 of 100 recordings, the true share lies\n"
		"                   between 36.8 and 48.4 %\n"
		"  0.010   4.2 %    traced: how far the time may be from that of an untraced run\n"
		"\n"
		"More samples make it narrower: four times as many halve it (run longer, or use\n"
		"--rate 10k). Two rows whose ranges overlap may well be equal. report --ci shows\n"
		"both ends; leadline compare decides whether a change helped." },
};
const size_t n_terms = sizeof terms / sizeof *terms;

static bool is_alias(const char *aliases, const char *word)
{
	size_t n = strlen(word);

	for (; *aliases; aliases += strspn(aliases, " ")) {
		size_t length = strcspn(aliases, " ");

		if (length == n && strncasecmp(aliases, word, n) == 0)
			return true;
		aliases += length;
	}
	return false;
}

const struct term *term_find(const char *word)
{
	for (size_t i = 0; i < n_terms; i++)
		if (strcasecmp(terms[i].word, word) == 0 ||
			(terms[i].aliases && is_alias(terms[i].aliases, word)))
			return &terms[i];
	return NULL;
}
