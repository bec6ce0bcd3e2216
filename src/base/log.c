/* SPDX-License-Identifier: MIT
 * See log.h. The only mutable file-scope state of the library folders. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

static const char *spec_text = ""; /* borrowed from the environment */

void log_init(const char *spec)
{
	spec_text = spec ? spec : "";
}

/* The level the spec gives a topic: items are topic[:level], separated by commas. */
static int level_of(const char *topic)
{
	int level = 0;

	for (const char *at = spec_text; *at;) {
		size_t item = strcspn(at, ","), name = strcspn(at, ":,");
		bool matches = (name == 3 && memcmp(at, "all", 3) == 0) ||
			(name == strlen(topic) && memcmp(at, topic, name) == 0);

		if (matches)
			level = at[name] == ':' ? (int)strtol(at + name + 1, NULL, 10) : 1;
		at += item + (at[item] == ',');
	}
	return level;
}

bool log_wants(const char *topic, int level)
{
	return *spec_text && level_of(topic) >= level;
}

void log_line(const char *topic, const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	text_add_printable(&line, text, strlen(text));
	fprintf(stderr, "leadline[%s] %s\n", topic, buf_str(&line));
	buf_done(&line);
}
