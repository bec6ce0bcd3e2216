// SPDX-License-Identifier: MIT
// Above every view: what is missing of the recordings it shows. Numbers beside it lack that.
import { Overview } from "../api/types";
import { Place } from "../model/place";
import { useOverview, usePlace } from "../store";

/** Those that the view shows: the one that is chosen; where recordings are compared, all of them. */
export function damaged(recordings: Overview["recordings"], place: Pick<Place, "view" | "pane" | "r">): { name: string; damage: string }[] {
	const isOfAll = place.view === "diff" || (place.view === "torch" && (place.pane === "diff" || place.pane === "distributed"));
	if (place.view === "bench") return [];
	return recordings.filter((one) => one.damage && (isOfAll || one.r === place.r)).map(({ name, damage }) => ({ name, damage: damage ?? "" }));
}

export function Damage() {
	const rows = damaged(useOverview().recordings, usePlace());
	if (!rows.length) return null;
	return (
		<div class="damage" role="alert">
			{rows.map((row) => (
				<p key={row.name}>
					<strong>{row.name} is damaged:</strong> {row.damage}.
				</p>
			))}
		</div>
	);
}
