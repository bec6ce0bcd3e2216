/* SPDX-License-Identifier: MIT
 *
 * The daemon's end of the protocol by which programs with PyTorch are asked for a trace while they run. A program started with
 * KINETO_USE_DAEMON set asks a UNIX datagram socket every 5 s whether there is something to do, and gives up on an answer after 90 ms:
 *
 *	datagram   u64 bytes of payload; char type[32]; payload
 *	"req"      from the program: i32 kind; i32 n; i64 job; i32 pid[n]   (itself, then its ancestors)
 *	           to it: the text of a configuration, empty when there is nothing to do
 *	"ctxt"     from the program (older ones): i32 device; i32 pid; i64 job; to it: i32 how many there are
 *
 * All in the machine's byte order. The socket is the abstract name "dynolog" with a NUL behind it, or that of a file in the folder that
 * KINETO_IPC_SOCKET_DIR names to the program. Whoever owns it serves all programs of the machine; what they send is theirs: hostile. */
#ifndef COLLECT_TORCH_KINETO_H
#define COLLECT_TORCH_KINETO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct buf;
struct err;

enum kineto_kind { KINETO_OTHER, KINETO_REQUEST, KINETO_CONTEXT };

struct kineto_message {
	enum kineto_kind kind;
	bool wants_trace; /* REQUEST: it could make one now */
	pid_t own_pid;    /* as the program itself sees it */
};

struct kineto_peer {
	struct kineto_message message;
	pid_t pid; /* as we see it, by the kernel's word; 0: it is in no namespace of ours */
	struct sockaddr_un address;
	socklen_t n_address;
};

struct kineto_wish {
	const char *file;   /* "x.pt.trace.json": the program puts "_PID" before the suffix */
	uint64_t start_ms;  /* since the epoch; with steps 0 */
	uint64_t length_ms; /* or */
	uint64_t n_steps;   /* calls of optimizers' step() */
	uint64_t warm_up_s;
};

/* False for what is no message. */
bool kineto_parse(const void *data, size_t n, struct kineto_message *ret);
/* What a program is asked for, as it reads it. */
void kineto_config(struct buf *out, const struct kineto_wish *w);

/* The daemon's socket; folder NULL: the abstract one. A file has the mode that the umask leaves. ERR_SYSTEM with sys EADDRINUSE where somebody else has it. */
int kineto_listen(const char *folder, int *ret_fd, struct err *e);
/* Takes the next datagram without waiting; false when there is none. */
bool kineto_receive(int fd, struct kineto_peer *ret);
/* Answers it; config NULL: nothing to do. False when it cannot be reached. */
bool kineto_answer(int fd, const struct kineto_peer *to, const struct buf *config);

#endif
