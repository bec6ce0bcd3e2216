// SPDX-License-Identifier: MIT
// Details of the selected function: its time, who calls it, what it calls, and steps one can take from it.
import { Neighbour, SpreadOver, Table, Unit } from "../api/types";
import { amount, count, moment, percent, place as placeOf } from "../model/format";
import { isUntimed, mostRun } from "../model/counts";
import { selectionOf } from "../model/place";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { Timed } from "./bars";
import { EditorLink } from "./editor";
import { useFunction } from "./leadline";
import { showSource, transform } from "./select";
import { Wait } from "./states";

const ROWS = 6;

function Neighbours({ what, unit }: { what: "callers" | "callees"; unit: Unit }) {
	const place = usePlace();
	const isCounted = isUntimed(useOverview());
	const store = useStore();
	const answer = useAnswer<Table<Neighbour>>("table", { ...selectionOf(place), filter: undefined, what, function: place.f, limit: ROWS });
	return (
		<section>
			<h3>{what === "callers" ? "Called by" : isCounted ? "Calls" : "Time spent in"}</h3>
			<Wait answer={answer}>
				{(table) => (
					<ul class="neighbours">
						{table.rows.slice(0, ROWS).map((row) => (
							<li key={row.function_id}>
								<span class="num">{isCounted ? count(row.calls) : percent(row.total_share)}</span>
								<span class="num soft">{isCounted ? "calls" : amount(row.value, unit)}</span>
								{row.function_id !== null ? (
									<button type="button" class="link code" onClick={() => store.go({ f: row.function_id ?? undefined, line: undefined }, true)}>
										{row.name}
									</button>
								) : (
									<span class="soft">{what === "callers" ? "nothing: the stack starts here" : "its own code"}</span>
								)}
							</li>
						))}
						{!table.rows.length && <li class="soft">none</li>}
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

/** Its time over the run: with what it calls, and itself. */
function OverTime({ data }: { data: SpreadOver }) {
	const largest = Math.max(...data.totals);
	if (data.totals.length < 2 || !(largest > 0)) return null;
	const x = (i: number) => (i / data.totals.length) * 200;
	const area = (values: number[]) => `M0 40${values.map((v, i) => `V${(40 - (v / largest) * 38).toFixed(1)}H${x(i + 1).toFixed(1)}`).join("")}V40Z`;
	const end = data.begin + data.step * data.totals.length;
	return (
		<figure class="spark">
			<svg viewBox="0 0 200 40" preserveAspectRatio="none" role="img" aria-label={`its time from ${moment(data.begin)} to ${moment(end)}`}>
				<path class="total" d={area(data.totals)} />
				<path class="self" d={area(data.selves)} />
			</svg>
			<figcaption class="soft small"><span>{moment(data.begin, 0.1)}</span><span>dark: self</span><span>{moment(end, 0.1)}</span></figcaption>
		</figure>
	);
}

function Spreading({ unit }: { unit: Unit }) {
	const place = usePlace();
	const store = useStore();
	const { filter: _, ...selection } = selectionOf(place);
	const answer = useAnswer<SpreadOver>("spread", { ...selection, function: place.f });
	// What a page without a server does not hold is not missed here.
	if (answer.error || !answer.data) return null;
	const threads = [...answer.data.threads].sort((a, b) => b.total - a.total);
	return (
		<section>
			<h3>Over the run</h3>
			<OverTime data={answer.data} />
			{threads.length > 1 && (
				<ul class="neighbours">
					{threads.slice(0, 4).map((thread) => (
						<li key={thread.number}>
							<span class="num">{percent(thread.total / threads.reduce((sum, t) => sum + t.total, 0))}</span>
							<span class="num soft">{amount(thread.total, unit)}</span>
							<button type="button" class="link" onClick={() => store.go({ thread: `#${thread.number}`, node: "0" })}>#{thread.number} {thread.name}</button>
						</li>
					))}
					{threads.length > 4 && <li class="soft"><span>{count(threads.length - 4)} more</span></li>}
				</ul>
			)}
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
	const isCounted = isUntimed(overview);
	return (
		<aside class="drawer" aria-label={`details of ${fn.name}`}>
			<header>
				<h2 class="code">{fn.name}</h2>
				<span class="soft"><EditorLink file={fn.file} line={fn.line}>{placeOf(fn.file, fn.line)}</EditorLink></span>
				<span class="grow" />
				{!store.source.isEmbedded && (
					<span class="steps">
						<button type="button" onClick={() => transform(store, "focus", fn.function_id)}>focus</button>
						<button type="button" onClick={() => transform(store, "drop", fn.function_id)}>drop</button>
						<button type="button" onClick={() => transform(store, "merge", fn.function_id)}>merge</button>
					</span>
				)}
				{!isCounted && <button type="button" onClick={() => store.go({ view: "flame", direction: "sandwich" })}>sandwich</button>}
				{fn.file && <button type="button" onClick={() => showSource(store, fn.function_id, fn.file, lines[0]?.line ?? fn.line)}>source</button>}
				<button type="button" class="plain" aria-label="close details" onClick={() => store.go({ f: undefined, line: undefined }, true)}>×</button>
			</header>
			<div class="three">
				<section>
					<h3>{isCounted ? "Count" : "Time"}</h3>
					<dl class="facts">
						{!isCounted && <div><dt>self</dt><dd><Timed cost={fn} of="self" unit={unit} /> {percent(fn.self / overview.total)}</dd></div>}
						{!isCounted && <div><dt>total</dt><dd><Timed cost={fn} of="total" unit={unit} /> {percent(fn.total / overview.total)}</dd></div>}
						{fn.calls !== null && <div><dt>calls</dt><dd>{count(fn.calls)}</dd></div>}
						{fn.self_samples !== null && !overview.is_exact && <div><dt>samples</dt><dd>{count(fn.self_samples)} of {count(fn.total_samples)}</dd></div>}
					</dl>
				</section>
				<Neighbours what="callers" unit={unit} />
				<Neighbours what="callees" unit={unit} />
				<section>
					<h3>{isCounted ? "Lines" : "Hot lines"}</h3>
					<ul class="neighbours">
						{(isCounted ? mostRun(lines) : lines).slice(0, ROWS).map((line) => (
							<li key={line.line}>
								<span class="num">{isCounted ? count(line.hits) : percent(line.self / overview.total)}</span>
								<span class="num soft">{isCounted ? "hits" : amount(line.self, unit)}</span>
								<button type="button" class="link code" onClick={() => showSource(store, line.function_id, line.file, line.line)}>{placeOf(line.file, line.line)}</button>
							</li>
						))}
						{!lines.length && <li class="soft">none</li>}
					</ul>
				</section>
				{!isCounted && <Spreading unit={unit} />}
			</div>
		</aside>
	);
}
