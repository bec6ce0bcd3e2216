// SPDX-License-Identifier: MIT
// Spans of a trace over time: where their lanes lie, which one is under a point, what leads from one to another. Pure.
import { SpanDetails, SpanLane, SpanLink, SpanPlace, SpanTimeline } from "../api/torch";
import { Span } from "./timeline";

export const AXIS = 22;
export const ROW = 17;
const GAP = 9;

export interface LanePlace {
	y: number;
	height: number;
	label: string;
}

/** Lanes from the top on; processes are named where there are several. */
export function lanePlaces(lanes: SpanLane[]): LanePlace[] {
	const several = new Set(lanes.filter((lane) => !lane.is_device).map((lane) => lane.process)).size > 1;
	let y = AXIS;
	return lanes.map((lane) => {
		const place = { y, height: lane.rows * ROW, label: lane.is_device ? `device ${lane.process}, stream ${lane.thread}` : `${several ? `${lane.process}, ` : ""}thread ${lane.thread}` };
		y += place.height + GAP;
		return place;
	});
}

/** The window in the address; null: none, or none that makes sense. */
export function parseWindow(text: string): Span | null {
	const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
	if (!match) return null;
	const span = { from: Number(match[1]), to: Number(match[2]) };
	return span.to > span.from ? span : null;
}

export function formatWindow(span: Span, whole: Span): string {
	if (span.from <= whole.from && span.to >= whole.to) return "";
	const short = (t: number) => t.toFixed(9).replace(/\.?0+$/, "");
	return `${short(span.from)}-${short(span.to)}`;
}

/** The place of the i-th span of a lane. */
export function placeOf(timeline: SpanTimeline, lane: number, i: number): SpanPlace {
	const at = timeline.lanes[lane];
	return { event: at.event[i], name: timeline.names[at.name[i]], kind: at.kind[i], t: at.t[i], d: at.d[i], lane, row: at.row[i] };
}

export interface Hit {
	lane: number;
	i: number;
}

/** The span at a moment (ns) and a height; slack: how far beside a narrow one still counts, in ns. */
export function spanAt(timeline: SpanTimeline, places: LanePlace[], ns: number, y: number, slack: number): Hit | null {
	const lane = places.findIndex((place) => y >= place.y && y < place.y + place.height);
	if (lane < 0) return null;
	const row = Math.floor((y - places[lane].y) / ROW);
	const { t, d, row: rows } = timeline.lanes[lane];
	let best = -1;
	for (let i = 0; i < t.length; i++) {
		if (rows[i] !== row || ns < t[i] - slack || ns > t[i] + d[i] + slack) continue;
		if (best < 0 || d[i] < d[best]) best = i;
	}
	return best < 0 ? null : { lane, i: best };
}

/** The span of an event where it is shown by itself. */
export function findEvent(timeline: SpanTimeline, event: number): Hit | null {
	for (let lane = 0; lane < timeline.lanes.length; lane++) {
		const i = timeline.lanes[lane].event.indexOf(event);
		if (i >= 0 && timeline.lanes[lane].n[i] === 1) return { lane, i };
	}
	return null;
}

/** Details of a span out of what the page holds itself: links to spans that are shown. */
export function detailsFrom(timeline: SpanTimeline, event: number): SpanDetails | null {
	const hit = findEvent(timeline, event);
	if (!hit) return null;
	const self = placeOf(timeline, hit.lane, hit.i);
	const shown = new Map<number, SpanPlace>();
	timeline.lanes.forEach((lane, k) => lane.event.forEach((one, i) => lane.n[i] === 1 && shown.set(one, placeOf(timeline, k, i))));
	const isWithin = (one: SpanPlace) => one.lane === self.lane && one.t >= self.t && one.t + one.d <= self.t + self.d;
	const links: SpanLink[] = [];
	for (const [a, b, kind] of timeline.flows ?? []) {
		const [from, to] = [shown.get(a), shown.get(b)];
		if (from && to && (isWithin(from) || isWithin(to))) links.push({ is_backward: kind === 1, from, to });
	}
	return { ...self, n_links: links.length, links };
}

/** Names (their numbers) that step forward: those searched for, else the operator selected; null: all are alike. */
export function chosenNames(names: string[], q: string, op: string): Set<number> | null {
	const wanted = q.trim().toLowerCase();
	if (!wanted && !op) return null;
	const chosen = names.map((name, i) => ((wanted ? name.toLowerCase().includes(wanted) : name === op) ? i : -1)).filter((i) => i >= 0);
	return chosen.length || wanted ? new Set(chosen) : null;
}

/** The longest spans that are seen, for the table beside the picture. */
export function longest(timeline: SpanTimeline, span: Span, most: number, names: Set<number> | null = null): SpanPlace[] {
	const found: SpanPlace[] = [];
	timeline.lanes.forEach((lane, k) =>
		lane.t.forEach((t, i) => {
			if (lane.n[i] === 1 && (!names || names.has(lane.name[i])) && t / 1e9 < span.to && (t + lane.d[i]) / 1e9 > span.from) found.push(placeOf(timeline, k, i));
		}),
	);
	return found.sort((a, b) => b.d - a.d).slice(0, most);
}
