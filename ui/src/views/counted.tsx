// SPDX-License-Identifier: MIT
// The overview of what was counted without a clock: how often functions were called and lines ran, and how to learn what takes the time.
import { FunctionCost, LineCost, Table } from "../api/types";
import { mostCalled, mostRun, NO_TIMES, sumOf } from "../model/counts";
import { baseOf, count, percent, place as placeOf, plural } from "../model/format";
import { selectionOf } from "../model/place";
import { Bar } from "../parts/bars";
import { selectFunction, showSource } from "../parts/select";
import { Notice, Wait, WithCommands } from "../parts/states";
import { useAnswer, useOverview, usePlace, useStore } from "../store";

const ROWS = 12;
const LEVELS = ["own", "library", "c", "synthetic"];

interface Counted {
	key: string;
	name: string;
	where: string;
	n: number;
	level: string;
	title: string;
	open: () => void;
}

function Tops({ rows, total, label }: { rows: Counted[]; total: number; label: string }) {
	const largest = Math.max(...rows.map((row) => row.n), 0);
	return (
		<ol class="tops counts" aria-label={label}>
			{rows.map((row) => (
				<li key={row.key}>
					<button type="button" title={row.title} data-count={row.n} onClick={row.open}>
						<span class="name">{row.name}</span>
						<span class="where">{row.where}</span>
						<Bar value={row.n} low={null} high={null} largest={largest} level={row.level} />
						<span class="num">{percent(total > 0 ? row.n / total : 0)}</span>
						<span class="num soft">{count(row.n)}</span>
					</button>
				</li>
			))}
		</ol>
	);
}

function Lines() {
	const store = useStore();
	const place = usePlace();
	const hasLines = (useOverview().counts.lines ?? 0) > 0;
	const lines = useAnswer<Table<LineCost>>(hasLines ? "table" : null, { ...selectionOf(place), what: "lines", sort: "hits", limit: 5000 });
	if (!hasLines) return <Notice title="Lines were not counted" text="To count how often each line runs: leadline run --count=lines SCRIPT.py" />;
	return (
		<Wait answer={lines}>
			{(table) => {
				const rows = mostRun(table.rows).slice(0, ROWS);
				return (
					<Tops
						label="lines by hits" total={sumOf(table.rows, (row) => row.hits)}
						rows={rows.map((row) => ({
							key: `${row.function_id}:${row.line}`, name: placeOf(row.file, row.line), where: row.function, n: row.hits ?? 0, level: "own",
							title: `${row.file}:${row.line} in ${row.function}`, open: () => showSource(store, row.function_id, row.file, row.line),
						}))}
					/>
				);
			}}
		</Wait>
	);
}

export function CountedOverview() {
	const store = useStore();
	const place = usePlace();
	const overview = useOverview();
	const functions = useAnswer<Table<FunctionCost>>("table", { ...selectionOf(place), what: "functions", sort: "calls", limit: 5000 });
	return (
		<div class="overview">
			<Wait answer={functions}>
				{(table) => {
					const total = sumOf(table.rows, (row) => row.calls);
					const rows = table.rows.filter((row) => (row.calls ?? 0) > 0);
					const own = mostCalled(rows);
					return (
						<>
							<section aria-labelledby="where" class="wide">
								<h2 id="where">What ran most often</h2>
								<p class="answer">
									{plural(total, "call")} to {plural(table.n, "function")}{rows[0] && `; ${percent((rows[0].calls ?? 0) / total)} to ${rows[0].name}`}.
								</p>
								<div class="two">
									<div>
										<h3>Functions by calls</h3>
										<Tops
											label="functions by calls" total={total}
											rows={rows.slice(0, ROWS).map((row) => ({
												key: String(row.function_id), name: row.name, where: placeOf(row.file, row.line), n: row.calls ?? 0, level: LEVELS[row.kind],
												title: `${row.name}\n${row.file}:${row.line}\n${plural(row.calls ?? 0, "call")}`, open: () => selectFunction(store, row.function_id),
											}))}
										/>
									</div>
									<div>
										<h3>Lines by hits</h3>
										<Lines />
									</div>
								</div>
							</section>
							<section aria-labelledby="why">
								<h2 id="why">Times were not recorded</h2>
								<p class="answer">A function that is called often is not necessarily slow.</p>
								<p class="soft"><WithCommands text={`${NO_TIMES}.`} /></p>
								{overview.verdict && <p class="soft small">The run as a whole: {overview.verdict}.</p>}
							</section>
							<section aria-labelledby="next">
								<h2 id="next">What to look at next</h2>
								{own ? (
									<p class="answer">
										Of your own code{" "}
										<button type="button" class="link" onClick={() => showSource(store, own.function_id, own.file, own.line)}>{own.name}</button>{" "}
										is called most: {plural(own.calls ?? 0, "time")} <span class="soft">({baseOf(own.file)}:{own.line})</span>.
									</p>
								) : (
									<p class="answer">None of your own functions was called.</p>
								)}
								<p class="soft small">Counts are exact: two runs that do the same work have the same counts.</p>
							</section>
						</>
					);
				}}
			</Wait>
		</div>
	);
}
