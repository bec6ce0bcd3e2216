// SPDX-License-Identifier: MIT
// Boxes of a call tree in depth-first order, parents first: slices, paths, neighbours and their places on a
// flame graph, an icicle or a sunburst. Pure; the canvas only draws what this says.
import { Boxes } from "../api/types";

export function emptyBoxes(): Boxes {
	return { id: [], f: [], d: [], x: [], w: [], s: [], n: [], c: [], h: [] };
}

/** −1: not there (the root of all has no box). */
export function indexOfNode(boxes: Boxes, node: number): number {
	return boxes.id.indexOf(node);
}

/** The first box behind those below box i. */
export function endOf(boxes: Boxes, i: number): number {
	let end = i + 1;
	while (end < boxes.d.length && boxes.d[end] > boxes.d[i]) end++;
	return end;
}

/** −1: it lies directly below the root. */
export function parentOf(boxes: Boxes, i: number): number {
	let at = i - 1;
	while (at >= 0 && boxes.d[at] >= boxes.d[i]) at--;
	return at;
}

export function firstChild(boxes: Boxes, i: number): number {
	return i + 1 < boxes.d.length && boxes.d[i + 1] === boxes.d[i] + 1 ? i + 1 : -1;
}

/** The box beside box i with the same parent; step −1 or 1; −1: none. */
export function siblingOf(boxes: Boxes, i: number, step: number): number {
	for (let at = i + step; at >= 0 && at < boxes.d.length; at += step) {
		if (boxes.d[at] === boxes.d[i]) return at;
		if (boxes.d[at] < boxes.d[i]) return -1;
	}
	return -1;
}

/** From the root to box i: [node, f]. */
export function pathTo(boxes: Boxes, i: number): [number, number][] {
	const path: [number, number][] = [];
	for (let at = i; at >= 0; at = parentOf(boxes, at)) path.unshift([boxes.id[at], boxes.f[at]]);
	path.unshift([0, -1]);
	return path;
}

/** The same columns, as long as those of no box. */
function without(boxes: Boxes): Boxes {
	return Object.fromEntries(Object.keys(boxes).map((column) => [column, []])) as unknown as Boxes;
}

/** What lies at and below box i (−1: everything), nothing under half a pixel of `width` for `value`. */
export function slice(boxes: Boxes, i: number, value: number, width: number): Boxes {
	const result = without(boxes);
	const columns = Object.keys(boxes) as (keyof Boxes)[];
	const least = value > 0 ? (value / width) * 0.5 : 0;
	const base = i < 0 ? 0 : boxes.d[i];
	const end = i < 0 ? boxes.id.length : endOf(boxes, i);
	for (let at = Math.max(i, 0); at < end; at++) {
		if (boxes.w[at] < least) {
			at = endOf(boxes, at) - 1;
			continue;
		}
		for (const column of columns) (result[column] as (number | null)[]).push(boxes[column][at]);
		result.d[result.d.length - 1] = boxes.d[at] - base;
	}
	return result;
}

/** The same boxes without those narrower than a share of the whole, as snakeviz' cutoff does; and not deeper. */
export function prune(boxes: Boxes, least: number, depth: number): Boxes {
	if (least <= 0 && depth === Infinity) return boxes;
	const result = without(boxes);
	const columns = Object.keys(boxes) as (keyof Boxes)[];
	for (let at = 0; at < boxes.id.length; at++) {
		if (boxes.w[at] < least || boxes.d[at] > depth) continue;
		for (const column of columns) (result[column] as (number | null)[]).push(boxes[column][at]);
	}
	return result;
}

/** A window onto the boxes: from x0 on, `value` wide, beginning at a depth. */
export interface Window {
	x0: number;
	value: number;
	depth: number;
}

export interface Rect {
	x: number;
	y: number;
	w: number;
	h: number;
}

export function rectOf(boxes: Boxes, i: number, view: Window, width: number, row: number): Rect {
	const scale = view.value > 0 ? width / view.value : 0;
	return {
		x: (boxes.x[i] - view.x0) * scale,
		y: (boxes.d[i] - view.depth) * row,
		w: boxes.w[i] * scale,
		h: row,
	};
}

/** The box at a place of the window in pixels; −1: none. */
export function boxAt(boxes: Boxes, view: Window, width: number, row: number, x: number, y: number): number {
	const depth = Math.floor(y / row) + view.depth;
	const at = view.x0 + (x / width) * view.value;
	for (let i = 0; i < boxes.id.length; i++)
		if (boxes.d[i] === depth && boxes.x[i] <= at && at < boxes.x[i] + boxes.w[i]) return i;
	return -1;
}

export interface Arc {
	from: number;
	to: number;
	inner: number;
	outer: number;
}

/** Its place on a sunburst: angles from twelve o'clock on, radii in pixels. */
export function arcOf(boxes: Boxes, i: number, view: Window, radius: number, rings: number): Arc {
	const turn = view.value > 0 ? (2 * Math.PI) / view.value : 0;
	const ring = radius / (rings + 1);
	const depth = boxes.d[i] - view.depth;
	return {
		from: (boxes.x[i] - view.x0) * turn,
		to: (boxes.x[i] + boxes.w[i] - view.x0) * turn,
		inner: depth * ring,
		outer: (depth + 1) * ring,
	};
}

export function arcAt(boxes: Boxes, view: Window, radius: number, rings: number, dx: number, dy: number): number {
	const ring = radius / (rings + 1);
	const depth = Math.floor(Math.hypot(dx, dy) / ring) + view.depth;
	const angle = (Math.atan2(dx, -dy) + 2 * Math.PI) % (2 * Math.PI);
	const at = view.x0 + (angle / (2 * Math.PI)) * view.value;
	for (let i = 0; i < boxes.id.length; i++)
		if (boxes.d[i] === depth && boxes.x[i] <= at && at < boxes.x[i] + boxes.w[i]) return i;
	return -1;
}

export function deepest(boxes: Boxes): number {
	let deep = 0;
	for (const d of boxes.d) if (d > deep) deep = d;
	return deep;
}
