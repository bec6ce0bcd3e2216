/* SPDX-License-Identifier: MIT
 * See rows.h. */
#include "collect/rows.h"

#include <string.h>

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
