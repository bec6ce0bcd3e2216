/* SPDX-License-Identifier: MIT
 * All formats, alphabetical; a file is asked of each in this order, so a recognise must not say yes to
 * another's (formats_test.c proves it on a sample of each). */
#include "formats/format.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "formats/callgrind.h"
#include "formats/chrome.h"
#include "formats/collapsed.h"
#include "formats/cpuprofile.h"
#include "formats/dat.h"
#include "formats/dot.h"
#include "formats/firefox.h"
#include "formats/gperftools.h"
#include "formats/json.h"
#include "formats/lprof.h"
#include "formats/perf_script.h"
#include "formats/perfetto.h"
#include "formats/png.h"
#include "formats/pprof.h"
#include "formats/pstats.h"
#include "formats/rows.h"
#include "formats/speedscope.h"
#include "formats/svg.h"
#include "formats/torch_write.h"
#include "base/banned.h"

const struct format *const formats[] = {
	&format_callgraph_svg,
	&format_callgrind,
	&format_chrome,
	&format_collapsed,
	&format_cpuprofile,
	&format_csv,
	&format_dat,
	&format_dot,
	&format_firefox,
	&format_gperftools,
	&format_json,
	&format_lprof,
	&format_markdown,
	&format_perf_script,
	&format_perfetto,
	&format_png,
	&format_pprof,
	&format_pstats,
	&format_speedscope,
	&format_speedscope_evented,
	&format_svg,
	&format_torch_trace,
	&format_torch_trace_gz,
};
const size_t n_formats = sizeof formats / sizeof *formats;

const struct format_options format_defaults = {
	.graph = { .node_share = 0.005, .edge_share = 0.001 },
	.colormap = "color",
	.skew = 1,
};

void formats_list(struct buf *out)
{
	for (size_t i = 0; i < n_formats; i++)
		if (formats[i]->write)
			buf_printf(out, "%s%s", out->n ? ", " : "", formats[i]->name);
}

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < n_formats; i++)
		if (strcmp(formats[i]->name, name) == 0 ||
			(formats[i]->alias && strcmp(formats[i]->alias, name) == 0))
			return formats[i];
	return NULL;
}

const struct format *format_for_path(const char *path)
{
	const struct format *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < n_formats; i++)
		for (size_t k = 0; formats[i]->write && k < 4 && formats[i]->suffixes[k]; k++) {
			const char *suffix = formats[i]->suffixes[k];

			if (strlen(suffix) > longest && text_ends_with(path, suffix)) {
				found = formats[i];
				longest = strlen(suffix);
			}
		}
	return found;
}
