// SPDX-License-Identifier: MIT
// Answers out of the data a one-file page carries: looked up where they were made beforehand; slices of trees,
// orders of tables and searches are computed here. Other selections cannot be: that is said, with what to type.
import { DataSource, Params, Refusal } from "./source";
import { Boxes, Embedded, FunctionCost, LineCost, Search, Table, Tree } from "./types";
import { indexOfNode, pathTo, slice } from "../model/tree";

/** In this order, and only where set, after `NAME?r=N`. */
const KEY_PARTS = ["direction", "thread", "only_mine", "what", "file", "function", "with", "normalize", "side"];
/** Selections that were not made beforehand. */
const NEED_SERVER = ["from", "to", "process", "state", "phase", "idle", "imports", "focus", "drop", "merge", "collapse", "unit"];

function isSet(value: Params[string]): boolean {
	return value !== undefined && value !== "" && value !== false && !(Array.isArray(value) && !value.length);
}

export function keyOf(name: string, params: Params): string {
	let key = `${name}?r=${params.r ?? 0}`;
	for (const part of KEY_PARTS) {
		const value = params[part];
		if (isSet(value)) key += `&${part}=${value === true ? "1" : value}`;
	}
	return key;
}

function cutTree(whole: Tree, params: Params): Tree {
	const width = Number(params.width ?? 1200);
	const index = indexOfNode(whole.boxes, Number(params.node ?? 0));
	if (index < 0 && Number(params.node ?? 0) !== 0)
		throw new Refusal("This page does not include that call path.", 404);
	if (index < 0) return { ...whole, boxes: slice(whole.boxes, -1, whole.value, width) };
	const { id, w, x } = whole.boxes;
	return {
		...whole,
		node: id[index],
		key: String(id[index]),
		value: w[index],
		x: x[index],
		path: pathTo(whole.boxes, index),
		boxes: slice(whole.boxes, index, w[index], width),
	};
}

type Row = FunctionCost & LineCost;

function sortRows(table: Table<Row>, params: Params): Table<Row> {
	const sort = String(params.sort ?? "self");
	const filter = params.filter ? new RegExp(String(params.filter)) : null;
	const nameOf = (row: Row) => row.name ?? row.function ?? "";
	const keys: Record<string, (row: Row) => string | number> = {
		self: (row) => -row.self,
		total: (row) => -row.total,
		calls: (row) => -(row.calls ?? 0),
		hits: (row) => -(row.hits ?? 0),
		name: nameOf,
		file: (row) => row.file,
		line: (row) => row.line,
	};
	const key = keys[sort] ?? keys.self;
	const rows = table.rows.filter((row) => !filter || filter.test(`${nameOf(row)} (${row.file}:${row.line})`));
	if (rows.length && "self" in rows[0])
		rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
	const offset = Number(params.offset ?? 0);
	return { ...table, n: rows.length, rows: rows.slice(offset, offset + Number(params.limit ?? 200)) };
}

/** Time of stacks with at least one of the functions: the outermost boxes of each. */
export function coveredBy(boxes: Boxes, ids: Set<number>): number {
	let value = 0;
	let inside = Infinity;
	for (let i = 0; i < boxes.id.length; i++) {
		if (boxes.d[i] > inside) continue;
		inside = Infinity;
		if (!ids.has(boxes.f[i])) continue;
		value += boxes.w[i];
		inside = boxes.d[i];
	}
	return value;
}

function search(table: Table<Row>, tree: Tree | undefined, params: Params): Search {
	const wanted = String(params.q ?? "").toLowerCase();
	const pattern = params.regex ? new RegExp(String(params.q), "i") : null;
	const hits = table.rows.filter((row) => {
		const text = `${row.name} (${row.file}:${row.line})`;
		return pattern ? pattern.test(text) : text.toLowerCase().includes(wanted);
	});
	hits.sort((a, b) => b.total - a.total);
	const ids = hits.map((row) => row.function_id);
	return {
		n: hits.length,
		value: tree ? coveredBy(tree.boxes, new Set(ids)) : 0,
		total: table.total,
		ids,
		functions: hits.slice(0, Number(params.limit ?? 50)),
	};
}

export function embeddedSource(data: Embedded): DataSource {
	const answers = data.answers;
	function find(name: string, params: Params): unknown {
		for (const part of NEED_SERVER)
			if (isSet(params[part]) && !(part === "state" && params.state === "wall"))
				throw new Refusal("A saved page cannot compute a new selection. To select by time, state or function: leadline view FILE", 409);
		const key = keyOf(name, params);
		if (key in answers) return answers[key];
		throw new Refusal(`This page does not include that (${key}). For everything: leadline view FILE`, 409);
	}
	return {
		isEmbedded: true,
		dropped: data.dropped ?? [],
		async get<T>(name: string, params: Params): Promise<T> {
			if (name === "search") {
				const table = find("table", { r: params.r, what: "functions", only_mine: params.only_mine });
				const tree = answers[keyOf("tree", { r: params.r, direction: "left-heavy", only_mine: params.only_mine })];
				return search(table as Table<Row>, tree as Tree, params) as T;
			}
			// The whole timeline is there: a window is cut out of it where it is drawn.
			const found = find(name, name === "timeline" ? { r: params.r } : params);
			if (name === "tree" || name === "difftree") return cutTree(found as Tree, params) as T;
			if (name === "table") return sortRows(found as Table<Row>, params) as T;
			return found as T;
		},
	};
}

/** base64 of deflate-raw of JSON. */
export async function decode(text: string): Promise<Embedded> {
	const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return JSON.parse(await new Response(stream).text());
}
