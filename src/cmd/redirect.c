/* SPDX-License-Identifier: MIT
 * See redirect.h. */
#include "cmd/redirect.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

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
	if (private_dir_make(&r->folder, PRIVATE_SMALL, REDIRECT_PATH, e) < 0)
		return -(int)e->code;
	snprintf(r->path, sizeof r->path, "%.*s/page.html", REDIRECT_PATH - 1, r->folder.path);
	format_url(r->path, r->url);
	if (write_file(r->path, address, e) < 0) {
		redirect_remove(r);
		return -(int)e->code;
	}
	return 0;
}

void redirect_remove(struct redirect *r)
{
	private_dir_remove(&r->folder);
	*r = REDIRECT_INIT;
}
