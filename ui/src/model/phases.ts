// SPDX-License-Identifier: MIT
// Which phases of a training can be looked at alone. Pure.
import { Phase } from "../api/torch";

/** Those with steps of their own; imports and the rest have rows in every table as it is. */
const ALONE = ["training", "steps", "validation"];

export function selectable(phases: Phase[]): Phase[] {
	const chosen = ALONE.map((name) => phases.find((phase) => phase.name === name)).filter((phase): phase is Phase => !!phase && phase.times > 0);
	// All of the run is no choice.
	return phases.filter((phase) => phase.total_s === null || phase.total_s > 0).length > 1 ? chosen : [];
}
