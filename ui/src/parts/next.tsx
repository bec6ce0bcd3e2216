// SPDX-License-Identifier: MIT
// Where to begin: the best finding of the recording's operators, and the line of the user's own that most would be gained by.
import { TorchOverview } from "../api/torch";
import { LineCost, Table } from "../api/types";
import { placeOf as findingPlace, savingOf } from "../model/finding";
import { amount, percent, place as placeOf } from "../model/format";
import { lineToLookAt } from "../model/lines";
import { selectionOf } from "../model/place";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { showSource } from "./select";

/** The first of the findings that the operators of the recording led to. */
export function BestFinding() {
	const store = useStore();
	const place = usePlace();
	const { data } = useAnswer<TorchOverview>("torch", { r: place.r, what: "overview", phase: place.phase });
	const best = data?.overview.advice[0];
	if (!best) return null;
	return (
		<p class="answer">
			<button type="button" class="link" onClick={() => store.go({ view: "torch", pane: "" })}>{best.title}</button>
			{best.file && <span class="code"> {findingPlace(best)}</span>}
			{best.saving && <>: saves {savingOf(best.saving)}</>}
		</p>
	);
}

export function LineToLookAt() {
	const store = useStore();
	const place = usePlace();
	const overview = useOverview();
	// Where lines are sampled, what a library does is its caller's: that is the line one can change.
	const isSampled = !overview.is_exact && !overview.is_call_graph && !overview.views.table;
	const mine = useAnswer<Table<LineCost>>(isSampled ? "table" : null, { ...selectionOf(place), filter: undefined, only_mine: true, what: "lines", limit: 1000 });
	if (isSampled && !mine.data && !mine.error) return <div class="quiet" aria-busy="true" />;
	const own = lineToLookAt((mine.data?.rows ?? []).filter((row) => !row.is_library));
	const first = own ?? lineToLookAt(overview.lines);
	const total = own ? (mine.data?.total ?? 0) : overview.total;
	if (!first) return <p class="answer">No line stands out.</p>;
	return (
		<>
			<p class="answer">
				Look at{" "}
				<button type="button" class="link" onClick={() => showSource(store, first.function_id, first.file, first.line)}>
					{placeOf(first.file, first.line)}
				</button>
				: speeding it up saves at most {amount(first.self, overview.unit)} ({percent(first.self / total)}).
			</p>
			<p class="soft small">{overview.is_exact || first.hits !== null ? "Measured on that line, calls included." : own ? "Sampled on that line of your code, including the libraries it calls." : "Sampled on that line alone, without what it calls."}</p>
		</>
	);
}
