// SPDX-License-Identifier: MIT
// What torch.compile did: how long it compiled what and in which of its stages, how often the code ran, where graphs broke.
import { Compilation, Row } from "../../api/torch";
import { amount, percent, plural } from "../../model/format";
import { Field } from "../../model/torch";
import { Bar } from "../../parts/bars";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace } from "../../store";
import { TorchTable } from "./parts";

const FRAMES: Field[] = [
	{ key: "id", title: "frame", kind: "text", hint: "a function, or the rest of it after a graph break" },
	{ key: "compile_s", title: "compiled for", kind: "s" },
	{ key: "compiled", title: "times", kind: "count" },
	{ key: "calls", title: "calls", kind: "count" },
	{ key: "first_s", title: "first call", kind: "s", hint: "without compiling" },
	{ key: "later_s", title: "later calls", kind: "s", hint: "their median" },
	{ key: "equal_calls", title: "in calls", kind: "count", hint: "how many later calls take as long as compiling did; if compiling made the code twice as fast, it has paid off after that many" },
	{ key: "after_break_of", title: "break in", kind: "text", hint: "continues after a graph break in that frame" },
];

const COMPILATIONS: Field[] = [
	{ key: "id", title: "compilation", kind: "text" },
	{ key: "duration_s", title: "took", kind: "s" },
	{ key: "at_s", title: "at", kind: "s" },
	{ key: "again", title: "again", kind: "yes", hint: "the frame had been compiled before" },
	{ key: "backward", title: "backward", kind: "yes", hint: "called by autograd" },
	{ key: "cached", title: "from the cache", kind: "yes", hint: "compiled by an earlier process" },
];

const BREAKS: Field[] = [
	{ key: "where", title: "graph broke at", kind: "text" },
	{ key: "times", title: "times", kind: "count" },
];

export function compiledInWords(data: Compilation): string {
	const facts = [
		data.backward > 0 && `${data.backward} for autograd`,
		data.again > 0 && `${data.again} of frames that had been compiled before`,
		data.cached > 0 && `${data.cached} from the cache of an earlier process`,
	].filter(Boolean);
	const calls = `compiled code was called ${plural(data.calls, "time")}${data.calls_after_breaks > 0 ? `, ${data.calls_after_breaks} of them to continue after a graph break` : ""}`;
	return `${plural(data.compilations.length, "compilation")} took ${amount(data.total_s, "s")}, ${percent(data.total_s / data.span_s)} of the trace${facts.length ? ` (${facts.join(", ")})` : ""}; ${calls}`;
}

function Stages({ data }: { data: Compilation }) {
	const stages = Object.entries(data.stages_s).filter(([, seconds]) => seconds > 0);
	return (
		<ul class="stages">
			{stages.map(([name, seconds]) => (
				<li key={name}>
					<span>{name}</span>
					<Bar value={seconds} low={null} high={null} largest={data.total_s} />
					<b class="num" data-stage={name} data-value={seconds}>{percent(seconds / data.total_s)}</b>
					<span class="num soft">{amount(seconds, "s")}</span>
				</li>
			))}
		</ul>
	);
}

const numbered = (rows: Row[]) => rows.map((row, i): Row => ({ ...row, i, id: row.id ?? "(not known)" }));

export function CompilePane() {
	const place = usePlace();
	const answer = useAnswer<{ compilation: Compilation }>("torch", { r: place.r, what: "compile", phase: place.phase });
	const table = { order: "", keyOf: (row: Row) => String(row.i), isSelected: () => false, onSelect: () => undefined };
	return (
		<div class="tableview streamspane">
			<Wait answer={answer}>
				{({ compilation: data }) => (
					<>
						<p class="answer">{compiledInWords(data)}</p>
						<Stages data={data} />
						{data.frames.length > 0 && <section><h2>Frames</h2><TorchTable {...table} fields={FRAMES} rows={numbered(data.frames)} caption="compiled frames" buttonKey="id" /></section>}
						{data.compilations.length > 0 && <section><h2>Compilations</h2><TorchTable {...table} fields={COMPILATIONS} rows={numbered(data.compilations)} caption="compilations" buttonKey="id" /></section>}
						{data.graph_breaks.length > 0 && <section><h2>Graph breaks</h2><TorchTable {...table} fields={BREAKS} rows={numbered(data.graph_breaks)} caption="graph breaks" buttonKey="where" /></section>}
					</>
				)}
			</Wait>
		</div>
	);
}
