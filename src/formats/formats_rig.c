/* SPDX-License-Identifier: MIT
 * See formats_rig.h. */
#include "formats/formats_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "analyze/recording.h"
#include "formats/format.h"
#include "formats/sink.h"

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("format", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

void format_rig_open(struct format_rig *o, const char *name, const void *bytes, size_t n)
{
	static const struct choice all = { 0 };
	char path[64];
	int fd = file_of(bytes, n);

	*o = (struct format_rig){ 0 };
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	o->status = format_load(&o->recording, path, &o->e);
	close(fd);
	if (o->status < 0 && name && strstr(o->e.text, "neither a recording"))
		printf("not recognised as %s: %s\n", name, o->e.text);
	if (o->status < 0)
		return;
	assert_int_equal(recording_select(o->recording, &all, &o->selection, &o->e), 0);
	o->stacks = o->selection->stacks;
	assert_non_null(name);
}

void format_rig_close(struct format_rig *o)
{
	recording_free(o->recording);
	arena_done(&o->arena);
}

double format_rig_value(const struct format_rig *o, const char *stack)
{
	static struct stack_frame frames[STACKS_DEPTH];
	struct buf text = BUF_INIT;
	double value = 0;

	for (size_t i = 0; i < o->stacks->n; i++) {
		buf_clear(&text);
		for (size_t k = stacks_frames(o->stacks, i, frames); k-- > 0;)
			buf_printf(&text, "%s%s", frames[k].name, k ? ";" : "");
		if (strcmp(buf_str(&text), stack) == 0)
			value += o->stacks->v[i].value;
	}
	buf_done(&text);
	return value;
}

void format_rig_write(const struct format_rig *o, const char *format, struct buf *to)
{
	const struct format *f = format_find(format);
	struct err e = ERR_INIT;
	struct sink out;

	assert_non_null(f);
	sink_init(&out, -1);
	assert_int_equal(f->write(o->selection, &out, &e), 0);
	assert_int_equal(sink_finish(&out, &e), 0);
	buf_add(to, out.text.data, out.text.n);
	sink_done(&out);
}
