/* SPDX-License-Identifier: MIT
 * See session.h: the processes that have said hello, who they are and how their end is noticed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG_TOPIC "session"

#include "base/log.h"
#include "base/xalloc.h"
#include "collect/agents/session_state.h"
#include "sys/proc.h"
#include "base/banned.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { CHECK_MS = 100 }; /* without pidfds: how often processes are looked up */

static bool read_stat(pid_t pid, struct proc_stat *ret)
{
	char text[1024];

	return proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) > 0 &&
		proc_stat_parse(text, ret);
}

/* Without a pidfd. A zombie whose threads live on is not gone. */
static bool is_gone(const struct process *p)
{
	struct proc_stat now;

	return !read_stat(p->pub.pid, &now) || now.start_ns != p->pub.start_ns ||
		((now.state == 'Z' || now.state == 'X') && now.n_threads <= 1);
}

void session_process_free(struct process *p)
{
	if (!p)
		return;
	if (p->pid_fd >= 0)
		close(p->pid_fd);
	if (p->map)
		munmap(p->map, p->layout->map_bytes);
	free(p->threads);
	free(p);
}

void session_process_end(struct session *s, struct process *p)
{
	if (p->pid_fd >= 0) {
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, p->pid_fd, NULL);
		close(p->pid_fd);
		p->pid_fd = -1;
	}
	p->has_ended = true;
}

/* A pidfd cannot come to mean another process. SO_PEERPIDFD (6.5) closes the last gap: a client
 * that died, and whose pid was taken again, between its hello and our looking. */
static int open_pid_fd(const struct session *s, int conn_fd, pid_t pid)
{
	socklen_t n = sizeof(int);
	int fd;

	if (s->o.without_pidfd)
		return -1;
	if (getsockopt(conn_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &n) == 0)
		return fd;
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

static void take_build(struct process *p, const struct session_hello *hello)
{
	memcpy(p->build, hello->build, sizeof p->build - 1);
	for (char *c = p->build; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	p->pub.build = p->build;
}

/* The latest entry of a process stays until the process has ended or says hello again: the count is there. */
static uint32_t count_hello(struct session *s, const struct process *p)
{
	uint32_t n = 0;

	vec_each (&s->processes, other) {
		const struct session_process *o = &(*other)->pub;

		if (o->pid == p->pub.pid && o->start_ns == p->pub.start_ns && o->n_hellos > n)
			n = o->n_hellos;
	}
	return n + 1;
}

/* Whatever had this pid before and is not the same image has ended: exec, or the pid came round. */
static void end_predecessors(struct session *s, const struct process *p)
{
	for (size_t i = 0; i < s->processes.n; i++) {
		struct process *old = s->processes.v[i];

		if (old->pub.pid == p->pub.pid && !old->has_ended &&
			(old->pub.start_ns != p->pub.start_ns || old->pub.image != p->pub.image))
			session_process_end(s, old);
	}
}

struct process *session_process_new(
	struct session *s, int conn_fd, pid_t pid, const struct session_hello *hello)
{
	struct process *p = xcalloc(1, sizeof *p);
	struct proc_stat st;

	p->source = SOURCE_PROCESS;
	p->layout = &s->layout;
	p->pid_fd = open_pid_fd(s, conn_fd, pid);
	p->pub.id = (uint32_t)s->stats.n_processes + 1;
	p->pub.pid = pid;
	p->pub.own_pid = hello->pid;
	p->pub.parent_pid = hello->parent_pid;
	p->pub.start_ns = read_stat(pid, &st) ? st.start_ns : 0;
	p->pub.image = hello->image;
	take_build(p, hello);
	return p;
}

void session_process_add(struct session *s, struct process *p)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &p->source };

	p->threads = xcalloc(s->layout.n_slots, sizeof *p->threads);
	for (uint32_t i = 0; i < s->layout.n_slots; i++)
		ring_reader_init(&p->threads[i].ring, &session_slot_at(&s->layout, p->map, i)->ring,
			session_ring_at(&s->layout, p->map, i), s->layout.ring_bytes);
	p->pub.n_hellos = count_hello(s, p);
	end_predecessors(s, p);
	if (p->pid_fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, p->pid_fd, &ev) < 0) {
		close(p->pid_fd); /* then it is looked up now and then */
		p->pid_fd = -1;
	}
	vec_push(&s->processes, p);
	s->stats.n_processes++;
	log_debug(1, "process %u: pid %d, hello %u, %s", p->pub.id, (int)p->pub.pid,
		p->pub.n_hellos, p->build);
}

void session_process_look_up(struct session *s, uint64_t now_ns)
{
	if (now_ns - s->checked_ns < CHECK_MS * (uint64_t)1000000)
		return;
	s->checked_ns = now_ns;
	for (size_t i = 0; i < s->processes.n; i++) {
		struct process *p = s->processes.v[i];

		if (p->pid_fd < 0 && !p->has_ended && is_gone(p))
			session_process_end(s, p);
	}
}
