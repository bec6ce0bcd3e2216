// SPDX-License-Identifier: MIT
// What counts, as chips: each can be taken away, all stand in the address.
import { Place, nameOfPattern } from "../model/place";
import { moment } from "../model/format";
import { usePlace, useStore, useOverview } from "../store";
import { PhaseChoice } from "./phases";

interface Chip {
	label: string;
	value: string;
	without: Partial<Place>;
}

const STATE_NAMES: Record<string, string> = { cpu: "on a CPU", gil: "holding the GIL", wait: "waiting", runnable: "waiting for a CPU" };

/** What is shown instead of time; in the order of the list. */
export const MEMORY_NAMES: Record<string, string> = { peak: "memory at its peak", growth: "memory that grew", leaks: "memory not released", churn: "all memory allocated" };

/** Memory has no states, phases or idle threads, and threads have other numbers. */
function chooseMemory(memory: string): Partial<Place> {
	return { memory, state: "wall", phase: "", idle: false, thread: "", node: "0" };
}

export function chipsOf(place: Place): Chip[] {
	const chips: Chip[] = [];
	if (place.from !== undefined || place.to !== undefined) {
		const value = `${moment(place.from ?? 0)} – ${place.to === undefined ? "end" : moment(place.to)}`;
		chips.push({ label: "time", value, without: { from: undefined, to: undefined } });
	}
	if (place.thread) chips.push({ label: "thread", value: place.thread, without: { thread: "" } });
	if (place.process) chips.push({ label: "process", value: place.process, without: { process: "" } });
	if (place.state !== "wall")
		chips.push({ label: "state", value: STATE_NAMES[place.state] ?? place.state, without: { state: "wall" } });
	if (place.memory) chips.push({ label: "instead of time", value: MEMORY_NAMES[place.memory] ?? place.memory, without: chooseMemory("") });
	if (place.phase) chips.push({ label: "phase", value: place.phase, without: { phase: "", node: "0" } });
	if (place.onlyMine) chips.push({ label: "only my code", value: "", without: { onlyMine: false } });
	if (place.idle) chips.push({ label: "with idle threads", value: "", without: { idle: false } });
	if (place.imports) chips.push({ label: "imports expanded", value: "", without: { imports: false, node: "0" } });
	if (place.filter) chips.push({ label: "filter", value: place.filter, without: { filter: "" } });
	for (const kind of ["focus", "drop", "merge"] as const)
		for (const pattern of place[kind])
			chips.push({
				label: kind,
				value: nameOfPattern(pattern),
				without: { [kind]: place[kind].filter((p) => p !== pattern), node: "0" },
			});
	if (place.collapse) chips.push({ label: "recursion folded", value: "", without: { collapse: false, node: "0" } });
	return chips;
}

export function Chips() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const chips = chipsOf(place);
	const threads = (overview.report.threads ?? []).filter((t) => !t.is_idle || place.idle);
	return (
		<div class="chips" role="group" aria-label="selection">
			{!overview.is_call_graph && (
				<button type="button" aria-pressed={place.onlyMine} onClick={() => store.go({ onlyMine: !place.onlyMine, node: "0" })}>
					only my code
				</button>
			)}
			{!place.memory && <PhaseChoice />}
			{overview.views.memory === "" && !store.source.isEmbedded && (
				<select aria-label="time or memory" value={place.memory} onChange={(e) => store.go(chooseMemory(e.currentTarget.value))}>
					<option value="">time</option>
					{Object.entries(MEMORY_NAMES).map(([value, text]) => (
						<option key={value} value={value}>
							{text}
						</option>
					))}
				</select>
			)}
			{threads.length > 1 && (
				<select aria-label="thread" value={place.thread} onChange={(e) => store.go({ thread: e.currentTarget.value, node: "0" })}>
					<option value="">all threads</option>
					{threads.map((t) => (
						<option key={t.number} value={`#${t.number}`}>
							#{t.number} {t.name}
						</option>
					))}
				</select>
			)}
			{!overview.is_exact && overview.states.length > 0 && !store.source.isEmbedded && (
				<select aria-label="state" value={place.state} onChange={(e) => store.go({ state: e.currentTarget.value, node: "0" })}>
					<option value="wall">wall time</option>
					<option value="cpu">on a CPU</option>
					<option value="gil">holding the GIL</option>
					<option value="wait">waiting</option>
					<option value="runnable">waiting for a CPU</option>
				</select>
			)}
			{chips.map((chip) => (
				<button
					type="button"
					class="chip"
					key={chip.label + chip.value}
					aria-label={`remove ${chip.label} ${chip.value}`}
					title="remove"
					onClick={() => store.go(chip.without)}
				>
					<span class="chip-label">{chip.label}</span> {chip.value && <span class="chip-value">{chip.value}</span>}
					<span aria-hidden="true"> ×</span>
				</button>
			))}
			{chips.length > 1 && (
				<button
					type="button"
					class="plain"
					onClick={() => store.go({ ...Object.assign({}, ...chips.map((chip) => chip.without)), focus: [], drop: [], merge: [] })}
				>
					clear all
				</button>
			)}
		</div>
	);
}
