// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { SpanTimeline } from "../api/torch";
import { AXIS, chosenNames, detailsFrom, findEvent, formatWindow, lanePlaces, longest, parseWindow, ROW, spanAt } from "./spans";

const timeline: SpanTimeline = {
	length_s: 1e-6, has_python: false, too_deep: 0, names: ["aten::mm", "cudaLaunchKernel", "gemm"],
	lanes: [
		{ process: "9", thread: "9", is_device: false, events: 3, rows: 2, row: [0, 1, 1], t: [0, 10, 40], d: [100, 20, 30], name: [0, 1, 1], kind: [0, 3, 3], event: [5, 6, 7], n: [1, 1, 3] },
		{ process: "0", thread: "7", is_device: true, events: 1, rows: 1, row: [0], t: [200], d: [300], name: [2], kind: [5], event: [8], n: [1] },
	],
	flows: [[6, 8, 0], [7, 8, 0]],
};
const places = lanePlaces(timeline.lanes);

test("lanes lie below each other, named after threads and streams", () => {
	expect(places.map((place) => place.label)).toEqual(["thread 9", "device 0, stream 7"]);
	expect(places[1].y).toBeGreaterThan(AXIS + 2 * ROW);
	expect(lanePlaces([timeline.lanes[0], { ...timeline.lanes[0], process: "10" }])[1].label).toBe("10, thread 9");
});

test("a point finds the span of its row, also a little beside it", () => {
	expect(spanAt(timeline, places, 50, AXIS + 1, 0)).toEqual({ lane: 0, i: 0 });
	expect(spanAt(timeline, places, 31, AXIS + ROW + 1, 2)).toEqual({ lane: 0, i: 1 });
	expect(spanAt(timeline, places, 35, AXIS + ROW + 1, 2)).toBeNull();
	expect(spanAt(timeline, places, 300, places[1].y + 1, 0)).toEqual({ lane: 1, i: 0 });
	expect(spanAt(timeline, places, 300, 2, 0)).toBeNull();
});

test("what a span leads to is found through those within it; several in one are no span", () => {
	expect(findEvent(timeline, 7)).toBeNull();
	const details = detailsFrom(timeline, 5);
	expect(details?.links.map((link) => [link.from.event, link.to.event])).toEqual([[6, 8]]);
	expect(detailsFrom(timeline, 8)?.links.length).toBe(1);
	expect(detailsFrom(timeline, 7)).toBeNull();
});

test("a window stands in the address and comes back", () => {
	const whole = { from: 0, to: 2 };
	expect(formatWindow(whole, whole)).toBe("");
	expect(formatWindow({ from: 0.5, to: 0.500001 }, whole)).toBe("0.5-0.500001");
	expect(parseWindow("0.5-0.500001")).toEqual({ from: 0.5, to: 0.500001 });
	for (const text of ["", "1", "2-1", "a-b", "1-1", "-1-2"]) expect(parseWindow(text)).toBeNull();
});

test("a search chooses names, else the operator selected does", () => {
	expect(chosenNames(timeline.names, " GEMM", "aten::mm")).toEqual(new Set([2]));
	expect(chosenNames(timeline.names, "nothing", "")).toEqual(new Set());
	expect(chosenNames(timeline.names, "", "aten::mm")).toEqual(new Set([0]));
	expect(chosenNames(timeline.names, "", "aten::add")).toBeNull();
	expect(chosenNames(timeline.names, "", "")).toBeNull();
});

test("the longest spans of what is seen come first", () => {
	expect(longest(timeline, { from: 0, to: 1 }, 2).map((at) => at.event)).toEqual([8, 5]);
	expect(longest(timeline, { from: 0, to: 1 }, 9, new Set([1])).map((at) => at.event)).toEqual([6]);
	expect(longest(timeline, { from: 0, to: 1e-7 }, 9).map((at) => at.event)).toEqual([5, 6]);
});
