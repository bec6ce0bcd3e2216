// SPDX-License-Identifier: MIT
// The lead line: how deep the user is and what lies below. Each mark has its share of time and a count; where
// nothing was recorded it is grey and says why. A click, or ↓ and ↑, goes one level deeper or back.
import { Bytecode, FunctionCost, LineCost, Overview, Table } from "../api/types";
import { percent, place as placeOf, plural } from "../model/format";
import { Mark } from "../model/mark";
import { Place, selectionOf } from "../model/place";
import { Answer, useAnswer, useOverview, usePlace, useStore } from "../store";
import { WithCommands } from "./states";

export interface Found {
	fn?: FunctionCost;
	lines: LineCost[];
	code?: Bytecode;
	/** Why there is no bytecode of this function. */
	noCode?: string;
}

function deepMarks(overview: Overview): Mark[] {
	return ["native", "kernel", "gpu"].map((level) => ({
		level: level === "gpu" ? "GPU" : level,
		chosen: "",
		share: null,
		count: "",
		why: overview.views[level] || (level in overview.views ? "" : "not recorded"),
		hint: "",
		go: null,
	}));
}

export function marksOf(place: Place, overview: Overview, found: Found): Mark[] {
	const { fn, lines, code } = found;
	const share = (value: number | null | undefined) => (value == null || !(overview.total > 0) ? null : value / overview.total);
	const threads = overview.report.threads ?? [];
	const thread = threads.find((t) => place.thread === `#${t.number}`);
	const line = lines.find((l) => l.line === place.line && l.function_id === place.f);
	const ops = code?.bytecode.flatMap((c) => c.instructions).filter((op) => place.line === undefined || op.line === place.line);
	const hot = ops?.reduce((best, op) => ((op.self ?? 0) > (best?.self ?? 0) ? op : best), ops[0]);
	const file = fn?.file ?? place.file;
	return [
		{ level: "program", chosen: overview.name, share: 1, count: plural(Math.max(overview.counts.threads ?? threads.length, 0), "thread"), why: "", hint: "", go: { view: "overview" } },
		{
			level: "thread", chosen: thread ? `#${thread.number} ${thread.name}` : "all", count: plural(overview.counts.functions ?? 0, "function"),
			share: thread ? share(thread.all ?? undefined) : 1, why: overview.views.timeline ? overview.views.timeline : "", hint: "", go: { view: overview.views.timeline ? "overview" : "timeline" },
		},
		{
			level: "function", chosen: fn?.name ?? "", share: share(fn?.total), count: fn ? plural(lines.length, "line") : "", why: "",
			hint: place.f === undefined ? "select one" : "", go: { view: "flame" },
		},
		{
			level: "line", chosen: line || place.line ? placeOf(file, place.line ?? null) : "", share: share(line?.self), count: ops && place.line !== undefined ? plural(ops.length, "instruction") : "",
			why: overview.views.source ?? "", hint: place.line === undefined ? "select one" : "", go: fn || place.file ? { view: "source", file, line: place.line ?? lines[0]?.line ?? fn?.line } : null,
		},
		{
			level: "bytecode", chosen: hot && place.line !== undefined ? hot.opname : "", share: share(hot && place.line !== undefined ? (hot.self ?? undefined) : undefined),
			count: ops ? plural(ops.length, "instruction") : "", why: overview.views.bytecode ?? "", hint: place.f === undefined ? "select a function" : (found.noCode ?? ""),
			go: fn && !found.noCode ? { view: "source", file, line: place.line ?? lines[0]?.line, open: String(place.line ?? lines[0]?.line ?? "") } : null,
		},
		...deepMarks(overview),
	];
}

/** The level the main view is at. */
export function depthOf(place: Place): number {
	if (place.view === "source") return place.open ? 4 : place.line !== undefined ? 3 : 2;
	if (place.f !== undefined) return place.line !== undefined ? 3 : 2;
	return place.thread || place.view === "timeline" ? 1 : 0;
}

/** The row of the selected function, by the table's answer. */
export function useFunction(): { fn: FunctionCost | undefined; lines: LineCost[]; answer: Answer<Table<FunctionCost>> } {
	const place = usePlace();
	const params = { ...selectionOf(place), filter: undefined };
	const name = place.f === undefined ? null : "table";
	const functions = useAnswer<Table<FunctionCost>>(name, { ...params, what: "functions", limit: 1000 });
	const lines = useAnswer<Table<LineCost>>(name, { ...params, what: "lines", limit: 1000 });
	return {
		fn: functions.data?.rows.find((row) => row.function_id === place.f),
		lines: (lines.data?.rows ?? []).filter((row) => row.function_id === place.f),
		answer: functions,
	};
}

export function LeadLine() {
	const place = usePlace();
	const overview = useOverview();
	const { fn, lines } = useFunction();
	const code = useAnswer<Bytecode>(fn && !overview.views.bytecode ? "bytecode" : null, { r: place.r, function: place.f });
	const marks = marksOf(place, overview, { fn, lines, code: code.error || code.isOld ? undefined : code.data, noCode: code.error?.message });
	return <Line marks={marks} depth={depthOf(place)} />;
}

/** The marks, one below the other; `depth`: where the main view is. */
export function Line({ marks, depth }: { marks: Mark[]; depth: number }) {
	const store = useStore();
	const step = (event: KeyboardEvent) => {
		const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
		if (!by) return;
		event.preventDefault();
		const items = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
		const at = items.indexOf(document.activeElement as HTMLButtonElement);
		items[Math.min(items.length - 1, Math.max(0, at + by))]?.focus();
	};
	return (
		<nav class="leadline" aria-label="lead line: how deep you are" onKeyDown={step}>
			<ol>
				{marks.map((mark, i) => (
					<li key={mark.level} class={`${mark.why ? "missing" : ""} ${i === depth ? "here" : i < depth ? "above" : "below"}`}>
						<button type="button" disabled={!!mark.why || !mark.go} aria-current={i === depth ? "location" : undefined} onClick={() => mark.go && store.go(mark.go)}>
							<span class="level">{mark.level}</span>
							{mark.chosen && !mark.why && <span class="chosen">{mark.chosen}</span>}
							{!mark.why && (mark.share !== null || mark.count) && (
								<span class="figures">
									{mark.share !== null && <b>{percent(mark.share)}</b>}
									{mark.count && <span>{mark.count}</span>}
								</span>
							)}
							{mark.hint && !mark.why && <span class="hint">{mark.hint}</span>}
						</button>
						{mark.why && (
							<span class="why">
								<WithCommands text={mark.why} />
							</span>
						)}
					</li>
				))}
			</ol>
		</nav>
	);
}
