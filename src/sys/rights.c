/* SPDX-License-Identifier: MIT
 * See rights.h. */
#include "sys/rights.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

enum { STATUS_BYTES = 1 << 20, GROUPS_MOST = 65536 }; /* the kernel's own limit */

#define FILE_CAPABILITIES (UINT64_C(1) << CAP_DAC_OVERRIDE | UINT64_C(1) << CAP_DAC_READ_SEARCH)

/* ---- of a process ---------------------------------------------------------------------------- */

/* What follows "NAME:" at the start of a line, or NULL. */
static const char *find_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
		if (strncmp(text, name, n) == 0 && text[n] == ':')
			return text + n + 1;
	return NULL;
}

/* Steps over one number of a line. */
static bool take_number(const char **at, int base, uint64_t *ret)
{
	const char *from = *at + strspn(*at, " \t");
	char *end;

	if (!*from || *from == '\n' || *from == '-' || *from == '+')
		return false;
	*ret = strtoull(from, &end, base);
	*at = end;
	return end != from;
}

/* The last of real, effective, saved and file system. */
static bool take_fourth(const char *line, uint32_t *ret)
{
	uint64_t id = 0;

	for (int i = 0; i < 4; i++)
		if (!line || !take_number(&line, 10, &id) || id >= UINT32_MAX)
			return false;
	*ret = (uint32_t)id;
	return true;
}

bool rights_parse(const char *text, struct rights *ret)
{
	const char *groups = find_line(text, "Groups"), *effective = find_line(text, "CapEff");
	struct rights r = { .is_known = true };
	uint64_t id;

	if (!take_fourth(find_line(text, "Uid"), &r.uid) ||
		!take_fourth(find_line(text, "Gid"), &r.gid) || !groups || !effective ||
		!take_number(&effective, 16, &r.capabilities))
		return false;
	r.capabilities &= FILE_CAPABILITIES;
	while (take_number(&groups, 10, &id) && id < UINT32_MAX && r.groups.n < GROUPS_MOST)
		vec_push(&r.groups, (gid_t)id);
	rights_done(ret);
	*ret = r;
	return true;
}

static void read_status(struct rights *r, const char *path)
{
	struct err ignored = ERR_INIT;
	struct buf text = BUF_INIT;

	if (buf_load(&text, path, STATUS_BYTES, &ignored) == 0)
		rights_parse(buf_str(&text), r);
	buf_done(&text);
}

void rights_read(struct rights *r, pid_t pid)
{
	char path[64];

	rights_done(r);
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	read_status(r, path);
}

void rights_own(struct rights *r)
{
	rights_done(r);
	read_status(r, "/proc/thread-self/status");
}

void rights_user(struct rights *r, uid_t uid, gid_t gid)
{
	rights_done(r);
	*r = (struct rights){ .is_known = true, .uid = uid, .gid = gid };
}

void rights_lower(struct rights *r, pid_t pid)
{
	struct rights now = RIGHTS_NONE;

	if (!r->is_known || (r->uid != 0 && !r->capabilities))
		return;
	rights_read(&now, pid);
	if (now.is_known)
		now.capabilities = r->capabilities &= now.capabilities;
	if (now.is_known && r->uid == 0 && now.uid != 0) {
		rights_done(r);
		*r = now;
	} else {
		rights_done(&now);
	}
}

void rights_done(struct rights *r)
{
	vec_done(&r->groups);
	*r = RIGHTS_NONE;
}

/* ---- against ours ---------------------------------------------------------------------------- */

bool rights_are_less(const struct rights *r)
{
	struct rights own = RIGHTS_NONE;
	bool is_less;

	rights_own(&own);
	/* Without these we are somebody as they are: what we may read is ours to read. */
	is_less = (!own.is_known || own.uid == 0 || own.capabilities) &&
		!(r->is_known && r->uid == own.uid && !(own.capabilities & ~r->capabilities));
	rights_done(&own);
	return is_less;
}

static bool has_groups(const struct rights *r, const struct rights *own)
{
	return r->groups.n == own->groups.n &&
		(!r->groups.n ||
			memcmp(r->groups.v, own->groups.v, r->groups.n * sizeof *r->groups.v) == 0);
}

bool rights_prepare(struct rights_change *c, const struct rights *to)
{
	struct rights own = RIGHTS_NONE;

	rights_own(&own);
	*c = (struct rights_change){ .to = to,
		.has_groups = has_groups(to, &own),
		.capabilities = to->uid == 0 ? to->capabilities & own.capabilities : 0 };
	rights_done(&own);
	return to->is_known;
}

static bool set_capabilities(uint64_t bits)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)bits, .permitted = (uint32_t)bits },
		{ .effective = (uint32_t)(bits >> 32), .permitted = (uint32_t)(bits >> 32) },
	};

	return syscall(SYS_capset, &head, data) == 0;
}

/* System calls of this thread alone: the library's would ask threads that a child does not have. */
bool rights_become(const struct rights_change *c)
{
	const struct rights *r = c->to;

	prctl(PR_SET_DUMPABLE, 0); /* our memory is no business of theirs */
	if ((!c->has_groups && syscall(SYS_setgroups, r->groups.n, r->groups.v) < 0) ||
		syscall(SYS_setresgid, r->gid, r->gid, r->gid) < 0 ||
		syscall(SYS_setresuid, r->uid, r->uid, r->uid) < 0)
		return false;
	prctl(PR_SET_DUMPABLE, 0); /* changing users may have switched that on again */
	return set_capabilities(c->capabilities) && geteuid() == r->uid && getegid() == r->gid;
}
