// SPDX-License-Identifier: MIT
// A window of time that is moved and zoomed, and what threads did in it. Pure.
import { Timeline, TimelineThread } from "../api/types";

export interface Span {
	from: number;
	to: number;
}

/** Nothing shorter is shown: 1 µs. */
const LEAST = 1e-6;

export function clamp(span: Span, whole: Span): Span {
	const length = Math.min(whole.to - whole.from, Math.max(LEAST, span.to - span.from));
	const from = Math.min(whole.to - length, Math.max(whole.from, span.from));
	return { from, to: from + length };
}

/** Zoomed by a factor (< 1 closer) around a moment that stays where it is. */
export function zoomed(span: Span, at: number, factor: number, whole: Span): Span {
	return clamp({ from: at - (at - span.from) * factor, to: at + (span.to - at) * factor }, whole);
}

export function moved(span: Span, share: number, whole: Span): Span {
	const by = (span.to - span.from) * share;
	return clamp({ from: span.from + by, to: span.to + by }, whole);
}

/** The run of a thread at a moment; −1: none. Runs begin at t, each ends where the next begins. */
export function runAt(thread: TimelineThread, t: number): number {
	let low = 0;
	let high = thread.t.length - 1;
	if (high < 0 || t < thread.t[0]) return -1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (thread.t[middle] <= t) low = middle;
		else high = middle - 1;
	}
	return low === thread.t.length - 1 ? -1 : low;
}

/** Seconds in each state within a window, by the state's index. */
export function timeByState(thread: TimelineThread, span: Span, nStates: number): number[] {
	const sums = new Array<number>(nStates).fill(0);
	for (let i = 0; i + 1 < thread.t.length; i++) {
		const length = Math.min(thread.t[i + 1], span.to) - Math.max(thread.t[i], span.from);
		if (length > 0) sums[thread.s[i]] += length;
	}
	return sums;
}

/** The threads that did most in a window, in their order; those that only waited are left out unless all did. */
export function busiest({ threads, states }: Pick<Timeline, "threads" | "states">, span: Span, most: number): TimelineThread[] {
	const isWork = states.map((name) => name !== "none" && name !== "waiting" && name !== "late");
	const worked = threads.map((thread) => timeByState(thread, span, states.length).reduce((sum, s, i) => sum + (isWork[i] ? s : 0), 0));
	const order = threads.map((_, i) => i).sort((a, b) => worked[b] - worked[a]);
	const chosen = order.filter((i, rank) => rank < most && (worked[i] > 0 || rank === 0));
	return chosen.sort((a, b) => a - b).map((i) => threads[i]);
}
