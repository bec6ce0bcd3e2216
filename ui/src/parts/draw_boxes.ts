// SPDX-License-Identifier: MIT
// Draws boxes of a call tree: rows (flame graph, icicle) or rings (sunburst). Only what can be seen is drawn.
import { Boxes, FunctionRow, Kind } from "../api/types";
import { boxColour } from "../model/colour";
import { Arc, arcOf, rectOf, Window } from "../model/tree";
import { fitted, lettersOn } from "../model/arc_text";
import { place } from "../model/format";

export const ROW = 19;
/** Text in boxes narrower than this says nothing. */
const LEAST_TEXT = 28;
const LETTER = 6.3;
const FONT = "12px system-ui, sans-serif";

export interface Picture {
	boxes: Boxes;
	window: Window;
	width: number;
	height: number;
	/** Pixels hidden above. */
	scroll: number;
	/** Height of all rows; root at the bottom when isUp. */
	full: number;
	isUp: boolean;
	isDark: boolean;
	nameOf: (f: number) => FunctionRow | undefined;
	/** null: no search */
	hits: Set<number> | null;
	/** All boxes of this function are marked. */
	f: number | undefined;
	/** Box under the pointer or cursor; −1 none. */
	at: number;
	rootName: string;
	colourOf?: (i: number, isDark: boolean) => string;
	markOf?: (i: number) => string;
}

function shorten(text: string, width: number): string {
	const n = Math.floor(width / LETTER);
	return text.length <= n ? text : n < 3 ? "" : `${text.slice(0, n - 1)}…`;
}

function inks(isDark: boolean) {
	return isDark
		? { text: "#f2efe8", soft: "#b9b4a8", gap: "#16171a", mark: "#ffffff", root: "#2b2d31", dim: 0.28 }
		: { text: "#17181a", soft: "#4a4a45", gap: "#ffffff", mark: "#17181a", root: "#e7e5df", dim: 0.3 };
}

function labelOf(row: FunctionRow | undefined, f: number, rootName: string): [string, string] {
	if (f < 0) return [rootName, ""];
	if (!row) return [`function ${f}`, ""];
	return [row[1], place(row[2], row[3])];
}

/** The left edge doubles the colour: solid own code, dots C functions, hatching what leadline made up. */
function drawEdge(c: CanvasRenderingContext2D, kind: Kind, x: number, y: number, w: number, h: number, ink: string) {
	if (w < 8 || kind === Kind.Library) return;
	c.fillStyle = ink;
	if (kind === Kind.Own) c.fillRect(x, y, 2, h);
	else if (kind === Kind.C) for (let dot = y + 2; dot < y + h - 2; dot += 5) c.fillRect(x + 1, dot, 2, 2);
	else {
		c.strokeStyle = ink;
		c.globalAlpha *= 0.25;
		c.beginPath();
		for (let line = x; line < x + w; line += 6) {
			c.moveTo(line, y + h);
			c.lineTo(Math.min(line + h, x + w), y);
		}
		c.stroke();
		c.globalAlpha *= 4;
	}
}

function fillOf(p: Picture, i: number, root: string): string {
	const f = p.boxes.f[i];
	if (f < 0) return root;
	if (p.colourOf) return p.colourOf(i, p.isDark);
	const row = p.nameOf(f);
	return boxColour(row?.[4] ?? Kind.Synthetic, row?.[1] ?? "", p.isDark);
}

function drawText(c: CanvasRenderingContext2D, p: Picture, i: number, x: number, y: number, w: number) {
	const f = p.boxes.f[i];
	const ink = inks(p.isDark);
	const from = Math.max(0, x) + 6;
	const room = Math.min(x + w, p.width) - from - 3;
	if (room < LEAST_TEXT) return;
	const [plain, where] = labelOf(p.nameOf(f), f, p.rootName);
	const name = (p.markOf?.(i) ?? "") + plain;
	const text = shorten(name, room);
	c.fillStyle = ink.text;
	c.fillText(text, from, y + ROW / 2 + 0.5, room);
	const used = c.measureText(text).width + 8;
	if (where && text === name && room - used > where.length * LETTER) {
		c.fillStyle = ink.soft;
		c.fillText(where, from + used, y + ROW / 2 + 0.5);
	}
}

export function drawRows(c: CanvasRenderingContext2D, p: Picture): void {
	const ink = inks(p.isDark);
	const { boxes } = p;
	c.font = FONT;
	c.textBaseline = "middle";
	for (let i = 0; i < boxes.id.length; i++) {
		const r = rectOf(boxes, i, p.window, p.width, ROW);
		const y = (p.isUp ? p.full - r.y - ROW : r.y) - p.scroll;
		if (y + ROW < 0 || y > p.height || r.x + r.w < 0 || r.x > p.width || r.w < 0.25) continue;
		const f = boxes.f[i];
		const row = p.nameOf(f);
		const isHit = !p.hits || p.hits.has(f);
		const w = Math.max(r.w - (r.w > 3 ? 1 : 0), 0.5);
		c.globalAlpha = isHit || f < 0 ? 1 : ink.dim;
		c.fillStyle = fillOf(p, i, ink.root);
		c.fillRect(r.x, y, w, ROW - 1);
		if (f >= 0 && !p.colourOf) drawEdge(c, row?.[4] ?? Kind.Library, r.x, y, w, ROW - 1, ink.soft);
		if (r.w > LEAST_TEXT) drawText(c, p, i, r.x, y, r.w);
		c.globalAlpha = 1;
		if ((p.f !== undefined && f === p.f) || i === p.at) {
			c.strokeStyle = ink.mark;
			c.lineWidth = i === p.at ? 2 : 1;
			if (r.w > 2) c.strokeRect(r.x + 0.5, y + 0.5, Math.max(1, w - 1), ROW - 2);
		}
	}
}

/** The name along a ring, letter by letter, where it is long and wide enough; the lower half reads from left to right, too. */
function drawArcText(c: CanvasRenderingContext2D, p: Picture, i: number, arc: Arc) {
	const middle = (arc.inner + arc.outer) / 2;
	const room = (arc.to - arc.from) * middle - 10;
	if (arc.inner <= 0 || arc.outer - arc.inner < 13 || room < LEAST_TEXT) return;
	const f = p.boxes.f[i];
	c.font = FONT;
	c.textAlign = "center";
	c.textBaseline = "middle";
	c.fillStyle = inks(p.isDark).text;
	const name = (p.markOf?.(i) ?? "") + labelOf(p.nameOf(f), f, p.rootName)[0];
	const text = fitted(name, room, (letter) => c.measureText(letter).width);
	const isBelow = Math.cos((arc.from + arc.to) / 2) < 0;
	for (const { letter, angle } of lettersOn(text, (arc.from + arc.to) / 2, middle, isBelow, (one) => c.measureText(one).width)) {
		c.save();
		c.rotate(isBelow ? angle + Math.PI : angle);
		c.fillText(letter, 0, isBelow ? middle : -middle);
		c.restore();
	}
}

export function drawRings(c: CanvasRenderingContext2D, p: Picture, rings: number): void {
	const ink = inks(p.isDark);
	const { boxes } = p;
	const radius = Math.min(p.width, p.height) / 2 - 2;
	c.save();
	c.translate(p.width / 2, p.height / 2);
	for (let i = 0; i < boxes.id.length; i++) {
		const arc = arcOf(boxes, i, p.window, radius, rings);
		if (arc.outer > radius + 1 || arc.inner < 0 || (arc.to - arc.from) * arc.outer < 0.3) continue;
		const f = boxes.f[i];
		c.globalAlpha = !p.hits || p.hits.has(f) || f < 0 ? 1 : ink.dim;
		c.fillStyle = fillOf(p, i, ink.root);
		const quarter = Math.PI / 2;
		c.beginPath();
		c.arc(0, 0, arc.outer, arc.from - quarter, arc.to - quarter);
		c.arc(0, 0, arc.inner, arc.to - quarter, arc.from - quarter, true);
		c.closePath();
		c.fill();
		c.globalAlpha = 1;
		const isMarked = (p.f !== undefined && f === p.f) || i === p.at;
		c.strokeStyle = isMarked ? ink.mark : ink.gap;
		c.lineWidth = isMarked ? 2 : 0.75;
		if ((arc.to - arc.from) * arc.outer > 2) c.stroke();
		drawArcText(c, p, i, arc);
	}
	c.restore();
	const centre = boxes.d.indexOf(p.window.depth);
	if (centre < 0) return;
	const [name] = labelOf(p.nameOf(boxes.f[centre]), boxes.f[centre], p.rootName);
	c.fillStyle = ink.text;
	c.font = FONT;
	c.textAlign = "center";
	c.textBaseline = "middle";
	const room = (1.7 * radius) / (rings + 1);
	c.fillText(boxes.f[centre] < 0 && name.length * LETTER > room ? "all" : shorten(name, room), p.width / 2, p.height / 2);
	c.textAlign = "start";
}
