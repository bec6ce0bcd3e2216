// SPDX-License-Identifier: MIT
// The operators of a trace, by name or by name and shapes; what one of them launched stands below it.
import { Kernels, OperatorNeighbour, OperatorNeighbours, OperatorPlace, Operators, Row } from "../../api/torch";
import { SourceFile } from "../../api/types";
import { amount, count, counted, percent, plural } from "../../model/format";
import { selectionOf } from "../../model/place";
import { lineOf, OPERATOR_FIELDS, shortOperator, shortSource, sourceInWords } from "../../model/torch";
import { Where } from "../../parts/findings";
import { Wait } from "../../parts/states";
import { useAnswer, useOverview, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const keyOf = (row: Row) => `${row.name}\n${row.shapes ?? ""}`;

export function OperatorsPane({ panes }: { panes: Record<string, string> }) {
	const place = usePlace();
	const store = useStore();
	const hasShapes = panes.shapes === "";
	const answer = useAnswer<Operators>("torch", { r: place.r, what: place.shapes && hasShapes ? "shapes" : "operators", phase: place.phase });
	return (
		<div class="tableview">
			<div class="bar-of-tools">
				<button type="button" aria-pressed={place.shapes && hasShapes} disabled={!hasShapes} title={panes.shapes || "one row for each operator and input shapes"} onClick={() => store.go({ shapes: !place.shapes })}>by shapes</button>
				<span class="soft small">{hasShapes ? "" : panes.shapes}</span>
			</div>
			<Wait answer={answer}>
				{(data) => (
					<TorchTable
						fields={OPERATOR_FIELDS} rows={data.operators} n={data.n} caption="operators" order="self_cpu_s" keyOf={keyOf}
						isSelected={(row) => row.name === place.op} onSelect={(row) => store.go({ op: String(row.name) }, true)}
					/>
				)}
			</Wait>
		</div>
	);
}

const ROWS = 8;

/** What asks for the operator, or what it calls. */
function Neighbours({ title, rows, total, none }: { title: string; rows: OperatorNeighbour[]; total: number; none: string }) {
	const store = useStore();
	return (
		<section>
			<h3>{title}</h3>
			<ul class="neighbours">
				{rows.slice(0, ROWS).map((row) => (
					<li key={row.name} title={row.name ? `${row.name}: ${plural(row.calls, "call")}` : undefined} data-value={row.cpu_s}>
						<span class="num">{percent(total > 0 ? row.cpu_s / total : 0)}</span>
						<span class="num soft">{amount(row.cpu_s, "s")}</span>
						{row.name ? <button type="button" class="link code clip" onClick={() => store.go({ op: row.name }, true)}>{shortOperator(row.name)}</button> : <span class="soft">{none}</span>}
					</li>
				))}
				{!rows.length && <li class="soft">none</li>}
				{rows.length > ROWS && <li class="soft">{count(rows.length - ROWS)} more</li>}
			</ul>
		</section>
	);
}

/** The lines and modules that a row of the table is made of. */
function Places({ row }: { row: Row }) {
	const place = usePlace();
	const overview = useOverview();
	const places = Array.isArray(row.places) ? (row.places as OperatorPlace[]) : [];
	const files = useAnswer<{ files: SourceFile[] }>(places.length && overview.views.source === "" ? "files" : null, { ...selectionOf(place), filter: undefined });
	if (!places.length) return null;
	return (
		<section class="spans-two">
			<h3>Called from {Number(row.n_places) > 1 && <span class="soft">{plural(Number(row.n_places), "place")}</span>}</h3>
			<ul class="neighbours">
				{places.slice(0, ROWS).map((one) => {
					const words = one.source ? shortSource(one.source) : "unknown line";
					return (
						<li key={`${one.source}\n${one.module}\n${one.backward}`} title={`${one.source}\n${one.module}\n${plural(one.calls, "call")}${one.backward ? ", backward" : ""}`} data-value={one.self_cpu_s}>
							<span class="num">{count(one.calls)} ×</span>
							<span class="num soft">{amount(one.self_cpu_s, "s")}</span>
							<span class="clip">
								<span class="code"><Where at={lineOf(one.source) ?? { file: null, line: null }} label={words} files={files.data?.files ?? []} /></span>
								{one.module && <span class="soft"> in {one.module}</span>}
								{one.backward && <span class="soft"> (backward)</span>}
							</span>
						</li>
					);
				})}
				{Number(row.n_places) > ROWS && <li class="soft">{count(Number(row.n_places) - ROWS)} more</li>}
			</ul>
		</section>
	);
}

/** Details of the operator that is selected, in whatever pane. */
export function OperatorDrawer({ panes }: { panes: Record<string, string> }) {
	const place = usePlace();
	const store = useStore();
	const operators = useAnswer<Operators>(place.op ? "torch" : null, { r: place.r, what: "operators", phase: place.phase });
	const shapes = useAnswer<Operators>(place.op && panes.shapes === "" ? "torch" : null, { r: place.r, what: "shapes", phase: place.phase });
	const kernels = useAnswer<Kernels>(place.op && panes.kernels === "" ? "torch" : null, { r: place.r, what: "kernels", phase: place.phase });
	const { isEmbedded } = store.source;
	const beside = useAnswer<OperatorNeighbours>(place.op && !isEmbedded ? "torch" : null, { r: place.r, what: "neighbours", operator: place.op, phase: place.phase });
	const row = operators.data?.operators.find((one) => one.name === place.op);
	const neighbours = beside.isOld || beside.error ? undefined : beside.data;
	if (!place.op || !row) return null;
	const own = (kernels.data?.kernels ?? []).filter((one) => one.operator === place.op);
	const shaped = (shapes.data?.operators ?? []).filter((one) => one.name === place.op && one.shapes);
	const number = (key: string) => (typeof row[key] === "number" ? (row[key] as number) : null);
	return (
		<aside class="drawer" aria-label={`details of ${place.op}`}>
			<header>
				<h2 class="code">{place.op}</h2>
				<span class="soft">{[row.module, sourceInWords(row)].filter(Boolean).join(" · ")}</span>
				<span class="grow" />
				<button type="button" class="plain" aria-label="close details" onClick={() => store.go({ op: "" }, true)}>×</button>
			</header>
			<div class="three of-operator">
				<section>
					<h3>Time</h3>
					<dl class="facts">
						<div><dt>self, CPU</dt><dd>{amount(number("self_cpu_s"), "s")} {percent(number("self_cpu_share"))}</dd></div>
						<div><dt>total</dt><dd>{amount(number("cpu_s"), "s")}</dd></div>
						{(number("device_s") ?? 0) > 0 && <div><dt>on the device</dt><dd>{amount(number("device_s"), "s")}</dd></div>}
						<div><dt>calls</dt><dd>{count(number("calls"))}</dd></div>
						<div><dt>a call</dt><dd>{amount(number("median_s"), "s")}, p99 {amount(number("p99_s"), "s")}</dd></div>
						{(number("flops") ?? 0) > 0 && <div><dt>work</dt><dd>{counted(number("flops"), "FLOP")}</dd></div>}
					</dl>
				</section>
				{neighbours && <Neighbours title="Called by" rows={neighbours.callers} total={neighbours.cpu_s} none="Python" />}
				{neighbours && <Neighbours title="Time spent in" rows={neighbours.callees} total={neighbours.cpu_s} none="itself" />}
				<Places row={row} />
				{shaped.length > 0 && (
					<section class="spans-two">
						<h3>Input shapes</h3>
						<ul class="neighbours">
							{shaped.slice(0, 8).map((one) => (
								<li key={String(one.shapes)}>
									<span class="num">{count(one.calls as number)} ×</span>
									<span class="num soft">{amount(one.self_cpu_s as number, "s")}</span>
									<span class="code clip" title={String(one.shapes)}>{one.shapes}</span>
								</li>
							))}
							{shaped.length > 8 && <li class="soft">{count(shaped.length - 8)} more</li>}
						</ul>
					</section>
				)}
				{panes.kernels === "" && (
					<section class="spans-two">
						<h3>Kernels it launched most</h3>
						<ul class="neighbours">
							{own.slice(0, 8).map((one) => (
								<li key={String(one.name)}>
									<span class="num">{count(one.times as number)} ×</span>
									<span class="num soft">{amount(one.total_s as number, "s")}</span>
									<button type="button" class="link code clip" title={String(one.name)} onClick={() => store.go({ pane: "kernels" })}>{one.name}</button>
								</li>
							))}
							{!own.length && <li class="soft">none</li>}
						</ul>
					</section>
				)}
			</div>
		</aside>
	);
}
