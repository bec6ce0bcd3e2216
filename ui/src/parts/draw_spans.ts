// SPDX-License-Identifier: MIT
// Draws the spans of a trace: a row for each depth, names where there is room, and what leads from the selected one to others.
import { SpanLink, SpanPlace, SpanTimeline } from "../api/torch";
import { briefly } from "../model/format";
import { LanePlace, ROW } from "../model/spans";
import { drawAxis, drawBrush, TimeFrame } from "./draw_timeline";

/** Hue is the kind: as the parts of steps have it, Python as in the flame graph. */
const HUES: [number, number][] = [[246, 45], [48, 40], [38, 80], [25, 70], [0, 0], [205, 65], [42, 75], [50, 25], [205, 25]];
const made = new Map<number, string>();

/** Lightness differs by name, so that neighbours can be told apart; text on it keeps its contrast. */
function spanColour(kind: number, name: number, isDark: boolean): string {
	const key = (kind * 7 + (name % 7)) * 2 + Number(isDark);
	let colour = made.get(key);
	if (!colour) {
		const [hue, saturation] = HUES[kind] ?? HUES[4];
		const vary = ((name % 7) * 0.618034) % 1;
		colour = `hsl(${hue} ${isDark ? saturation * 0.7 : saturation}% ${(isDark ? 25 + vary * 10 : 72 + vary * 12).toFixed(1)}%)`;
		made.set(key, colour);
	}
	return colour;
}

export function kindColour(kind: number, isDark: boolean): string {
	return spanColour(kind, 3, isDark);
}

export interface SpanPicture extends TimeFrame {
	timeline: SpanTimeline;
	places: LanePlace[];
	/** Names that step forward; null: all are alike. */
	chosen: Set<number> | null;
	event: number | undefined;
	links: SpanLink[];
}

export function drawSpans(c: CanvasRenderingContext2D, p: SpanPicture): void {
	const ink = p.isDark ? { text: "#f2efe8", soft: "#a8a59c", line: "#36383d", lane: "#1e2023" } : { text: "#17181a", soft: "#5d5d58", line: "#dedbd3", lane: "#f7f6f3" };
	const scale = p.width / (p.span.to - p.span.from);
	const xOf = (t: number) => (t - p.span.from) * scale;
	c.font = "11px system-ui, sans-serif";
	c.textBaseline = "middle";
	for (const { y, height } of p.places) {
		c.fillStyle = ink.lane;
		c.fillRect(0, y, p.width, height);
	}
	// The clock of what stands beside, where there is one.
	const begin = p.timeline.begin_s ?? 0;
	drawAxis(c, { ...p, span: { from: p.span.from + begin, to: p.span.to + begin } }, (t) => xOf(t - begin), ink, briefly);
	// Setting these costs more than the rectangle: only where they change.
	let fill = "";
	let alpha = 1;
	const dye = (colour: string, a: number) => {
		if (colour !== fill) c.fillStyle = fill = colour;
		if (a !== alpha) c.globalAlpha = alpha = a;
	};
	p.timeline.lanes.forEach((lane, k) => {
		const top = p.places[k].y;
		for (let i = 0; i < lane.t.length; i++) {
			const x = xOf(lane.t[i] / 1e9);
			const w = (lane.d[i] / 1e9) * scale;
			if (x > p.width || x + w < 0) continue;
			const y = top + lane.row[i] * ROW;
			const isMany = lane.n[i] > 1;
			dye(spanColour(lane.kind[i], isMany ? 0 : lane.name[i], p.isDark), p.chosen && (isMany || !p.chosen.has(lane.name[i])) ? 0.3 : 1);
			// Several in one are lower: there is more to see closer by.
			c.fillRect(x, y + (isMany ? ROW * 0.3 : 0), Math.max(w - 0.4, 0.7), isMany ? ROW * 0.55 : ROW - 1);
			const from = Math.max(0, x) + 3;
			const room = Math.min(p.width, x + w) - from - 3;
			if (room < 26) continue;
			const name = isMany ? `${lane.n[i]} spans` : p.timeline.names[lane.name[i]];
			dye(ink.text, alpha);
			c.fillText(name.length * 5.8 > room ? `${name.slice(0, Math.max(1, Math.floor(room / 5.8) - 1))}…` : name, from, y + ROW / 2, room);
		}
	});
	c.globalAlpha = 1;
	drawLinks(c, p, xOf);
	drawSelected(c, p, xOf);
	drawBrush(c, p, xOf, ink.text);
}

/** The middle of a span's left edge; null: it is not in the picture's lanes. */
function startOf(p: SpanPicture, at: SpanPlace, xOf: (t: number) => number): [number, number] | null {
	if (at.lane === undefined || at.row === undefined || !p.places[at.lane]) return null;
	return [xOf(at.t / 1e9), p.places[at.lane].y + at.row * ROW + ROW / 2];
}

function drawLinks(c: CanvasRenderingContext2D, p: SpanPicture, xOf: (t: number) => number): void {
	for (const { from, to, is_backward } of p.links) {
		const [a, b] = [startOf(p, from, xOf), startOf(p, to, xOf)];
		if (!a || !b || Math.max(a[0], b[0]) < -50 || Math.min(a[0], b[0]) > p.width + 50) continue;
		// To autograd dashed, to the device plain.
		c.strokeStyle = is_backward ? (p.isDark ? "#c9a2e6" : "#7a3e9d") : p.isDark ? "#f0b74a" : "#8a5600";
		c.setLineDash(is_backward ? [5, 3] : []);
		c.lineWidth = 1.5;
		const bend = Math.max(24, Math.abs(b[0] - a[0]) / 3);
		c.beginPath();
		c.moveTo(a[0], a[1]);
		c.bezierCurveTo(a[0] + bend, a[1], b[0] - bend, b[1], b[0], b[1]);
		c.stroke();
		c.setLineDash([]);
		c.fillStyle = c.strokeStyle;
		c.beginPath();
		c.moveTo(b[0], b[1]);
		c.lineTo(b[0] - 7, b[1] - 4);
		c.lineTo(b[0] - 7, b[1] + 4);
		c.fill();
	}
	c.lineWidth = 1;
}

function drawSelected(c: CanvasRenderingContext2D, p: SpanPicture, xOf: (t: number) => number): void {
	if (p.event === undefined) return;
	p.timeline.lanes.forEach((lane, k) => {
		const i = lane.event.indexOf(p.event as number);
		if (i < 0 || lane.n[i] > 1) return;
		const x = xOf(lane.t[i] / 1e9);
		c.strokeStyle = p.isDark ? "#ffffff" : "#000000";
		c.lineWidth = 2;
		c.strokeRect(x, p.places[k].y + lane.row[i] * ROW, Math.max(2, xOf((lane.t[i] + lane.d[i]) / 1e9) - x), ROW - 1);
		c.lineWidth = 1;
	});
}
