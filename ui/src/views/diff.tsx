// SPDX-License-Identifier: MIT
// Two recordings beside each other: functions by change of their own time. What the intervals cannot tell apart
// stays grey. A function is the same when its name and its file's name are.
import { useState } from "preact/hooks";
import { FunctionCost, Overview, Table } from "../api/types";
import { amount, baseOf, percent, place as placeOf } from "../model/format";
import { selectionOf } from "../model/place";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useOverview, usePlace, useStore } from "../store";

const ROWS = 200;

export interface Change {
	name: string;
	place: string;
	/** In r, the recording before; null: not seen there. */
	before: number | null;
	after: number | null;
	by: number;
	/** Their intervals do not touch, or the values are counted. */
	isClear: boolean;
}

/** What a function may have that no sample has seen: with 95 % less than 3 samples. */
function unseen(rows: FunctionCost[]): number {
	const row = rows.find((one) => one.self_high !== null && one.self > 0 && one.self_samples);
	return row ? (3 * row.self) / (row.self_samples as number) : 0;
}

/** `scale`: what values of the other recording are multiplied with, to compare shares of runs of other length. */
export function changesOf(before: FunctionCost[], after: FunctionCost[], scale: number): Change[] {
	const keyOf = (row: FunctionCost) => `${row.name}\n${baseOf(row.file)}`;
	const sum = (rows: FunctionCost[]) => {
		const all = new Map<string, FunctionCost>();
		for (const row of rows) {
			const known = all.get(keyOf(row));
			if (known) all.set(keyOf(row), { ...known, self: known.self + row.self, self_low: null, self_high: null });
			else all.set(keyOf(row), row);
		}
		return all;
	};
	const old = sum(before);
	const now = sum(after);
	const unseenBefore = unseen(before);
	const unseenAfter = unseen(after);
	const changes: Change[] = [];
	for (const key of new Set([...old.keys(), ...now.keys()])) {
		const a = old.get(key);
		const b = now.get(key);
		const row = (b ?? a) as FunctionCost;
		const by = (b?.self ?? 0) * scale - (a?.self ?? 0);
		const highest = by > 0 ? (a ? (a.self_high ?? a.self) : unseenBefore) : (b ? (b.self_high ?? b.self) : unseenAfter) * scale;
		const lowest = by > 0 ? (b?.self_low ?? b?.self ?? 0) * scale : (a?.self_low ?? a?.self ?? 0);
		changes.push({ name: row.name, place: placeOf(row.file, row.line), before: a?.self ?? null, after: b ? b.self * scale : null, by, isClear: by !== 0 && lowest > highest });
	}
	return changes.sort((x, y) => Math.abs(y.by) - Math.abs(x.by));
}

function Changes({ changes, unit }: { changes: Change[]; unit: Overview["unit"] }) {
	const largest = Math.max(...changes.map((c) => Math.abs(c.by)), 0);
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="changes">
			<table class="grid">
				<thead>
					<tr><th scope="col" class="num">before</th><th scope="col" class="num">after</th><th scope="col" class="num">change</th><th scope="col">slower or faster</th><th scope="col">function</th><th scope="col">place</th></tr>
				</thead>
				<tbody>
					{changes.slice(0, ROWS).map((c) => (
						<tr key={c.name + c.place} class={c.isClear ? (c.by > 0 ? "more" : "less") : "unclear"}>
							<td class="num">{amount(c.before, unit)}</td>
							<td class="num">{amount(c.after, unit)}</td>
							<td class="num strong">{c.by > 0 ? "+" : c.by < 0 ? "−" : ""}{amount(Math.abs(c.by), unit)}</td>
							<td><span class="change" aria-hidden="true"><span class={c.by > 0 ? "up" : "down"} style={{ width: `${largest > 0 ? (Math.abs(c.by) / largest) * 50 : 0}%` }} /></span>{c.isClear ? (c.by > 0 ? "more" : "less") : "not clear"}</td>
							<td class="code">{c.name}</td>
							<td class="soft">{c.place}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

export function DiffView() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const others = overview.recordings.filter((one) => one.r !== place.r);
	const [chosen, choose] = useState(others[0]?.r ?? 0);
	const [normal, setNormal] = useState("absolute");
	const params = { ...selectionOf(place), filter: undefined, what: "functions", limit: 1000 };
	const before = useAnswer<Table<FunctionCost>>("table", params);
	const after = useAnswer<Table<FunctionCost>>(others.length ? "table" : null, { ...params, r: chosen });
	if (!others.length) return <Notice title="One recording is open" text="Open two to compare them: leadline view before.lead after.lead" />;
	const nameOf = (r: number) => overview.recordings.find((one) => one.r === r)?.name ?? "";
	return (
		<div class="tableview">
			<div class="bar-of-tools">
				<span>before: <b>{nameOf(place.r)}</b></span>
				<label class="choice"><span>after</span>
					<select value={chosen} onChange={(e) => choose(Number(e.currentTarget.value))}>
						{others.map((one) => <option key={one.r} value={one.r}>{one.name}</option>)}
					</select>
				</label>
				<button type="button" onClick={() => { const r = place.r; store.go({ r: chosen, f: undefined }); choose(r); }}>swap</button>
				<label class="choice"><span>compare</span>
					<select value={normal} onChange={(e) => setNormal(e.currentTarget.value)}>
						<option value="absolute">absolute</option>
						<option value="share">shares of each run</option>
					</select>
				</label>
			</div>
			<Wait answer={before}>
				{(a) => (
					<Wait answer={after}>
						{(b) => {
							if (a.unit !== b.unit) return <Notice title="They measure different things" text={`One is in ${a.unit}, the other in ${b.unit}.`} />;
							const scale = normal === "share" && b.total > 0 ? a.total / b.total : 1;
							const by = b.total - a.total;
							return (
								<>
									<p class="answer">{amount(a.total, a.unit)} before, {amount(b.total, b.unit)} after: {by === 0 ? "the same" : `${percent(Math.abs(by) / (a.total || 1))} ${by > 0 ? "more" : "less"}`}.</p>
									<Changes changes={changesOf(a.rows, b.rows, scale)} unit={a.unit} />
									<p class="foot soft">Own time of functions. “Not clear”: the 95 % intervals of the two touch, so chance may be all there is.</p>
								</>
							);
						}}
					</Wait>
				)}
			</Wait>
		</div>
	);
}
