// SPDX-License-Identifier: MIT
// Details of the selected function: its time, who calls it, what it calls, and steps one can take from it.
import { Neighbour, Table, Unit } from "../api/types";
import { amount, count, percent, place as placeOf } from "../model/format";
import { selectionOf } from "../model/place";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { Spread } from "./bars";
import { EditorLink } from "./editor";
import { useFunction } from "./leadline";
import { showSource, transform } from "./select";
import { Wait } from "./states";

const ROWS = 6;

function Neighbours({ what, unit }: { what: "callers" | "callees"; unit: Unit }) {
	const place = usePlace();
	const store = useStore();
	const answer = useAnswer<Table<Neighbour>>("table", { ...selectionOf(place), filter: undefined, what, function: place.f, limit: ROWS });
	return (
		<section>
			<h3>{what === "callers" ? "Called by" : "Spends it in"}</h3>
			<Wait answer={answer}>
				{(table) => (
					<ul class="neighbours">
						{table.rows.slice(0, ROWS).map((row) => (
							<li key={row.f}>
								<span class="num">{percent(row.share)}</span>
								<span class="num soft">{amount(row.value, unit)}</span>
								{row.f >= 0 ? (
									<button type="button" class="link code" onClick={() => store.go({ f: row.f, line: undefined }, true)}>
										{row.name}
									</button>
								) : (
									<span class="soft">{what === "callers" ? "nobody: it began there" : "its own code"}</span>
								)}
							</li>
						))}
						{!table.rows.length && <li class="soft">none seen</li>}
						{table.n > ROWS && (
							<li>
								<button type="button" class="link" onClick={() => store.go({ view: "table", what })}>
									all {count(table.n)}
								</button>
							</li>
						)}
					</ul>
				)}
			</Wait>
		</section>
	);
}

export function Drawer() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const { fn, lines } = useFunction();
	if (place.f === undefined || !fn) return null;
	const unit = overview.unit;
	return (
		<aside class="drawer" aria-label={`details of ${fn.name}`}>
			<header>
				<h2 class="code">{fn.name}</h2>
				<span class="soft"><EditorLink file={fn.file} line={fn.line}>{placeOf(fn.file, fn.line)}</EditorLink></span>
				<span class="grow" />
				{!store.source.isEmbedded && (
					<span class="steps">
						<button type="button" onClick={() => transform(store, "focus", fn.f)}>focus</button>
						<button type="button" onClick={() => transform(store, "drop", fn.f)}>drop</button>
						<button type="button" onClick={() => transform(store, "merge", fn.f)}>merge</button>
					</span>
				)}
				<button type="button" onClick={() => store.go({ view: "flame", direction: "sandwich" })}>sandwich</button>
				{fn.file && <button type="button" onClick={() => showSource(store, fn.f, fn.file, lines[0]?.line ?? fn.line)}>source</button>}
				<button type="button" class="plain" aria-label="close details" onClick={() => store.go({ f: undefined, line: undefined }, true)}>×</button>
			</header>
			<div class="three">
				<section>
					<h3>Time</h3>
					<dl class="facts">
						<div><dt>itself</dt><dd>{amount(fn.self, unit)} <Spread low={fn.self_low} high={fn.self_high} unit={unit} /> {percent(fn.self / overview.sampled)}</dd></div>
						<div><dt>with calls</dt><dd>{amount(fn.total, unit)} <Spread low={fn.total_low} high={fn.total_high} unit={unit} /> {percent(fn.total / overview.sampled)}</dd></div>
						{fn.calls !== null && <div><dt>calls</dt><dd>{count(fn.calls)}</dd></div>}
						{fn.self_samples !== null && !overview.is_exact && <div><dt>samples</dt><dd>{count(fn.self_samples)} of {count(fn.total_samples)}</dd></div>}
					</dl>
				</section>
				<Neighbours what="callers" unit={unit} />
				<Neighbours what="callees" unit={unit} />
				<section>
					<h3>Hot lines</h3>
					<ul class="neighbours">
						{lines.slice(0, ROWS).map((line) => (
							<li key={line.line}>
								<span class="num">{percent(line.self / overview.sampled)}</span>
								<span class="num soft">{amount(line.self, unit)}</span>
								<button type="button" class="link code" onClick={() => showSource(store, line.f, line.file, line.line)}>{placeOf(line.file, line.line)}</button>
							</li>
						))}
						{!lines.length && <li class="soft">none seen</li>}
					</ul>
				</section>
			</div>
		</aside>
	);
}
