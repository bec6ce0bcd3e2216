// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { Parts, Step } from "../api/torch";
import { columnsOf, fieldsOf, lengthOf, matching, OPERATOR_FIELDS, slowerBy, sortedBy, timesOf } from "./torch";

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
