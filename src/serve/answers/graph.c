/* SPDX-License-Identifier: MIT
 * Answer "graph": the call graph, laid out. */
#include <string.h>

#include "analyze/samples/callgraph.h"
#include "analyze/samples/graph_layout.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/text.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "base/banned.h"

enum { NODES = 40, NODES_MOST = 400, CHAR = 7, WIDTH_MOST = 32, PADDING = 16, HEIGHT = 44 };

static double width_of(const struct recording *r, uint32_t function)
{
	size_t columns = text_width(frames_function(r->frames, function)->name);

	columns = columns < 16 ? 16 : columns > WIDTH_MOST ? WIDTH_MOST : columns;
	return (double)(columns * CHAR + PADDING);
}

/* The largest nodes come first: those beyond the limit go, and edges that touch them. */
static size_t arrows_of(const struct callgraph *g, size_t n_nodes, struct graph_arrow *arrows,
	const struct callgraph_edge **edges)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_edges; i++) {
		if (g->edges[i].caller >= n_nodes || g->edges[i].callee >= n_nodes)
			continue;
		arrows[n] = (struct graph_arrow){ .from = g->edges[i].caller,
			.to = g->edges[i].callee };
		edges[n++] = &g->edges[i];
	}
	return n;
}

static void write_calls(uint64_t calls, struct json_writer *w)
{
	json_kv_double(w, "calls", calls ? (double)calls : UNITS_UNKNOWN);
}

static void write_nodes(const struct callgraph *g, const struct graph_box *boxes, size_t n,
	struct mentioned *m, struct json_writer *w)
{
	json_key(w, "nodes");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		json_kv_u64(w, "f", g->nodes[i].function);
		json_kv_double(w, "x", boxes[i].x);
		json_kv_double(w, "y", boxes[i].y);
		json_kv_double(w, "w", boxes[i].width);
		json_kv_double(w, "h", boxes[i].height);
		json_kv_double(w, "self", g->nodes[i].self);
		json_kv_double(w, "total", g->nodes[i].total);
		write_calls(g->nodes[i].calls, w);
		json_object_end(w);
		mention(m, g->nodes[i].function);
	}
	json_array_end(w);
}

static void write_edges(const struct callgraph_edge *const *edges, const struct graph_arrow *arrows,
	size_t n, struct json_writer *w)
{
	json_key(w, "edges");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		json_kv_u64(w, "from", arrows[i].from);
		json_kv_u64(w, "to", arrows[i].to);
		json_kv_double(w, "value", edges[i]->value);
		write_calls(edges[i]->calls, w);
		json_key(w, "points");
		json_array_begin(w);
		for (size_t k = 0; k < arrows[i].n_points; k++) {
			json_double(w, arrows[i].points[k].x);
			json_double(w, arrows[i].points[k].y);
		}
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
}

int answer_graph(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct callgraph_options o = { .node_share = 0.005, .edge_share = 0.001 };
	const struct callgraph_edge **edges;
	struct mentioned m = { 0 };
	struct arena a = ARENA_INIT;
	const struct callgraph *g;
	struct graph_arrow *arrows;
	struct graph_point size;
	struct graph_box *boxes;
	struct selection *s;
	uint32_t most = NODES;
	size_t n, n_arrows;

	if (answer_profile(l, p, &s, e) < 0 || params_u32(p, "nodes", NODES_MOST, &most, e) < 0 ||
		params_number(p, "node_share", 0, 1, &o.node_share, e) < 0 ||
		params_number(p, "edge_share", 0, 1, &o.edge_share, e) < 0)
		return -1;
	g = callgraph_build(&a, s->stacks, s->exact, &o);
	n = g->n_nodes < most ? g->n_nodes : most;
	boxes = arena_new_n(&a, struct graph_box, n + 1);
	arrows = arena_new_n(&a, struct graph_arrow, g->n_edges + 1);
	edges = arena_new_n(&a, const struct callgraph_edge *, g->n_edges + 1);
	for (size_t i = 0; i < n; i++)
		boxes[i] =
			(struct graph_box){ .width = width_of(s->recording, g->nodes[i].function),
				.height = HEIGHT };
	n_arrows = arrows_of(g, n, arrows, edges);
	size = graph_layout(&a, boxes, n, arrows, n_arrows, (struct graph_gaps){ 24, 56 });
	answer_total(s, w);
	json_kv_double(w, "width", size.x);
	json_kv_double(w, "height", size.y);
	json_kv_u64(w, "left_out", g->n_left_out + (g->n_nodes - n));
	write_nodes(g, boxes, n, &m, w);
	write_edges(edges, arrows, n_arrows, w);
	answer_functions(&m, s->recording->frames, w);
	arena_done(&a);
	return 0;
}
