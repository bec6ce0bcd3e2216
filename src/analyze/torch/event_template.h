/* SPDX-License-Identifier: MIT
 *
 * An event of a trace as its file has it, in two parts that are small where there are many: the form, its JSON without
 * blanks and with marks where numbers stood, which thousands of events share; and the numbers.
 *
 *	{"ph":"X","cat":"cpu_op","name":N,"pid":7,"tid":7,"ts":T,"dur":D,"args":{"External id":I,"Input Dims":[[2,3]]}}
 *
 * N, T and D are the event's own name, beginning and length, kept elsewhere. I are whole numbers that stand in objects:
 * twice the zigzag code of the number, or of its distance from the event's link and then one more, as a varint. Other
 * numbers in objects are texts: a varint for their length, then they. Numbers in arrays, pid and tid stay in the form. */
#ifndef ANALYZE_TORCH_EVENT_TEMPLATE_H
#define ANALYZE_TORCH_EVENT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum op_template_mark { /* bytes that no JSON has */
	OP_FORM_NAME = 1,
	OP_FORM_TS,
	OP_FORM_DURATION,
	OP_FORM_INTEGER,
	OP_FORM_TEXT,
};

struct op_template_own {  /* what an event has beside its form */
	const char *name; /* decoded */
	size_t n_name;
	int64_t ts_ns, duration_ns;
	int64_t link;
};

/* Appends to both. json: an object without mistakes. is_span: its name and length are kept elsewhere, not its time alone. */
void op_template_take(const char *json, size_t n, bool is_span, int64_t link, struct buf *form,
	struct buf *numbers);

/* Appends the event; false where form and numbers do not belong together, then out is as it was. */
bool op_template_fill(const char *form, size_t n, const void *numbers, size_t n_numbers,
	const struct op_template_own *own, struct buf *out);

/* A text in quotes, with escapes. */
void op_template_quote(struct buf *out, const char *text, size_t n);
/* ns as µs with three decimals. */
void op_template_us(struct buf *out, int64_t ns);

#endif
