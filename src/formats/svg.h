/* SPDX-License-Identifier: MIT
 * What pictures in SVG share. */
#ifndef FORMATS_SVG_H
#define FORMATS_SVG_H

#include <stddef.h>

struct buf;
struct selection;

/* Text inside an element or an attribute: escaped, without what XML forbids. At most `most` characters; where
 * there are more, the last becomes "…". */
void svg_text(struct buf *out, const char *s, size_t most);
/* "; on a CPU", behind what a head says; nothing where nothing was chosen or left out. */
void svg_choice(struct buf *out, const struct selection *s);
/* The head of a page of that size in pixels, with its title and a font. */
void svg_begin(struct buf *out, double width, double height, const char *title);

#endif
