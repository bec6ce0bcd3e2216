// SPDX-License-Identifier: MIT
// The four questions in words first, pictures second: where, why, what to do, did it help.
import { Diff, FunctionCost, LineCost, Kind, Unit } from "../api/types";
import { Bar, Spread, StateBar } from "../parts/bars";
import { Notice } from "../parts/states";
import { selectFunction, showSource } from "../parts/select";
import { amount, baseOf, percent, place as placeOf, plural, shortCommand } from "../model/format";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { selectionOf } from "../model/place";
import { Table } from "../api/types";
import { Wait } from "../parts/states";
import { changeInWords, otherOf, questionOf } from "./diff";

const ROWS = 10;
const LEVELS = ["own", "library", "c", "synthetic"];

function Functions({ rows, total, unit }: { rows: FunctionCost[]; total: number; unit: Unit }) {
	const store = useStore();
	const largest = Math.max(...rows.map((row) => row.self_high ?? row.self), 0);
	return (
		<ol class="tops" aria-label="functions by their own time">
			{rows.filter((row) => row.self > 0).map((row) => (
				<li key={row.function_id}>
					<button
						type="button"
						data-self={row.self}
						data-f={row.function_id}
						title={`${row.name}\n${row.file}:${row.line}\nown ${amount(row.self, unit)}, with what it calls ${amount(row.total, unit)}`}
						onClick={() => selectFunction(store, row.function_id)}
						onDblClick={() => showSource(store, row.function_id, row.file, row.line)}
					>
						<span class="name">{row.name}</span>
						<span class="where split"><span>{baseOf(row.file)}</span>{row.file && <span>:{row.line}</span>}</span>
						<Bar value={row.self} low={row.self_low} high={row.self_high} largest={largest} level={LEVELS[row.kind]} />
						<span class="num">{percent(total > 0 ? row.self / total : 0)}</span>
						<span class="num soft">
							{amount(row.self, unit)} <Spread low={row.self_low} high={row.self_high} unit={unit} />
						</span>
					</button>
				</li>
			))}
		</ol>
	);
}

function Lines({ rows, total, unit }: { rows: LineCost[]; total: number; unit: Unit }) {
	const store = useStore();
	const largest = Math.max(...rows.map((row) => row.self_high ?? row.self), 0);
	return (
		<ol class="tops" aria-label="lines by their own time">
			{rows.map((row) => (
				<li key={`${row.function_id}:${row.line}`}>
					<button
						type="button"
						data-self={row.self}
						title={`${row.file}:${row.line} in ${row.function}`}
						onClick={() => showSource(store, row.function_id, row.file, row.line)}
					>
						<span class="name split"><span>{baseOf(row.file)}</span><span>:{row.line}</span></span>
						<span class="where">{row.function}</span>
						<Bar value={row.self} low={row.self_low} high={row.self_high} largest={largest} level="own" />
						<span class="num">{percent(total > 0 ? row.self / total : 0)}</span>
						<span class="num soft">
							{amount(row.self, unit)} <Spread low={row.self_low} high={row.self_high} unit={unit} />
						</span>
					</button>
				</li>
			))}
		</ol>
	);
}

/** Lines with time of their own, most first: lines counted one by one come in the order of the file. */
export function hottest(rows: LineCost[]): LineCost[] {
	return rows.filter((row) => row.self > 0).sort((a, b) => b.self - a.self);
}

/** The answer to "where" as a sentence. */
export function whereInWords(rows: FunctionCost[], total: number): string {
	const own = rows.filter((row) => row.kind !== Kind.Synthetic && row.self > 0);
	if (!own.length || !(total > 0)) return "Nothing was seen.";
	const first = own[0];
	const share = percent(first.self / total);
	let sum = 0;
	let n = 0;
	for (const row of own) {
		if (sum >= 0.8 * total) break;
		sum += row.self;
		n++;
	}
	const rest = n > 1 && sum >= 0.8 * total ? ` ${plural(n, "function")} make up ${percent(sum / total)}.` : "";
	return `${share} of it in ${first.name} itself.${rest}`;
}

function Why() {
	const overview = useOverview();
	const shares = Object.entries(overview.report.bound?.shares ?? {}).filter(([, v]) => v !== null);
	return (
		<section aria-labelledby="why">
			<h2 id="why">Why</h2>
			<p class="answer">{overview.verdict || "What bounds it was not measured."}</p>
			{overview.verdict_why && <p class="soft">{overview.verdict_why}</p>}
			{overview.states.some(([, value]) => value > 0) ? (
				<>
					<StateBar states={overview.states} unit={overview.unit} />
					<p class="soft small">Sampled time of all threads that count. Native code, kernel and GPU are not told apart yet.</p>
				</>
			) : (
				<Notice title="Time by state was not recorded" text="Sampling tells what threads did: leadline run SCRIPT.py" />
			)}
			{shares.length > 0 && (
				<dl class="facts across">
					<div><dt>of its wall time:</dt></div>
					{shares.map(([name, value]) => (
						<div key={name}>
							<dt>{name.replaceAll("_", " ")}</dt>
							<dd>{percent(value)}</dd>
						</div>
					))}
				</dl>
			)}
		</section>
	);
}

function Next() {
	const store = useStore();
	const overview = useOverview();
	const first = hottest(overview.lines)[0];
	return (
		<section aria-labelledby="next">
			<h2 id="next">What next</h2>
			{first ? (
				<p class="answer">
					Look at{" "}
					<button type="button" class="link" onClick={() => showSource(store, first.function_id, first.file, first.line)}>
						{placeOf(first.file, first.line)}
					</button>
					: were it free, {amount(first.self, overview.unit)} would go ({percent(first.self / overview.total)}).
				</p>
			) : (
				<p class="answer">No line stands out.</p>
			)}
			<p class="soft small">{overview.is_exact ? "Time counted on that line, with what it calls." : "Sampled time of that line alone; what it calls is not part of it."}</p>
		</section>
	);
}

/** What the comparison with the other recording says, in a sentence. */
export function helpedInWords(diff: Diff): string {
	if (!diff.total.is_named) return `No: ${changeInWords(diff.total, diff.unit)}, within the noise`;
	return `${diff.total.change < 0 ? "Yes" : "No"}: ${changeInWords(diff.total, diff.unit)}`;
}

/** What ran: the script, or the program itself. */
export function programOf(command: string): string {
	const words = shortCommand(command).split(/\s+/);
	return words.find((word) => word.endsWith(".py")) ?? words[0] ?? "";
}

function Helped() {
	const store = useStore();
	const place = usePlace();
	const overview = useOverview();
	const other = otherOf(place, overview.recordings);
	const commandOf = (r: number | undefined) => overview.recordings.find((one) => one.r === r)?.command ?? "";
	const isSame = programOf(commandOf(other)) === programOf(commandOf(place.r));
	const diff = useAnswer<Diff>(other === undefined || !isSame ? null : "diff", { ...questionOf({ ...place, normalize: "absolute" }, other ?? 0), quick: true });
	if (other !== undefined)
		return (
			<section aria-labelledby="helped">
				<h2 id="helped">Did it help</h2>
				{isSame ? !diff.error && <Wait answer={diff}>{(data) => <p class="answer">{helpedInWords(data)}</p>}</Wait> : <p class="soft">The other recording is of another program.</p>}
				<p>
					<button type="button" class="link" onClick={() => store.go({ view: "diff" })}>
						what changed from {overview.name} to {overview.recordings.find((one) => one.r === other)?.name}
					</button>
				</p>
			</section>
		);
	return (
		<section aria-labelledby="helped">
			<h2 id="helped">Did it help</h2>
			<p class="soft">
				Record again after the change, then <code>leadline view before.lead after.lead</code>
			</p>
		</section>
	);
}

export function OverviewView() {
	const overview = useOverview();
	const place = usePlace();
	const params = selectionOf(place);
	const functions = useAnswer<Table<FunctionCost>>("table", { ...params, what: "functions", limit: ROWS });
	const lines = useAnswer<Table<LineCost>>("table", { ...params, what: "lines", limit: 1000 });
	return (
		<div class="overview">
			<section aria-labelledby="where" class="wide">
				<h2 id="where">Where</h2>
				<Wait answer={functions}>
					{(table) => (
						<>
							<p class="answer">
								{amount(table.total, overview.unit)} {overview.is_exact ? "counted" : "sampled"}; {whereInWords(table.rows, table.total)}
							</p>
							<div class="two">
								<div>
									<h3>Functions</h3>
									<Functions rows={table.rows} total={table.total} unit={overview.unit} />
								</div>
								<div>
									<h3>Lines</h3>
									<Wait answer={lines}>{(l) => <Lines rows={hottest(l.rows).slice(0, ROWS)} total={l.total} unit={overview.unit} />}</Wait>
								</div>
							</div>
						</>
					)}
				</Wait>
			</section>
			<Why />
			<div>
				<Next />
				<Helped />
			</div>
		</div>
	);
}
