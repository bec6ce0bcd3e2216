// SPDX-License-Identifier: MIT
// Where a page opens that nobody has asked a place of: what answers most of the questions people come with. Pure.
import { OpenRecording, Overview } from "../api/types";
import { Place } from "./place";

/** Recordings that are ranks of a distributed job. */
export function ranksOf(recordings: OpenRecording[]): OpenRecording[] {
	return recordings.filter((one) => one.has_operators && (one.world_size ?? 0) > 1);
}

/** Ranks side by side; else the steps of what holds operators; else the overview, or what there is in its place. */
export function landing(overview: Pick<Overview, "recordings" | "views">): Partial<Place> {
	const ranks = ranksOf(overview.recordings);
	if (ranks.length > 1) return { view: "torch", pane: "distributed", r: ranks[0].r };
	if (overview.views.torch === "") return { view: "torch" };
	return instead(overview);
}

/** Where the overview of a recording cannot be filled. */
export function instead({ recordings, views }: Pick<Overview, "recordings" | "views">): Partial<Place> {
	if (recordings.length && !views.overview) return {};
	return { view: views.torch === "" ? "torch" : "bench" };
}
