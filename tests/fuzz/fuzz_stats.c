/* SPDX-License-Identifier: MIT
 * The prompt of `leadline stats` against anything: lines up to an empty one are what is typed, what follows is the file
 * (none: a small one). The file is read, added to itself, sorted, cut and printed as asked; nothing may crash or leak. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/commands.h"

#include "save.h"

enum { COMMANDS = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* {("a.py", 3, "f"): (1, 2, 0.5, 1.0, {("~", 0, "len"): (1, 1, 0.5, 0.5)})} */
static const char SMALL[] =
	"{(\3\0\0\0u\4\0\0\0a.pyi\3\0\0\0u\1\0\0\0f(\5\0\0\0i\1\0\0\0i\2\0\0\0"
	"g\0\0\0\0\0\0\340?g\0\0\0\0\0\0\360?{(\3\0\0\0u\1\0\0\0~i\0\0\0\0u\3\0\0\0len"
	"(\4\0\0\0i\1\0\0\0i\1\0\0\0g\0\0\0\0\0\0\340?g\0\0\0\0\0\0\340?00";

/* Once: what is printed goes nowhere; libFuzzer and the sanitizers write to the descriptor itself. */
static void be_quiet(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		abort();
	stderr = fdopen(nowhere, "w");
}

/* Files are named by what is typed: only our own may be meant. And a regular expression is the user's own: libc takes as long
 * and as much for "a++++++" as it likes. */
static char *typed(const char *line, size_t n, const char *path)
{
	struct buf text = BUF_INIT;

	while (n && (*line == ' ' || *line == '\t'))
		line++, n--;
	if ((n >= 3 && memcmp(line, "add", 3) == 0) || (n >= 4 && memcmp(line, "read", 4) == 0))
		buf_printf(&text, "%s %s", *line == 'a' ? "add" : "read", path);
	else
		buf_add(&text, line, n);
	for (size_t i = 0; i < text.n; i++)
		if (strchr("*+?{\\", text.data[i]))
			text.data[i] = '.';
	buf_addc(&text, '\0');
	return text.data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char path[64];
	char name[] = "stats", option[] = "-c", quit[] = "quit", *argv[2 * COMMANDS + 5],
	     *lines[COMMANDS];
	const char *at = (const char *)data, *end = at + n;
	int argc = 0, n_lines = 0;

	if (!*path) {
		snprintf(path, sizeof path, "/tmp/fuzz_stats.%d.prof", (int)getpid());
		be_quiet();
	}
	argv[argc++] = name;
	argv[argc++] = path;
	while (at < end && *at != '\n') {
		const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		at = stop < end ? stop + 1 : end;
		if (n_lines == COMMANDS)
			continue;
		argv[argc++] = option;
		argv[argc++] = lines[n_lines++] = typed(line, (size_t)(stop - line), path);
	}
	argv[argc++] = option; /* without a command it would ask */
	argv[argc++] = quit;
	argv[argc] = NULL;
	at += at < end;
	save(path, at < end ? at : SMALL, at < end ? (size_t)(end - at) : sizeof SMALL - 1);
	command_stats.run(&command_stats, argc, argv);
	while (n_lines)
		free(lines[--n_lines]);
	return 0;
}
