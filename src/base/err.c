/* SPDX-License-Identifier: MIT
 * See err.h. Truncates silently: an error line that long has said enough. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static const struct {
	int status;
	const char *advice;
} rows[ERR_MAX_] = {
	[ERR_NONE] = { 0, "" },
#define ERR(name, status, advice) [ERR_##name] = { status, advice },
#include "base/errors.def"
#undef ERR
};

static void set_text(struct err *e, enum err_code code, const char *fmt, va_list ap)
{
	e->code = code;
	vsnprintf(e->text, sizeof e->text, fmt, ap);
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	e->sys = 0;
	set_text(e, code, fmt, ap);
	va_end(ap);
	return -(int)code;
}

static enum err_code code_for(int sys, enum err_code fallback)
{
	switch (sys) {
	case EACCES:
	case EPERM:
		return ERR_NO_PERMISSION;
	case ENOENT:
		return ERR_NO_FILE;
	case ESRCH:
		return ERR_NO_PROCESS;
	default:
		return fallback;
	}
}

int err_errno(struct err *e, enum err_code fallback, const char *fmt, ...)
{
	int sys = errno;
	va_list ap;
	size_t used;

	va_start(ap, fmt);
	set_text(e, code_for(sys, fallback), fmt, ap);
	va_end(ap);
	e->sys = sys;
	used = strlen(e->text);
	snprintf(e->text + used, sizeof e->text - used, ": %s", strerror(sys));
	return -(int)e->code;
}

int err_note(struct err *e, const char *fmt, ...)
{
	char before[sizeof e->text];
	char all[2 * sizeof e->text + 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(before, sizeof before, fmt, ap);
	va_end(ap);
	snprintf(all, sizeof all, "%s: %s", before, e->text);
	memcpy(e->text, all, sizeof e->text - 1);
	e->text[sizeof e->text - 1] = '\0';
	return -(int)e->code;
}

int err_exit_status(const struct err *e)
{
	return rows[e->code].status;
}

const char *err_advice(const struct err *e)
{
	return rows[e->code].advice;
}
