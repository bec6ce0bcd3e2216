/* SPDX-License-Identifier: MIT
 *
 * Writes pprof's profile.proto, gzipped: one sample per place and thread, leaf first, with the values samples,
 * wall and cpu (ns; of one state alone only that; traced calls have calls and wall; another tool's recording has the one value it
 * came with). Labels say which thread. A
 * location is a line of a function; functions have no system name, because pprof takes one that equals the
 * name for C++ and cuts "<module>" out of it. There is one mapping, which says that all is symbolised, so that pprof
 * looks for no binary. */
#include "formats/pprof.h"

#include <math.h>

#include "analyze/calls/nodes.h"
#include "analyze/origin.h"
#include "analyze/samples/place_index.h"
#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "formats/function_table.h"
#include "formats/labels.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/codec/protobuf.h"
#include "formats/sink.h"
#include "store/reader.h"
#include "base/banned.h"

struct location {
	uint32_t function;
	int32_t line;
};

struct file {
	struct arena a;
	struct sink *out;
	const struct stacks *wall; /* as chosen: maybe of one state alone */
	const struct stacks *cpu;  /* NULL: not known, or not of all states */
	enum stacks_state state;
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
	const char *unit = o->unit == UNIT_SECONDS ? "nanoseconds"
		: o->unit == UNIT_BYTES            ? "bytes"
						   : "count";

	string_of(f, "");
	if (f->wall->nodes->n) {
		put_type(f, PROFILE_SAMPLE_TYPE, "calls", "count");
		put_type(f, PROFILE_SAMPLE_TYPE, "wall", unit);
		return;
	}
	if (f->wall->n_samples)
		put_type(f, PROFILE_SAMPLE_TYPE, "samples", "count");
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
	put_type(f, PROFILE_SAMPLE_TYPE, choice_states[f->state], unit);
	if (f->cpu)
		put_type(f, PROFILE_SAMPLE_TYPE, "cpu", unit);
	pb_put_u64(
		&f->out->text, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(f, choice_states[f->state]));
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
	if (f->cpu)
		pb_put_varint(&f->part, foreign_value(cpu_s * 1e9));
	pb_put_bytes(&f->message, SAMPLE_VALUE, f->part.data, f->part.n);
}

/* ---- samples and tables ---------------------------------------------------------------------- */

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
	const struct stacks *s = f->wall;
	struct place_index on_cpu = { 0 };

	if (f->cpu)
		place_index_init(&on_cpu, f->cpu, NULL, 0);
	for (size_t i = 0; i < s->n; i++) {
		const struct stack_thread *t = &s->threads[s->v[i].thread];
		size_t at;
		double cpu_s = f->cpu && place_index_of_place(&on_cpu, s, i, &at)
			? f->cpu->v[at].value
			: 0;

		put_locations(f, i);
		put_values(f, &s->v[i], cpu_s);
		if (*t->name)
			put_label(f, "thread", t->name, 0);
		if (t->tid)
			put_label(f, "thread_id", NULL, t->tid);
		put_message(f, PROFILE_SAMPLE);
	}
	place_index_done(&on_cpu);
}

static void put_tables(struct file *f)
{
	struct function_table used = function_table_build(&f->a, f->wall);

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

static void put_comments(struct file *f, const struct selection *s)
{
	struct buf what = BUF_INIT;

	if (*sink_damage(f->out))
		pb_put_u64(&f->out->text, PROFILE_COMMENT, string_of(f, sink_damage(f->out)));
	selection_describe(s, &what);
	if (what.n)
		pb_put_u64(&f->out->text, PROFILE_COMMENT, string_of(f, buf_str(&what)));
	buf_done(&what);
}

/* Memory has pprof's own words for it. */
static struct origin origin_of(const struct selection *s)
{
	struct origin o = s->recording->origin;

	if (s->memory) {
		o.is_foreign = true;
		o.unit = UNIT_BYTES;
		o.measure = s->memory->view == MEMORY_CHURN ? "alloc_space" : "inuse_space";
	}
	return o;
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct file f = { .a = ARENA_INIT, .out = out, .state = s->options.state };
	struct origin of = origin_of(s), *o = &of;
	double longest = 0;

	(void)e;
	sink_gzip(out);
	f.wall = selection_stacks_within(s, FORMAT_FRAMES);
	if (!o->is_foreign && !f.wall->nodes->n && f.state == STACKS_WALL)
		f.cpu = selection_stacks_on_cpu(s);
	f.frames = arena_new_n(&f.a, struct stack_frame, STACKS_DEPTH);
	put_types(&f, o);
	put_mapping(&f, label_command(s));
	put_samples(&f);
	put_tables(&f);
	for (size_t i = 0; i < f.wall->n_threads; i++)
		longest = fmax(longest, f.wall->threads[i].all);
	if (!s->recording->origin.is_foreign)
		pb_put_u64(&out->text, PROFILE_TIME_NANOS, s->recording->reader->begun_realtime_ns);
	put_comments(&f, s);
	if (o->unit == UNIT_SECONDS)
		pb_put_u64(&out->text, PROFILE_DURATION_NANOS, foreign_value(longest * 1e9));
	for (uint32_t i = 0; i < f.strings.items.n; i++) {
		const struct intern_item *text = intern_get(&f.strings, i);

		pb_put_text(&out->text, PROFILE_STRING_TABLE, text->p, text->n);
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
