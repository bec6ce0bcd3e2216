/* SPDX-License-Identifier: MIT
 * See redirect.h. */
#include "cmd/redirect.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

/* ---- where it lies --------------------------------------------------------------------------- */

/* A folder whose entries nobody else can rename or remove. */
static bool is_safe(const char *path, bool must_be_private)
{
	struct stat st;

	if (!path || path[0] != '/' || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (must_be_private)
		return st.st_uid == geteuid() && (st.st_mode & 077) == 0;
	return (st.st_uid == geteuid() || st.st_uid == 0) &&
		((st.st_mode & 022) == 0 || (st.st_mode & S_ISVTX));
}

/* A new folder, mode 0700, under a name that nobody can know before. */
static int make_folder(char *to, size_t n, struct err *e)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *own = getenv("TMPDIR");
	const char *base = is_safe(runtime, true) ? runtime : is_safe(own, false) ? own : "/tmp";

	if (snprintf(to, n, "%s/leadline-view-XXXXXX", base) >= (int)n)
		snprintf(to, n, "/tmp/leadline-view-XXXXXX");
	if (mkdtemp(to))
		return 0;
	err_errno(e, ERR_SYSTEM, "%s", to);
	*to = '\0';
	return -(int)e->code;
}

/* ---- what is in it --------------------------------------------------------------------------- */

static int write_file(const char *path, const char *address, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct buf text = BUF_INIT;
	int status;

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	buf_printf(&text,
		"<!doctype html>\n"
		"<meta charset=\"utf-8\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n"
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
		"<title>leadline</title>\n"
		"<p><a href=\"%s\">Open the page of leadline view</a></p>\n",
		address, address);
	status = buf_write(&text, fd, e);
	buf_done(&text);
	close(fd);
	return status;
}

static void format_url(const char *path, char *to)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";

	to += snprintf(to, 8, "file://");
	for (; *path; path++)
		if (strchr(plain, *path))
			*to++ = *path;
		else
			to += snprintf(to, 4, "%%%02X", (unsigned char)*path);
	*to = '\0';
}

int redirect_write(struct redirect *r, const char *address, struct err *e)
{
	*r = REDIRECT_INIT;
	if (make_folder(r->folder, sizeof r->folder, e) < 0)
		return -(int)e->code;
	snprintf(r->path, sizeof r->path, "%s/page.html", r->folder);
	format_url(r->path, r->url);
	if (write_file(r->path, address, e) < 0) {
		redirect_remove(r);
		return -(int)e->code;
	}
	return 0;
}

void redirect_remove(struct redirect *r)
{
	if (!*r->folder)
		return;
	unlink(r->path);
	rmdir(r->folder);
	*r = REDIRECT_INIT;
}
