/* SPDX-License-Identifier: MIT
 * See terms.h. Alphabetical. Written for somebody who sees the word for the first time. */
#include "cmd/terms.h"

#include <strings.h>

#include "base/banned.h"

const struct term terms[] = {
	{ "bound", "verdict",
		"What a program is bound by: the one thing that would make it faster if there were "
		"more of it.\n"
		"\n"
		"  cpu      it computes: user / (real × P) is near 1. Find the hot function, do "
		"less, or use more cores.\n"
		"  gil      its Python threads take turns on one core. Use processes, a "
		"free-threaded build, or\n"
		"           libraries that release the GIL.\n"
		"  system   the kernel works for it: many system calls or page faults.\n"
		"  io       it waits for storage. Read less, read ahead, or cache.\n"
		"  waiting  it sleeps: timers, locks, the network, other processes.\n"
		"  memory   it waits for memory to be freed or read back (swap). Use less.\n"
		"  mixed    no single thing takes half of the time and 1.3 times as much as the "
		"next.\n"
		"\n"
		"The shares are of wall time and add up to 100 %." },
	{ "exit", "status",
		"Exit statuses\n"
		"\n"
		"  time:  the program's own; 128 + n when signal n killed it; 125 when leadline "
		"itself failed,\n"
		"         wrong usage included; 126 when the program cannot be executed; 127 when "
		"it is not found.\n"
		"  others:\n"
		"    0  done; a damaged recording is shown as far as it can be read, and what is "
		"missing is told\n"
		"       on stderr\n"
		"    1  a check you asked for failed; doctor: the default run will not work here\n"
		"    2  wrong usage\n"
		"    3  a check you asked for could not be decided\n"
		"    4  no permission\n"
		"    5  no such process or file\n"
		"    6  unknown or damaged file, or unknown interpreter layout\n"
		"    7  the system refused: disk full, out of descriptors\n"
		"    8  what `bench` or `compare` was to measure failed" },
	{ "faults", NULL,
		"Page faults. Minor: a page of memory was mapped without reading from storage, "
		"about 0.1 to 1 µs\n"
		"of system time each. Major: it had to be read from storage, often a millisecond. "
		"Many minor ones\n"
		"mean that memory is allocated and given back again and again; many major ones, "
		"that it does not fit." },
	{ "P", "parallelism",
		"P is the mean number of threads that were running or ready to run, while any was: "
		"what the program\n"
		"could use, at most the CPUs it may use (affinity and cgroup quota). A thread that "
		"waits for the GIL\n"
		"sleeps, so it does not count. user / (real × P) near 1 means: it computes all the "
		"time." },
	{ "pressure", "psi",
		"Pressure stall information: the share of the time in which at least one task of "
		"the whole host\n"
		"waited for CPU, storage or memory (/proc/pressure). High CPU pressure: other "
		"programs compete." },
	{ "PSS", NULL,
		"Proportional set size: memory a process uses, pages shared with others counted in "
		"proportion. Adding\n"
		"up PSS over processes is right; adding up RSS counts shared pages several "
		"times." },
	{ "RSS", NULL,
		"Resident set size: memory of a process that is in RAM now, shared pages included. "
		"The figure for the\n"
		"largest process is the kernel's own maximum; sums over the tree are seen at each "
		"look." },
	{ "switches", NULL,
		"Context switches. Voluntary: the program waited for something. Involuntary: it "
		"was ready, and another\n"
		"thread or program got the CPU." },
	{ "top", "htop",
		"top, htop, time and /usr/bin/time -v: use 'leadline time CMD'. It tells what they "
		"tell (CPU, memory,\n"
		"faults, switches, IO, for the program and all its children) and what the program "
		"is bound by.\n"
		"\n"
		"  time CMD              leadline time CMD\n"
		"  time -p CMD           leadline time -p CMD\n"
		"  /usr/bin/time -v CMD  leadline time -v CMD (with each process)\n"
		"  top, htop             leadline time -o run.lead CMD, then leadline report "
		"run.lead: the time line" },
};
const size_t n_terms = sizeof terms / sizeof *terms;

const struct term *term_find(const char *word)
{
	for (size_t i = 0; i < n_terms; i++)
		if (strcasecmp(terms[i].word, word) == 0 ||
			(terms[i].alias && strcasecmp(terms[i].alias, word) == 0))
			return &terms[i];
	return NULL;
}
