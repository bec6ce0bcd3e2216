// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { coveredBy, decode, embeddedSource, keyOf } from "./embedded";
import { Search, Table, Tree } from "./types";

const tree = {
	unit: "s", total: 10, direction: "left-heavy", n_nodes: 4, node: 0, key: "0", value: 10, x: 0, path: [[0, -1]], functions: [],
	boxes: { id: [1, 2, 3, 4], f: [7, 8, 7, 9], d: [1, 2, 3, 2], x: [0, 0, 0, 6], w: [10, 6, 2, 4], s: [0, 4, 2, 4], n: [1, 1, 1, 1], c: [null, null, null, null], h: [0, 0, 0, 0] },
	left_out: { boxes: 0, value: 0 },
};
const row = (f: number, name: string, self: number, total: number) => ({ function_id: f, name, file: "/x.py", line: f, kind: 0, self, total, calls: null });
const data = {
	answers: {
		"overview?r=0": { name: "x" },
		"tree?r=0&direction=left-heavy": tree,
		"table?r=0&what=functions": { what: "functions", unit: "s", total: 10, n: 3, rows: [row(8, "b", 4, 6), row(9, "c", 4, 4), row(7, "A", 2, 10)] },
	},
	dropped: ["source of 1 file"],
};

test("answers made beforehand are found by their key", async () => {
	const source = embeddedSource(data);
	expect(keyOf("tree", { thread: "#1", r: 0, direction: "time", width: 3, only_mine: true })).toBe("tree?r=0&direction=time&thread=#1&only_mine=1");
	expect(await source.get("overview", { r: 0, state: "wall" })).toEqual({ name: "x" });
	await expect(source.get("overview", { r: 0, from: 1 })).rejects.toThrow("leadline view FILE");
	await expect(source.get("graph", { r: 0 })).rejects.toThrow("does not include");
});

test("a slice of the tree says where it lies", async () => {
	const cut = await embeddedSource(data).get<Tree>("tree", { r: 0, direction: "left-heavy", node: 2, width: 100 });
	expect(cut.path).toEqual([[0, -1], [1, 7], [2, 8]]);
	expect([cut.value, cut.x, cut.boxes.id]).toEqual([6, 0, [2, 3]]);
});

test("tables are sorted, filtered and cut here", async () => {
	const get = (more: object) => embeddedSource(data).get<Table<{ name: string }>>("table", { r: 0, what: "functions", ...more });
	expect((await get({ sort: "total", limit: 2 })).rows.map((r) => r.name)).toEqual(["A", "b"]);
	expect((await get({ sort: "name" })).rows.map((r) => r.name)).toEqual(["A", "b", "c"]);
	expect((await get({ filter: "^[bc] " })).n).toBe(2);
});

test("a search counts each moment once, however deep its functions lie", async () => {
	const found = await embeddedSource(data).get<Search>("search", { r: 0, q: "a (" });
	expect([found.ids, found.value]).toEqual([[7], 10]);
	expect(coveredBy(tree.boxes, new Set([8, 9]))).toBe(10);
	expect(coveredBy(tree.boxes, new Set([7, 8]))).toBe(10);
});

test("data is base64 of deflate-raw of JSON", async () => {
	const stream = new Blob([JSON.stringify(data)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
	const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
	expect(await decode(`\n${btoa(String.fromCharCode(...bytes))}\n`)).toEqual(data);
});
