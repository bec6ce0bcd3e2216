// SPDX-License-Identifier: MIT
// Draws threads over time: what each did, the regions the program has named, the axis, what the brush holds.
import { FunctionRow, Region, Timeline } from "../api/types";
import { stateColour } from "../model/colour";
import { moment, ticks } from "../model/format";
import { Span } from "../model/timeline";

export const AXIS = 22;
export const LANE = 24;
export const REGION = 16;

/** A thread's rows: its lane, then as many rows of regions as nest. */
export interface Lane {
	/** index in timeline.threads */
	thread: number;
	y: number;
	regions: { region: Region; row: number }[];
	height: number;
}

/** Regions under their thread; one that overlaps goes a row deeper. */
export function lanesOf(timeline: Timeline): Lane[] {
	let y = AXIS;
	return timeline.threads.map((thread, i) => {
		const ends: number[] = [];
		const regions = timeline.regions
			.filter((region) => region.thread === thread.number)
			.sort((a, b) => a.t - b.t || b.d - a.d)
			.map((region) => {
				let row = ends.findIndex((end) => end <= region.t + 1e-12);
				if (row < 0) row = ends.length;
				ends[row] = region.t + region.d;
				return { region, row };
			});
		const rows = Math.min(ends.length, 6);
		const lane = { thread: i, y, regions: regions.filter((r) => r.row < 6), height: LANE + rows * REGION + 6 };
		y += lane.height;
		return lane;
	});
}

export interface TimePicture {
	timeline: Timeline;
	lanes: Lane[];
	span: Span;
	width: number;
	height: number;
	isDark: boolean;
	nameOf: (f: number) => FunctionRow | undefined;
	brush: Span | null;
	f: number | undefined;
	/** How moments read on the axis. */
	label?: (t: number, step: number) => string;
}

export function drawTimeline(c: CanvasRenderingContext2D, p: TimePicture): void {
	const ink = p.isDark ? { text: "#f2efe8", soft: "#a8a59c", line: "#36383d", region: "#4b5a4e" } : { text: "#17181a", soft: "#5d5d58", line: "#dedbd3", region: "#d5e3d5" };
	const scale = p.width / (p.span.to - p.span.from);
	const xOf = (t: number) => (t - p.span.from) * scale;
	c.font = "11px system-ui, sans-serif";
	c.textBaseline = "middle";
	drawAxis(c, p, xOf, ink, p.label);
	for (const lane of p.lanes) {
		const thread = p.timeline.threads[lane.thread];
		for (let i = 0; i + 1 < thread.t.length; i++) {
			const x = xOf(thread.t[i]);
			const w = xOf(thread.t[i + 1]) - x;
			if (x > p.width || x + w < 0) continue;
			const state = p.timeline.states[thread.s[i]];
			if (state === "none") continue;
			const isWait = state === "waiting";
			c.globalAlpha = p.f === undefined || thread.f[i] === p.f ? 1 : 0.4;
			c.fillStyle = stateColour(state, p.isDark);
			// Waiting is low, the rest high: the shape tells it without the colour.
			c.fillRect(x, lane.y + (isWait ? LANE * 0.55 : 0), Math.max(w, 0.6), isWait ? LANE * 0.45 : LANE);
			c.globalAlpha = 1;
			const from = Math.max(0, x) + 4;
			const room = Math.min(p.width, x + w) - from - 4;
			const name = p.nameOf(thread.f[i])?.[1];
			if (!isWait && room > 40 && name) {
				c.fillStyle = "#17181a";
				c.fillText(name.length * 6 > room ? `${name.slice(0, Math.floor(room / 6) - 1)}…` : name, from, lane.y + LANE / 2, room);
			}
		}
		for (const { region, row } of lane.regions) {
			const x = xOf(region.t);
			const w = region.d * scale;
			if (x > p.width || x + w < 0) continue;
			const y = lane.y + LANE + 2 + row * REGION;
			c.fillStyle = ink.region;
			c.fillRect(x, y, Math.max(w - 0.5, 0.6), REGION - 2);
			const from = Math.max(0, x) + 4;
			const room = Math.min(p.width, x + w) - from - 2;
			c.fillStyle = ink.text;
			if (room > 30) c.fillText(region.name.slice(0, Math.floor(room / 5.6)), from, y + REGION / 2 - 1, room);
		}
	}
	drawBrush(c, p, xOf, ink.text);
}

/** Where a picture over time lies, and what is marked in it. */
export type TimeFrame = Pick<TimePicture, "span" | "width" | "height" | "brush" | "isDark">;

export function drawAxis(c: CanvasRenderingContext2D, p: TimeFrame, xOf: (t: number) => number, ink: { soft: string; line: string }, label: (t: number, step: number) => string = moment): void {
	const { at, step } = ticks(p.span.from, p.span.to, Math.max(2, p.width / 110));
	for (const t of at) {
		const x = Math.round(xOf(t)) + 0.5;
		c.strokeStyle = ink.line;
		c.beginPath();
		c.moveTo(x, AXIS - 6);
		c.lineTo(x, p.height);
		c.stroke();
		c.fillStyle = ink.soft;
		c.fillText(label(t, step), x + 3, 9);
	}
}

export function drawBrush(c: CanvasRenderingContext2D, p: TimeFrame, xOf: (t: number) => number, ink: string): void {
	if (!p.brush) return;
	const a = xOf(p.brush.from);
	const b = xOf(p.brush.to);
	c.fillStyle = p.isDark ? "#ffffff1f" : "#0000001a";
	c.fillRect(a, 0, b - a, p.height);
	c.strokeStyle = ink;
	c.lineWidth = 1;
	c.strokeRect(a + 0.5, 0.5, Math.max(1, b - a - 1), p.height - 1);
}
