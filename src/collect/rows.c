/* SPDX-License-Identifier: MIT
 * See rows.h. */
#include "collect/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/writer.h"
#include "sys/proc.h"
#include "sys/rank.h"
#include "wire/records.h"
#include "base/banned.h"

uint32_t rows_process(struct writer *w, pid_t pid, uint64_t start_ns, pid_t parent)
{
	char command[4096] = "", boot[40] = "", rank[RANK_TEXT];

	proc_command(pid, command, sizeof command);
	if (proc_read(boot, sizeof boot, "/proc/sys/kernel/random/boot_id") > 0)
		boot[strcspn(boot, "\n")] = '\0';
	return writer_row(w, RECORD_process,
		&(struct rec_process){ .boot = writer_string(w, boot),
			.pid = (uint32_t)pid,
			.start_ns = start_ns,
			.parent_pid = (uint32_t)parent,
			.command = writer_string(w, command),
			.rank = writer_string(w, rank_of(pid, rank)) });
}

enum { AMOUNTS = 0x1f };

static bool read_amount(const char **at, uint64_t *ret)
{
	char *end;

	if ((*at)[0] != AMOUNTS || (*at)[1] < '0' || (*at)[1] > '9')
		return false;
	*ret = strtoull(*at + 1, &end, 10);
	*at = end;
	return true;
}

void rows_region(
	struct writer *w, uint32_t thread, uint64_t t_ns, uint64_t duration_ns, const char *name)
{
	struct rec_region r = { .t_ns = t_ns, .duration_ns = duration_ns, .thread = thread };
	const char *at = strchr(name, AMOUNTS);
	struct buf text = BUF_INIT;

	if (at && read_amount(&at, &r.samples) && read_amount(&at, &r.tokens) && !*at) {
		buf_add(&text, name, strcspn(name, "\x1f"));
		name = buf_str(&text);
		r.category = writer_string(w, "training");
	} else {
		r.samples = r.tokens = 0;
	}
	r.name = writer_name(w, name, strlen(name));
	writer_add(w, RECORD_region, &r);
	buf_done(&text);
}
