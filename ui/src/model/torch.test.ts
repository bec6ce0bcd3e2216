// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { Parts, Step } from "../api/torch";
import { ceilingOf, columnsOf, fieldsOf, growing, lengthOf, lineOf, matching, OPERATOR_FIELDS, shortSource, slowerBy, sourceInWords, sortedBy, timesOf } from "./torch";

const NONE: Parts = { kernel: 0, memcpy: 0, memset: 0, communication: 0, runtime: 0, dataloader: 0, compile: 0, cpu: 0, other: 0 };
const step = (i: number, parts: Partial<Parts>): Step => {
	const all = { ...NONE, ...parts };
	return { name: `ProfilerStep#${i}`, duration_s: lengthOf(all), parts_s: all };
};

test("rows are sorted by numbers from the largest on, by words from a on, what is not known last", () => {
	const rows = [{ name: "b", flops: 1 }, { name: "a" }, { name: "c", flops: 5 }];
	expect(sortedBy(rows, "flops").map((row) => row.name)).toEqual(["c", "b", "a"]);
	expect(sortedBy(rows, "name").map((row) => row.name)).toEqual(["a", "b", "c"]);
	expect(sortedBy(rows, "")).toBe(rows);
});

test("a search looks at all words of a row and not at its numbers", () => {
	const rows = [{ name: "aten::mm", module: "Linear_0", calls: 12 }, { name: "aten::relu", module: "ReLU_1", calls: 3 }];
	expect(matching(rows, " linear ")).toEqual([rows[0]]);
	expect(matching(rows, "12")).toEqual([]);
	expect(matching(rows, "")).toBe(rows);
});

test("columns that would be empty are left out", () => {
	const keys = fieldsOf(OPERATOR_FIELDS, [{ name: "x", self_cpu_s: 0, shapes: "", flops: null }]).map((field) => field.key);
	expect(keys).toEqual(["name", "self_cpu_s"]);
	expect(fieldsOf([{ key: "cpu", title: "CPU", kind: "s", isOptional: true }], [{ cpu: 0 }])).toEqual([]);
});

test("more steps than there is room for are columns of their means", () => {
	const steps = [1, 3, 2, 4, 10].map((cpu, i) => step(i, { cpu }));
	expect(columnsOf(steps, 10).map((column) => column.parts.cpu)).toEqual([1, 3, 2, 4, 10]);
	const columns = columnsOf(steps, 3);
	expect(columns.map((column) => [column.first, column.n, column.seconds])).toEqual([[0, 2, 2], [2, 2, 3], [4, 1, 10]]);
	expect(columns[0].name).toBe("ProfilerStep#0 to ProfilerStep#1");
	expect(columnsOf([], 3)).toEqual([]);
});

test("points of a curve lie in the middle of their stretches", () => {
	expect(timesOf(4, 2)).toEqual([0.25, 0.75, 1.25, 1.75]);
});

test("a slow step names the part that grew most", () => {
	const median = { ...NONE, cpu: 2, kernel: 8 };
	expect(slowerBy(step(0, { cpu: 2, kernel: 9 }), 10, median)).toBeNull();
	expect(slowerBy(step(1, { cpu: 5, kernel: 8.5 }), 10, median)).toEqual({ part: "cpu", seconds: 3 });
});

test("one step that takes far longer does not flatten the others", () => {
	const chart = (...seconds: number[]) => ceilingOf(columnsOf(seconds.map((s, i) => step(i, { cpu: s })), 100));
	expect(chart(1, 1.1, 0.9, 1, 40)).toBeCloseTo(1.43);
	expect(chart(...Array.from({ length: 40 }, (_, i) => (i % 20 ? 1 : 30)))).toBeCloseTo(1.3);
	// A slow step that can be drawn is drawn; of two or three none is the usual one.
	expect(chart(1, 1, 1, 2)).toBe(2);
	expect(chart(1, 30)).toBe(30);
	expect(chart()).toBe(0);
});

test("what grows is what is added to in nearly every step", () => {
	const rows = [{ name: "aten::addmm", steps: 1, bytes: 900 }, { name: "aten::clone", steps: 10, bytes: 100 }, { name: "aten::mm", steps: 10, bytes: 1 }];
	expect(growing(rows, 11)).toBe(rows[1]);
	expect([growing(rows, 20), growing(rows, 3), growing([], 10)]).toEqual([undefined, undefined, undefined]);
});

test("a line of Python is told by its file, line and function", () => {
	expect(shortSource("/home/u/train.py(40): VAE.forward")).toBe("train.py:40 VAE.forward");
	expect(shortSource("<string>(1): f")).toBe("<string>:1 f");
	expect(shortSource("nn.Module: Linear_0")).toBe("nn.Module: Linear_0");
});

test("a row that is of several places says so", () => {
	const source = "/x/train.py(40): step";
	expect(sourceInWords({ source, n_places: 3 })).toBe("train.py:40 step +2");
	expect(sourceInWords({ source, n_places: 1 })).toBe("train.py:40 step");
	expect([sourceInWords({ source: "", n_places: 3 }), sourceInWords({ source: "", n_places: 1 }), sourceInWords({})]).toEqual(["3 places", "", ""]);
	expect([lineOf(source), lineOf("train.py: step"), lineOf("")]).toEqual([{ file: "/x/train.py", line: 40 }, null, null]);
});
