/* SPDX-License-Identifier: MIT
 *
 * Errors: library code returns 0 or a negative error code and tells the story in a caller-owned
 * `struct err`; it neither prints nor exits. Only cmd/ shows the text to the user.
 *
 *	struct err e = ERR_INIT;
 *	if (store_open(&s, path, &e) < 0)
 *		return cmd_fail(&e);
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
	ERR_NONE,
#define ERR(name, status, advice) ERR_##name,
#include "base/errors.def"
#undef ERR
	ERR_MAX_
};

struct err {
	enum err_code code;
	int sys;        /* errno at the failure, 0 where none applies */
	char text[400]; /* one line without a newline: what, where, why */
};

#define ERR_INIT ((struct err){ 0 })

/* Sets code and text; keeps nothing of an earlier error. Returns -code. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set, and appends ": " and the words for errno. The code is derived from errno where that
 * says more than `fallback` (EACCES and EPERM: NO_PERMISSION, ENOENT: NO_FILE, ESRCH: NO_PROCESS).
 */
int err_errno(struct err *e, enum err_code fallback, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts context before the text: "context: text". Returns the (negative) code already set. */
int err_note(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The exit status and the advice of the error's row; the advice may be empty, never NULL. */
int err_exit_status(const struct err *e);
const char *err_advice(const struct err *e);

#endif
