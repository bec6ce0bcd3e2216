/* SPDX-License-Identifier: MIT
 *
 * What /proc says of a process or thread, parsed. Parsers take text, so they are tested without a
 * process; a field that is missing is PROC_UNKNOWN. Names come from the target: hostile text. */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_UNKNOWN UINT64_MAX

struct proc_stat {  /* /proc/PID/stat and /proc/PID/task/TID/stat; times in ns */
	char state; /* R S D Z T … */
	char name[64];
	pid_t parent;
	uint64_t minor_faults, major_faults;
	uint64_t children_minor_faults, children_major_faults; /* waited-for children */
	uint64_t user_ns, system_ns;                   /* of all its threads, dead ones too */
	uint64_t children_user_ns, children_system_ns; /* waited-for children */
	uint64_t n_threads;
	uint64_t start_ns; /* after boot */
	uint64_t rss_bytes;
};

struct proc_io { /* /proc/PID/io: of the process and the children it waited for */
	uint64_t read_chars, write_chars; /* through system calls */
	uint64_t read_calls, write_calls;
	uint64_t read_bytes, write_bytes; /* from and to storage */
};

struct proc_sched {        /* /proc/PID/task/TID/schedstat */
	uint64_t cpu_ns;   /* on a CPU */
	uint64_t queue_ns; /* runnable, waiting for one */
};

bool proc_stat_parse(const char *text, struct proc_stat *ret);
void proc_io_parse(const char *text, struct proc_io *ret);
bool proc_sched_parse(const char *text, struct proc_sched *ret);
/* The number after "name:" of /proc/PID/status and its like ("voluntary_ctxt_switches"). */
uint64_t proc_field(const char *text, const char *name);

/* Reads a file of /proc into a string cut at size - 1 bytes; the bytes read, or -1 with errno. */
ssize_t proc_read(char *to, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same from a descriptor that stays open (from the start of the file). */
ssize_t proc_read_fd(char *to, size_t size, int fd);

/* The command line, quoted for a shell, at most `size` bytes; the name in brackets where there is
 * none (zombies, kernel threads). false when the process is gone. */
bool proc_command(pid_t pid, char *to, size_t size);

/* Total µs of "some" (and "full") in /proc/pressure/WHAT; PROC_UNKNOWN without PSI. */
void proc_pressure(const char *what, uint64_t *ret_some_us, uint64_t *ret_full_us);

/* The id of a thread (or, where they are the same, a process) in the innermost namespace it is in: what it sees itself. 0: it has ended. */
uint64_t proc_inner_id(pid_t pid, uint64_t tid);

#endif
