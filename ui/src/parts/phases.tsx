// SPDX-License-Identifier: MIT
// The phases of a training, where the recording tells them: one of them can be all that counts, in every view.
import { Phase, TorchOverview } from "../api/torch";
import { amount } from "../model/format";
import { selectable } from "../model/phases";
import { useAnswer, useOverview, usePlace, useStore } from "../store";

function usePhases(): Phase[] {
	const place = usePlace();
	const overview = useOverview();
	const { isEmbedded } = useStore().source;
	const { data } = useAnswer<TorchOverview>(overview.views.torch === "" && !isEmbedded ? "torch" : null, { r: place.r, what: "overview" });
	return selectable(data?.overview.phases ?? []);
}

/** "training only", and beside it the others. */
export function PhaseChoice() {
	const place = usePlace();
	const store = useStore();
	const phases = usePhases();
	if (!phases.length) return null;
	return (
		<span class="phases" role="group" aria-label="phase of the training">
			{phases.map((phase) => (
				<button
					type="button" key={phase.name} aria-pressed={place.phase === phase.name} title={phase.total_s === null ? undefined : `${amount(phase.total_s, "s")} of the run`}
					onClick={() => store.go({ phase: place.phase === phase.name ? "" : phase.name, node: "0" })}
				>
					{phase.name} only
				</button>
			))}
		</span>
	);
}

/** The same above the panes of operators, where nothing else of the selection counts. */
export function PhaseBar() {
	return usePhases().length ? <div class="chips"><PhaseChoice /></div> : null;
}
