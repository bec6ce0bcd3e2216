/* SPDX-License-Identifier: MIT
 * See recording.h: the file. What is chosen of it is in selection.c. */
#include "analyze/recording.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/files.h"
#include "analyze/code/source_texts.h"
#include "analyze/host/usage.h"
#include "analyze/memory/memory.h"
#include "analyze/samples/books.h"
#include "analyze/samples/regions.h"
#include "analyze/samples/thread_states.h"
#include "analyze/torch/events.h"
#include "analyze/torch/results.h"
#include "analyze/torch/stacks.h"
#include "analyze/torch/training.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

/* ---- opening --------------------------------------------------------------------------------- */

static struct recording *recording_new(const char *path)
{
	struct recording *r = xcalloc(1, sizeof *r);
	const char *slash = strrchr(path, '/');

	r->path = arena_strdup(&r->arena, path);
	r->name = slash ? r->path + (slash + 1 - path) : r->path;
	if (strncmp(path, "/proc/", 6) == 0) /* a descriptor: its number says nothing */
		r->name = "this recording";
	return r;
}

static int load_run(struct recording *r, struct err *e)
{
	if (tables_load(&r->tables, r->reader, e) < 0)
		return -(int)e->code;
	tables_settle(r->tables);
	r->usage = usage_build(&r->arena, r->tables);
	if (!r->usage)
		return err_set(e, ERR_BAD_FILE, "holds no run of a program");
	r->bound = bound_build(r->usage);
	r->fidelity = fidelity_build(&r->arena, r->tables);
	r->origin = origin_build(&r->arena, r->tables);
	r->regions = regions_build(&r->arena, r->tables);
	r->frames = frames_new(&r->arena, r->tables);
	return 0;
}

struct recording *recording_of_reader(struct reader *reader, const char *path)
{
	struct recording *r = recording_new(path);

	r->reader = reader;
	load_run(r, &r->problem);
	return r;
}

struct recording *recording_of_trace(struct torch *torch, const char *path)
{
	struct recording *r = recording_new(path);

	r->torch = torch;
	r->is_trace = true;
	return r;
}

int recording_run(struct recording *r, struct err *e)
{
	bool is_new = r->is_trace;

	r->is_trace = false;
	if (is_new &&
		(op_stacks_open(&r->reader, &r->torch->x, r->path, &r->problem) < 0 ||
			load_run(r, &r->problem) < 0)) {
		tables_free(r->tables);
		reader_close(r->reader);
		r->tables = NULL;
		r->reader = NULL;
		r->usage = NULL;
	}
	if (r->usage)
		return 0;
	if (recording_torch(r))
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(
				r, "of such a trace of PyTorch only its operators are shown"));
	*e = r->problem;
	return -(int)e->code;
}

void recording_free(struct recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < RECORDING_SELECTIONS; i++)
		selection_free(r->selections[i]);
	tables_free(r->tables);
	reader_close(r->reader);
	torch_free(r->torch);
	memory_free(r->memory);
	files_free(r->files);
	arena_done(&r->arena);
	free(r);
}

/* ---- what is in it --------------------------------------------------------------------------- */

bool recording_has_stacks(const struct recording *r)
{
	for (size_t i = 0; r->reader && i < r->reader->n_chunks; i++) {
		uint32_t kind = r->reader->chunks[i].kind;

		if (kind == RECORD_sample || kind == RECORD_weight || kind == RECORD_node ||
			kind == RECORD_call_total)
			return true;
	}
	return false;
}

const char *recording_damage_of_records(struct recording *r)
{
	if (!r->reader)
		return "";
	reader_check(r->reader);
	damage_describe(&r->reader->damage, r->damage);
	return r->damage;
}

/* What a trace lost is known from its events; the stacks made of them are whole. */
const char *recording_damage(struct recording *r)
{
	if (*recording_damage_of_records(r))
		return r->damage;
	return r->torch ? op_events_missing(&r->torch->x) : "";
}

bool recording_is_partial(struct recording *r)
{
	if (*recording_damage_of_records(r))
		return damage_is_loss(&r->reader->damage);
	return *recording_damage(r);
}

const char *recording_why(struct recording *r, const char *usual)
{
	return *usual && recording_is_partial(r)
		? "nothing of it could be read: the file is damaged"
		: usual;
}

struct source_texts *recording_texts(struct recording *r)
{
	if (!r->texts)
		r->texts = source_texts_load(&r->arena, r->tables);
	return r->texts;
}

const struct thread_states *recording_strips(struct recording *r)
{
	if (!r->strips)
		r->strips = thread_states_build(&r->arena, r->tables, r->frames);
	return r->strips;
}

const struct books *recording_books(struct recording *r)
{
	if (!r->has_books && r->tables && !r->origin.is_foreign)
		r->books = books_build(&r->arena, r->tables, r->frames);
	r->has_books = true;
	return r->books;
}

const struct memory *recording_memory(struct recording *r)
{
	if (!r->has_memory && r->tables)
		r->memory = memory_load(r->tables);
	r->has_memory = true;
	return r->memory;
}

const struct training *recording_training(struct recording *r)
{
	if (!r->training)
		r->training = training_build(&r->arena, r->tables);
	return r->training;
}

struct torch *recording_torch(struct recording *r)
{
	if (!r->torch && r->tables)
		r->torch = torch_of_records(r->reader, r->tables);
	return r->torch;
}
