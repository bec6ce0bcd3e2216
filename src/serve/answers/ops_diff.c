/* SPDX-License-Identifier: MIT
 * Answer "ops_diff": the operators of two PyTorch traces compared, with the keys of `leadline diff --ops --json`. */
#include <string.h>

#include "analyze/torch/diff.h"
#include "base/arena.h"
#include "base/err.h"
#include "json/torch.h"
#include "serve/answers/parts.h"
#include "serve/library.h"
#include "serve/http/params.h"
#include "analyze/torch/results.h"
#include "base/banned.h"

static int parse_scale(const struct params *p, enum ops_diff_scale *ret, struct err *e)
{
	static const struct {
		const char *word;
		enum ops_diff_scale scale;
	} words[] = { { "step", OPS_DIFF_STEP }, { "absolute", OPS_DIFF_ABSOLUTE },
		{ "run", OPS_DIFF_RUN } };
	const char *word = params_find(p, "normalize");

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (word && *word && strcmp(word, words[i].word) != 0)
			continue;
		*ret = words[i].scale;
		return 0;
	}
	return err_set(e, ERR_USAGE, "normalize cannot be '%.100s'", word);
}

static int find_side(const struct library *l, const struct params *p, struct ops_diff_source *ret,
	struct recording **ret_recording, struct err *e)
{
	struct recording *r;

	if (library_find(l, p, &r, e) < 0)
		return -(int)e->code;
	if (!r->torch)
		return err_set(e, ERR_UNSUPPORTED, "%.200s: %s", r->name,
			recording_why(r, "it has no PyTorch operators"));
	*ret = *torch_side(r->torch, r->path);
	*ret_recording = r;
	return 0;
}

int answer_ops_diff(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct ops_diff_source sides[2];
	struct recording *r[2];
	enum ops_diff_scale scale = OPS_DIFF_STEP;
	struct arena a = ARENA_INIT;
	struct params other;
	int status = parse_scale(p, &scale, e);

	params_of_other(p, &other);
	if (status == 0 && find_side(l, p, &sides[0], &r[0], e) == 0 &&
		find_side(l, &other, &sides[1], &r[1], e) == 0) {
		if (r[0] == r[1])
			err_set(e, ERR_USAGE, "both sides are the same recording");
		else
			ops_diff_json(ops_diff_build(&a, sides, scale), w);
	}
	params_done(&other);
	arena_done(&a);
	return e->code ? -(int)e->code : 0;
}
