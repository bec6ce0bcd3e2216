// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { Boxes } from "../api/types";
import { arcAt, arcOf, boxAt, deepest, endOf, firstChild, parentOf, pathTo, prune, rectOf, siblingOf, slice } from "./tree";

/** a(10) → b(6) → c(2); a → d(4) → e(0.001) */
const boxes: Boxes = {
	id: [1, 2, 3, 4, 5], f: [10, 11, 12, 13, 14], d: [1, 2, 3, 2, 3], x: [0, 0, 0, 6, 6], w: [10, 6, 2, 4, 0.001],
	s: [0, 4, 2, 3.999, 0.001], n: [10, 6, 2, 4, 1], c: [null, null, null, null, null], h: [0, 0, 0, 0, 0],
};

test("neighbours of a box are found by depth alone", () => {
	expect(parentOf(boxes, 2)).toBe(1);
	expect(parentOf(boxes, 0)).toBe(-1);
	expect(firstChild(boxes, 0)).toBe(1);
	expect(firstChild(boxes, 2)).toBe(-1);
	expect(siblingOf(boxes, 1, 1)).toBe(3);
	expect(siblingOf(boxes, 3, -1)).toBe(1);
	expect(siblingOf(boxes, 2, 1)).toBe(-1);
	expect(endOf(boxes, 1)).toBe(3);
	expect(deepest(boxes)).toBe(3);
});

test("a path begins at the root", () => {
	expect(pathTo(boxes, 2)).toEqual([[0, -1], [1, 10], [2, 11], [3, 12]]);
});

test("a slice holds what lies below, from depth 0 on, and nothing under half a pixel", () => {
	const cut = slice(boxes, 3, 4, 1000);
	expect(cut.id).toEqual([4]);
	expect(cut.d).toEqual([0]);
	expect(slice(boxes, 3, 4, 10000).id).toEqual([4, 5]);
	expect(slice(boxes, -1, 10, 1000).id).toEqual([1, 2, 3, 4]);
});

test("pruning keeps boxes that are large and not too deep", () => {
	expect(prune(boxes, 3, Infinity).id).toEqual([1, 2, 4]);
	expect(prune(boxes, 0, 2).id).toEqual([1, 2, 4]);
	expect(prune(boxes, 0, Infinity)).toBe(boxes);
});

test("the box under a point is the one drawn there", () => {
	const view = { x0: 0, value: 10, depth: 1 };
	for (let i = 0; i < 4; i++) {
		const r = rectOf(boxes, i, view, 1000, 20);
		expect(boxAt(boxes, view, 1000, 20, r.x + r.w / 2, r.y + 10)).toBe(i);
	}
	expect(boxAt(boxes, view, 1000, 20, 500, 50)).toBe(-1);
});

test("the arc under a point is the one drawn there", () => {
	const view = { x0: 0, value: 10, depth: 1 };
	for (let i = 0; i < 4; i++) {
		const arc = arcOf(boxes, i, view, 300, 2);
		const angle = (arc.from + arc.to) / 2;
		const radius = (arc.inner + arc.outer) / 2;
		expect(arcAt(boxes, view, 300, 2, Math.sin(angle) * radius, -Math.cos(angle) * radius)).toBe(i);
	}
});
