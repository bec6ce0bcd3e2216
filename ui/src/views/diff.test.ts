// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { FunctionCost } from "../api/types";
import { changesOf } from "./diff";

const row = (name: string, self: number, low: number | null, high: number | null): FunctionCost => ({
	f: 0, name, file: "/a/x.py", line: 1, kind: 0, self, total: self, self_low: low, self_high: high, total_low: null, total_high: null,
	self_samples: 1, total_samples: 1, calls: null, primitive_calls: null,
});

test("a change is clear only when the intervals do not touch", () => {
	const changes = changesOf([row("a", 1, 0.9, 1.1), row("b", 1, 0.8, 1.2)], [row("a", 2, 1.8, 2.2), row("b", 1.3, 1.1, 1.5)], 1);
	expect(changes.map((c) => [c.name, c.isClear])).toEqual([["a", true], ["b", false]]);
});

test("what is gone or new counts from nothing, counted values are always clear", () => {
	const changes = changesOf([row("old", 3, null, null)], [row("new", 2, null, null)], 1);
	expect(changes.map((c) => [c.name, c.before, c.after, c.by, c.isClear])).toEqual([["old", 3, null, -3, true], ["new", null, 2, 2, true]]);
});

test("shares compare runs of other length", () => {
	expect(changesOf([row("a", 5, null, null)], [row("a", 10, null, null)], 0.5)[0].by).toBe(0);
});

test("a function that samples may have missed is not called new", () => {
	const sampled = (name: string, self: number) => ({ ...row(name, self, self * 0.9, self * 1.1), self_samples: self * 100 });
	const changes = changesOf([sampled("a", 5)], [sampled("a", 5), sampled("rare", 0.02), sampled("new", 1)], 1);
	expect(changes.map((c) => [c.name, c.isClear])).toEqual([["new", true], ["rare", false], ["a", false]]);
});
