// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { busiest, clamp, moved, runAt, timeByState, zoomed } from "./timeline";

const whole = { from: 0, to: 10 };
const thread = { number: 1, tid: 1, pid: 1, name: "", is_idle: false, t: [1, 2, 5, 9], s: [1, 4, 1, 0], f: [0, 1, 2, -1] };

test("the moment under the pointer stays there", () => {
	const span = zoomed({ from: 2, to: 6 }, 3, 0.5, whole);
	expect(span).toEqual({ from: 2.5, to: 4.5 });
	expect((3 - span.from) / (span.to - span.from)).toBe((3 - 2) / 4);
});

test("a window never leaves the recording, nor becomes nothing", () => {
	expect(zoomed({ from: 0, to: 10 }, 5, 3, whole)).toEqual(whole);
	expect(moved({ from: 6, to: 10 }, 0.5, whole)).toEqual({ from: 6, to: 10 });
	const least = clamp({ from: 5, to: 5 }, whole);
	expect(least.to).toBeGreaterThan(least.from);
});

test("a run is found by its moment", () => {
	expect([0.5, 1, 1.9, 2, 8.9, 9, 11].map((t) => runAt(thread, t))).toEqual([-1, 0, 0, 1, 2, -1, -1]);
	expect(runAt({ ...thread, t: [], s: [], f: [] }, 1)).toBe(-1);
});

test("time in each state counts only what the window shows", () => {
	expect(timeByState(thread, whole, 5)).toEqual([0, 5, 0, 0, 3]);
	expect(timeByState(thread, { from: 4, to: 6 }, 5)).toEqual([0, 1, 0, 0, 1]);
});

test("threads that worked most in a window stand beside operators, in their order", () => {
	const thread = (number: number, s: number, end: number) => ({ number, tid: number, pid: 1, name: "", is_idle: false, t: [0, end], s: [s, 0], f: [0, 0] });
	const states = ["none", "running", "gil_wait", "gc", "waiting", "late"];
	const threads = [thread(1, 4, 10), thread(2, 1, 2), thread(3, 1, 9), thread(4, 1, 5)];
	const chosen = (span: { from: number; to: number }, most: number) => busiest({ threads, states }, span, most).map((one) => one.number);
	expect(chosen({ from: 0, to: 10 }, 2)).toEqual([3, 4]);
	expect(chosen({ from: 0, to: 10 }, 9)).toEqual([2, 3, 4]);
	expect(chosen({ from: 6, to: 8 }, 9)).toEqual([3]);
	// Where nobody worked there is still a row.
	expect(chosen({ from: 9.5, to: 10 }, 9)).toEqual([1]);
});
