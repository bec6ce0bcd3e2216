/* SPDX-License-Identifier: MIT
 * See privilege.h. */
#include "sys/privilege.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sys/proc.h"
#include "base/banned.h"

/* Fixed since Linux 3.8: include/linux/proc_ns.h, PROC_USER_INIT_INO and PROC_PID_INIT_INO. */
#define INITIAL_USER_NS "user:[4026531837]"
#define INITIAL_PID_NS  "pid:[4026531836]"

/* The text after "\nNAME:" and its blanks; NULL without such a line. */
static const char *find_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
		if (strncmp(text, name, n) == 0 && text[n] == ':')
			return text + n + 1 + strspn(text + n + 1, " \t");
	return NULL;
}

static bool parse_number(const char *text, int base, uint64_t *ret)
{
	char *end;
	uint64_t value;

	if (!text || !*text || strchr("+- \t\n", *text))
		return false;
	value = strtoull(text, &end, base);
	if (end == text || !strchr(" \t\n", *end))
		return false;
	*ret = value;
	return true;
}

void privilege_parse_status(const char *text, struct privilege *ret)
{
	const char *uid = find_line(text, "Uid"); /* real, effective, saved, file system */
	uint64_t value;

	if (uid) {
		uid += strcspn(uid, " \t\n");
		uid += strspn(uid, " \t");
	}
	if (parse_number(uid, 10, &value) && value <= UINT32_MAX)
		ret->uid = (unsigned)value;
	if (parse_number(find_line(text, "CapEff"), 16, &value))
		ret->capabilities = value;
	if (parse_number(find_line(text, "Seccomp"), 10, &value) && value <= SECCOMP_FILTERED)
		ret->seccomp = (enum privilege_seccomp)value;
}

int privilege_parse_yama(const char *text)
{
	uint64_t value;

	return parse_number(text, 10, &value) && value <= 3 ? (int)value : YAMA_ABSENT;
}

const char *privilege_yama_meaning(int scope)
{
	switch (scope) {
	case 0:
		return "all processes of the same user";
	case 1:
		return "descendants only, without CAP_SYS_PTRACE";
	case 2:
		return "only with CAP_SYS_PTRACE";
	case 3:
		return "nobody, until the next boot";
	default:
		return "no Yama in this kernel";
	}
}

static bool is_namespace(const char *name, const char *initial)
{
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/self/ns/%s", name);
	n = readlink(path, link, sizeof link - 1);
	if (n < 0)
		return true; /* no such kind of namespace in this kernel */
	link[n] = '\0';
	return strcmp(link, initial) == 0;
}

void privilege_read(struct privilege *ret)
{
	char text[4096];

	*ret = (struct privilege){ .uid = geteuid(), .seccomp = SECCOMP_UNKNOWN };
	if (proc_read(text, sizeof text, "/proc/self/status") > 0)
		privilege_parse_status(text, ret);
	ret->yama_scope = YAMA_ABSENT;
	if (proc_read(text, sizeof text, "/proc/sys/kernel/yama/ptrace_scope") > 0)
		ret->yama_scope = privilege_parse_yama(text);
	ret->is_initial_user_ns = is_namespace("user", INITIAL_USER_NS);
	ret->is_initial_pid_ns = is_namespace("pid", INITIAL_PID_NS);
	ret->is_dumpable = prctl(PR_GET_DUMPABLE) == 1;
}

bool privilege_has(const struct privilege *p, int capability)
{
	return p->capabilities >> capability & 1;
}

bool privilege_has_bpf(const struct privilege *p)
{
	return privilege_has(p, CAP_BPF) || privilege_has(p, CAP_SYS_ADMIN);
}

bool privilege_has_perfmon(const struct privilege *p)
{
	return privilege_has(p, CAP_PERFMON) || privilege_has(p, CAP_SYS_ADMIN);
}
