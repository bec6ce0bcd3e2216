/* SPDX-License-Identifier: MIT
 *
 * Writes pprof's profile.proto, gzipped: one sample per place and thread, leaf first, with the values samples,
 * wall and cpu (ns; traced calls have calls and wall; another tool's recording has the one value it came with). Labels say which thread. A
 * location is a line of a function; functions have no system name, because pprof takes one that equals the
 * name for C++ and cuts "<module>" out of it. There is one mapping, which says that all is symbolised, so that pprof
 * looks for no binary. */
#include "formats/pprof.h"

#include <math.h>

#include "analyze/nodes.h"
#include "analyze/origin.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/protobuf.h"
#include "formats/sink.h"
#include "formats/used.h"
#include "store/tables.h"
#include "base/banned.h"

struct location {
	uint32_t function;
	int32_t line;
};

struct file {
	struct arena a;
	struct sink *out;
	const struct stacks *wall, *cpu; /* cpu NULL: not known */
	struct intern strings;
	struct intern locations; /* struct location; id = number + 1 */
	struct buf message, part;
	struct stack_frame *frames;
};

static uint64_t string_of(struct file *f, const char *s)
{
	return intern_adds(&f->strings, s);
}

static void put_message(struct file *f, unsigned field)
{
	pb_put_bytes(&f->out->text, field, f->message.data, f->message.n);
	buf_clear(&f->message);
	sink_flush(f->out);
}

static void put_type(struct file *f, unsigned field, const char *type, const char *unit)
{
	pb_put_u64(&f->message, VALUE_TYPE, string_of(f, type));
	pb_put_u64(&f->message, VALUE_UNIT, string_of(f, unit));
	put_message(f, field);
}

static void put_label(struct file *f, const char *key, const char *text, uint64_t number)
{
	buf_clear(&f->part);
	pb_put_u64(&f->part, LABEL_KEY, string_of(f, key));
	if (text)
		pb_put_u64(&f->part, LABEL_STR, string_of(f, text));
	else
		pb_put_u64(&f->part, LABEL_NUM, number);
	pb_put_bytes(&f->message, SAMPLE_LABEL, f->part.data, f->part.n);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_types(struct file *f, const struct origin *o)
{
	static const char *const names[] = { "samples", "wall", "cpu" };
	const char *unit = o->unit == UNIT_SECONDS ? "nanoseconds"
		: o->unit == UNIT_BYTES            ? "bytes"
						   : "count";

	string_of(f, "");
	if (f->wall->nodes->n) {
		put_type(f, PROFILE_SAMPLE_TYPE, "calls", "count");
		put_type(f, PROFILE_SAMPLE_TYPE, names[1], unit);
		return;
	}
	if (f->wall->n_samples)
		put_type(f, PROFILE_SAMPLE_TYPE, names[0], "count");
	if (o->is_foreign) {
		if (o->unit != UNIT_COUNT || !f->wall->n_samples)
			put_type(f, PROFILE_SAMPLE_TYPE,
				*o->measure                     ? o->measure
					: o->unit == UNIT_BYTES ? "space"
					: o->unit == UNIT_COUNT ? "events"
								: "time",
				unit);
		return;
	}
	put_type(f, PROFILE_SAMPLE_TYPE, names[1], unit);
	put_type(f, PROFILE_SAMPLE_TYPE, names[2], unit);
	pb_put_u64(&f->out->text, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(f, names[1]));
}

static void put_values(struct file *f, const struct stack_place *p, double cpu_s)
{
	double scale = f->wall->unit == UNIT_SECONDS ? 1e9 : 1;

	buf_clear(&f->part);
	if (f->wall->nodes->n) {
		pb_put_varint(&f->part, p->n_calls);
		pb_put_varint(&f->part, foreign_value(p->value * scale));
		pb_put_bytes(&f->message, SAMPLE_VALUE, f->part.data, f->part.n);
		return;
	}
	if (f->wall->n_samples)
		pb_put_varint(&f->part, p->n_samples);
	if (!f->wall->is_foreign || f->wall->unit != UNIT_COUNT || !f->wall->n_samples)
		pb_put_varint(&f->part, foreign_value(p->value * scale));
	if (!f->wall->is_foreign)
		pb_put_varint(&f->part, foreign_value(cpu_s * 1e9));
	pb_put_bytes(&f->message, SAMPLE_VALUE, f->part.data, f->part.n);
}

/* ---- samples and tables ---------------------------------------------------------------------- */

struct place_key {
	uint32_t stack, leaf_code, leaf_offset, thread_row;
	uint32_t is_off_cpu;
};

static struct place_key key_of(const struct stacks *s, const struct stack_place *p)
{
	return (struct place_key){ p->stack, p->leaf_code, p->leaf_offset,
		s->threads[p->thread].row, p->is_off_cpu };
}

static void put_locations(struct file *f, size_t place)
{
	size_t n = stacks_frames(f->wall, place, f->frames);

	buf_clear(&f->part);
	for (size_t i = 0; i < n; i++) {
		struct location l = { f->frames[i].function, f->frames[i].line };

		pb_put_varint(&f->part, intern_add(&f->locations, &l, sizeof l, NULL) + 1);
	}
	pb_put_bytes(&f->message, SAMPLE_LOCATION, f->part.data, f->part.n);
}

static void put_samples(struct file *f)
{
	struct intern on_cpu = INTERN_INIT; /* places of the stacks of CPU time */
	const struct stacks *s = f->wall;

	for (size_t i = 0; f->cpu && i < f->cpu->n; i++) {
		struct place_key key = key_of(f->cpu, &f->cpu->v[i]);

		intern_add(&on_cpu, &key, sizeof key, NULL);
	}
	for (size_t i = 0; i < s->n; i++) {
		struct place_key key = key_of(s, &s->v[i]);
		const struct stack_thread *t = &s->threads[s->v[i].thread];
		double cpu_s = 0;
		bool added = true;
		uint32_t at = f->cpu ? intern_add(&on_cpu, &key, sizeof key, &added) : 0;

		if (!added && at < f->cpu->n)
			cpu_s = f->cpu->v[at].value;
		put_locations(f, i);
		put_values(f, &s->v[i], cpu_s);
		if (*t->name)
			put_label(f, "thread", t->name, 0);
		if (t->tid)
			put_label(f, "thread_id", NULL, t->tid);
		put_message(f, PROFILE_SAMPLE);
	}
	intern_done(&on_cpu);
}

static void put_tables(struct file *f)
{
	struct used used = used_build(&f->a, f->wall);

	for (uint32_t i = 0; i < f->locations.items.n; i++) {
		const struct location *l = intern_get(&f->locations, i)->p;

		buf_clear(&f->part);
		pb_put_u64(&f->part, LINE_FUNCTION, used.index[l->function] + 1);
		if (l->line > 0)
			pb_put_u64(&f->part, LINE_LINE, (uint64_t)l->line);
		pb_put_u64(&f->message, LOCATION_ID, i + 1);
		pb_put_u64(&f->message, LOCATION_MAPPING, 1);
		pb_put_bytes(&f->message, LOCATION_LINE, f->part.data, f->part.n);
		put_message(f, PROFILE_LOCATION);
	}
	for (size_t i = 0; i < used.n; i++) {
		const struct stack_function *x =
			frames_function(f->wall->frames, used.functions[i]);

		pb_put_u64(&f->message, FUNCTION_ID, i + 1);
		pb_put_u64(&f->message, FUNCTION_NAME, string_of(f, x->name));
		pb_put_u64(&f->message, FUNCTION_FILENAME, string_of(f, x->file));
		pb_put_u64(&f->message, FUNCTION_START_LINE, x->first_line);
		put_message(f, PROFILE_FUNCTION);
	}
}

static void put_mapping(struct file *f, const char *command)
{
	pb_put_u64(&f->message, MAPPING_ID, 1);
	pb_put_u64(&f->message, MAPPING_FILENAME, string_of(f, *command ? command : "python"));
	for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINES; field++)
		pb_put_u64(&f->message, field, 1);
	put_message(f, PROFILE_MAPPING);
}

static int write(struct tables *t, struct sink *out, struct err *e)
{
	static const struct stacks_options all = { .frames_most = FORMAT_FRAMES },
					   on_cpu = { .state = STACKS_CPU };
	struct file f = { .a = ARENA_INIT, .out = out };
	struct origin o = origin_build(&f.a, t);
	double longest = 0;

	(void)e;
	sink_gzip(out);
	f.wall = stacks_build(&f.a, t, &all);
	f.cpu = o.is_foreign || f.wall->nodes->n ? NULL : stacks_build(&f.a, t, &on_cpu);
	f.frames = arena_new_n(&f.a, struct stack_frame, STACKS_DEPTH);
	put_types(&f, &o);
	put_mapping(&f, used_command(&f.a, t));
	put_samples(&f);
	put_tables(&f);
	for (size_t i = 0; i < f.wall->n_threads; i++)
		longest = fmax(longest, f.wall->threads[i].all);
	if (!o.is_foreign)
		pb_put_u64(&out->text, PROFILE_TIME_NANOS, tables_reader(t)->begun_realtime_ns);
	if (*sink_damage(out))
		pb_put_u64(&out->text, PROFILE_COMMENT, string_of(&f, sink_damage(out)));
	if (o.unit == UNIT_SECONDS)
		pb_put_u64(&out->text, PROFILE_DURATION_NANOS, foreign_value(longest * 1e9));
	for (uint32_t i = 0; i < f.strings.items.n; i++) {
		const struct intern_item *s = intern_get(&f.strings, i);

		pb_put_text(&out->text, PROFILE_STRING_TABLE, s->p, s->n);
		sink_flush(out);
	}
	intern_done(&f.strings);
	intern_done(&f.locations);
	buf_done(&f.message);
	buf_done(&f.part);
	arena_done(&f.a);
	return 0;
}

const struct format format_pprof = {
	.name = "pprof",
	.suffixes = { ".pb.gz", ".pprof", ".pprof.gz" },
	.summary = "for go tool pprof and all that reads profile.proto",
	.recognise = pprof_recognise,
	.read = pprof_read,
	.write = write,
};
