// SPDX-License-Identifier: MIT
// A mark of the lead line, whatever it leads down through.
import { Place } from "./place";

export interface Mark {
	level: string;
	/** What is chosen there. */
	chosen: string;
	share: number | null;
	count: string;
	/** Not empty: nothing was recorded, and why. */
	why: string;
	/** Not empty: one must choose above first. */
	hint: string;
	go: Partial<Place> | null;
}
