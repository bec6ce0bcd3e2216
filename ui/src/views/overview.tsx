// SPDX-License-Identifier: MIT
// The four questions in words first, pictures second: where, why, what to do, did it help.
import { Diff, FunctionCost, LineCost, Kind, Unit } from "../api/types";
import { Bar, StateBar, Timed } from "../parts/bars";
import { BestFinding, LineToLookAt } from "../parts/next";
import { Notice } from "../parts/states";
import { selectFunction, showSource } from "../parts/select";
import { amount, baseOf, percent, plural, shortCommand } from "../model/format";
import { isUntimed } from "../model/counts";
import { hottest } from "../model/lines";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { isPart, selectionOf } from "../model/place";
import { Table } from "../api/types";
import { Wait } from "../parts/states";
import { CountedOverview } from "./counted";
import { changeInWords, otherOf, questionOf } from "./diff";

const ROWS = 10;
const LEVELS = ["own", "library", "c", "synthetic"];

function Functions({ rows, total, unit }: { rows: FunctionCost[]; total: number; unit: Unit }) {
	const store = useStore();
	const largest = Math.max(...rows.map((row) => row.self_high ?? row.self), 0);
	return (
		<ol class="tops" aria-label="functions by self time">
			{rows.filter((row) => row.self > 0).map((row) => (
				<li key={row.function_id}>
					<button
						type="button"
						data-self={row.self}
						data-f={row.function_id}
						title={`${row.name}\n${row.file}:${row.line}\nself ${amount(row.self, unit)}, total ${amount(row.total, unit)}`}
						onClick={() => selectFunction(store, row.function_id)}
						onDblClick={() => showSource(store, row.function_id, row.file, row.line)}
					>
						<span class="name">{row.name}</span>
						<span class="where split"><span>{baseOf(row.file)}</span>{row.file && <span>:{row.line}</span>}</span>
						<Bar value={row.self} low={row.self_low} high={row.self_high} largest={largest} level={LEVELS[row.kind]} />
						<span class="num">{percent(total > 0 ? row.self / total : 0)}</span>
						<span class="num soft">
							<Timed cost={row} of="self" unit={unit} />
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
		<ol class="tops" aria-label="lines by self time">
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
							<Timed cost={row} of="self" unit={unit} />
						</span>
					</button>
				</li>
			))}
		</ol>
	);
}

/** "torch, numpy and 3 others"; "" where nothing was imported. */
export function importsInWords(packages: { name: string; value: number }[]): string {
	const names = packages.slice(0, 3).map((one) => one.name);
	const others = packages.length - names.length;
	return names.join(", ") + (others > 0 ? ` and ${plural(others, "other")}` : "");
}

/** The answer to "where" as a sentence. */
export function whereInWords(rows: FunctionCost[], total: number): string {
	const own = rows.filter((row) => row.kind !== Kind.Synthetic && row.self > 0);
	if (!own.length || !(total > 0)) return "No samples.";
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
	return `${share} in ${first.name} itself.${rest}`;
}

function Why() {
	const overview = useOverview();
	const place = usePlace();
	const shares = Object.entries(overview.report.bound?.shares ?? {}).filter(([, v]) => v !== null);
	return (
		<section aria-labelledby="why">
			<h2 id="why">What limits it</h2>
			<p class="answer">{overview.verdict || "Nothing was measured that tells what limits the program."}</p>
			{isPart(place) && <p class="soft small">For the whole run, regardless of the selection above.</p>}
			{overview.verdict_why && <p class="soft">{overview.verdict_why}</p>}
			{overview.states.some(([, value]) => value > 0) ? (
				<>
					<StateBar states={overview.states} unit={overview.unit} />
					<p class="soft small">Sampled time of the selected threads. Python, native code and the kernel are not separated.</p>
				</>
			) : !place.memory && (
				<Notice title="Time by state was not recorded" text="Sampling shows what threads did: leadline run SCRIPT.py" />
			)}
			{shares.length > 0 && (
				<dl class="facts across">
					<div><dt>share of wall time:</dt></div>
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
	const overview = useOverview();
	return (
		<section aria-labelledby="next">
			<h2 id="next">What to look at next</h2>
			{overview.views.torch === "" && <BestFinding />}
			<LineToLookAt />
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
				<h2 id="helped">Did a change help?</h2>
				{isSame ? !diff.error && <Wait answer={diff}>{(data) => <p class="answer">{helpedInWords(data)}</p>}</Wait> : <p class="soft">The other recording is from a different program.</p>}
				<p>
					<button type="button" class="link" onClick={() => store.go({ view: "diff" })}>
						what changed from {overview.name} to {overview.recordings.find((one) => one.r === other)?.name}
					</button>
				</p>
			</section>
		);
	return (
		<section aria-labelledby="helped">
			<h2 id="helped">Did a change help?</h2>
			<p class="soft">
				Record again after a change, then compare: <code>leadline view before.lead after.lead</code>
			</p>
		</section>
	);
}

function Imports({ total, unit }: { total: number; unit: Unit }) {
	const store = useStore();
	const imports = useOverview().report.imports;
	// They are of the whole run: of a part of it nothing is known.
	if (isPart(usePlace())) return null;
	if (!imports || !(imports.value > 0) || !(total > 0)) return null;
	return (
		<p class="soft">
			{percent(imports.value / total)} ({amount(imports.value, unit)}) was spent importing {importsInWords(imports.packages) || "libraries"};{" "}
			<button type="button" class="link" onClick={() => store.go({ imports: true, node: "0" })}>
				show what is in it
			</button>
		</p>
	);
}

export function OverviewView() {
	return isUntimed(useOverview()) ? <CountedOverview /> : <TimedOverview />;
}

function TimedOverview() {
	const overview = useOverview();
	const place = usePlace();
	const params = selectionOf(place);
	const functions = useAnswer<Table<FunctionCost>>("table", { ...params, what: "functions", limit: ROWS });
	const lines = useAnswer<Table<LineCost>>("table", { ...params, what: "lines", limit: 1000 });
	return (
		<div class="overview">
			<section aria-labelledby="where" class="wide">
				<h2 id="where">Where the time goes</h2>
				<Wait answer={functions}>
					{(table) => (
						<>
							<p class="answer">
								{amount(table.total, overview.unit)} {overview.is_exact ? "counted" : "sampled"}; {whereInWords(table.rows, table.total)}
							</p>
							<Imports total={table.total} unit={overview.unit} />
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
