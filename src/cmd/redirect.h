/* SPDX-License-Identifier: MIT
 *
 * A file that leads a browser to an address nobody else may know: arguments of programs can be read by everyone on the
 * machine, a file of mode 0600 in a folder of our own (sys/private_dir.h) cannot. The browser is given the file's name.
 *
 *	struct redirect r = REDIRECT_INIT;
 *	if (redirect_write(&r, address, &e) == 0)
 *		start(r.url);
 *	redirect_remove(&r);
 */
#ifndef CMD_REDIRECT_H
#define CMD_REDIRECT_H

#include "sys/private_dir.h"

struct err;

enum { REDIRECT_PATH = 512 };

struct redirect {
	struct private_dir folder;
	char path[REDIRECT_PATH + 16];          /* of the file in it */
	char url[3 * (REDIRECT_PATH + 16) + 8]; /* file://…, escaped */
};

#define REDIRECT_INIT ((struct redirect){ 0 })

/* address: letters, digits and ":/#=-_." alone, so it means nothing in HTML. */
int redirect_write(struct redirect *r, const char *address, struct err *e);
/* Accepts one that was not written, or that was removed. */
void redirect_remove(struct redirect *r);

#endif
