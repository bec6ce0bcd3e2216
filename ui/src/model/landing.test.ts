// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { OpenRecording } from "../api/types";
import { instead, landing, ranksOf } from "./landing";

const recording = (r: number, world_size = 0, has_operators = true): OpenRecording => ({ r, name: `${r}`, path: "", command: "", has_operators, world_size });

test("a recording with operators opens at its steps, one without at the overview", () => {
	expect(landing({ recordings: [recording(0)], views: { overview: "", torch: "" } })).toEqual({ view: "torch" });
	expect(landing({ recordings: [recording(0, 0, false)], views: { overview: "", torch: "none" } })).toEqual({});
	expect(landing({ recordings: [], views: { bench: "" } })).toEqual({ view: "bench" });
});

test("ranks open side by side, even where the first recording is none of them", () => {
	const job = [recording(0, 0, false), recording(1, 2), recording(2, 2)];
	expect(landing({ recordings: job, views: { overview: "", torch: "none" } })).toEqual({ view: "torch", pane: "distributed", r: 1 });
	expect(ranksOf([recording(0, 1), recording(1, 2, false), recording(2, 2)]).map((one) => one.r)).toEqual([2]);
	// One rank alone has nobody to stand beside.
	expect(landing({ recordings: [recording(0, 2)], views: { overview: "", torch: "" } })).toEqual({ view: "torch" });
});

test("where the overview cannot be filled, what can is shown", () => {
	expect(instead({ recordings: [recording(0)], views: { overview: "nothing was sampled", torch: "" } })).toEqual({ view: "torch" });
	expect(instead({ recordings: [recording(0)], views: { overview: "", torch: "" } })).toEqual({});
});
