// SPDX-License-Identifier: MIT
// The operators of a trace, by name or by name and shapes; what one of them launched stands below it.
import { Kernels, Operators, Row } from "../../api/torch";
import { amount, count, percent } from "../../model/format";
import { OPERATOR_FIELDS } from "../../model/torch";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const keyOf = (row: Row) => `${row.name}\n${row.shapes ?? ""}`;

export function OperatorsPane({ panes }: { panes: Record<string, string> }) {
	const place = usePlace();
	const store = useStore();
	const hasShapes = panes.shapes === "";
	const answer = useAnswer<Operators>("torch", { r: place.r, what: place.shapes && hasShapes ? "shapes" : "operators" });
	return (
		<div class="tableview">
			<div class="bar-of-tools">
				<button type="button" aria-pressed={place.shapes && hasShapes} disabled={!hasShapes} title={panes.shapes || "a row for each operator and shapes of its inputs"} onClick={() => store.go({ shapes: !place.shapes })}>by shapes</button>
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

/** Details of the operator that is selected, in whatever pane. */
export function OperatorDrawer({ panes }: { panes: Record<string, string> }) {
	const place = usePlace();
	const store = useStore();
	const operators = useAnswer<Operators>(place.op ? "torch" : null, { r: place.r, what: "operators" });
	const shapes = useAnswer<Operators>(place.op && panes.shapes === "" ? "torch" : null, { r: place.r, what: "shapes" });
	const kernels = useAnswer<Kernels>(place.op && panes.kernels === "" ? "torch" : null, { r: place.r, what: "kernels" });
	const row = operators.data?.operators.find((one) => one.name === place.op);
	if (!place.op || !row) return null;
	const own = (kernels.data?.kernels ?? []).filter((one) => one.operator === place.op);
	const shaped = (shapes.data?.operators ?? []).filter((one) => one.name === place.op && one.shapes);
	const number = (key: string) => (typeof row[key] === "number" ? (row[key] as number) : null);
	return (
		<aside class="drawer" aria-label={`details of ${place.op}`}>
			<header>
				<h2 class="code">{place.op}</h2>
				<span class="soft">{[row.module, row.source].filter(Boolean).join(" · ")}</span>
				<span class="grow" />
				<button type="button" class="plain" aria-label="close details" onClick={() => store.go({ op: "" }, true)}>×</button>
			</header>
			<div class="three">
				<section>
					<h3>Time</h3>
					<dl class="facts">
						<div><dt>itself, CPU</dt><dd>{amount(number("self_cpu_s"), "s")} {percent(number("self_cpu_share"))}</dd></div>
						<div><dt>with what it calls</dt><dd>{amount(number("cpu_s"), "s")}</dd></div>
						{(number("device_s") ?? 0) > 0 && <div><dt>on the device</dt><dd>{amount(number("device_s"), "s")}</dd></div>}
						<div><dt>calls</dt><dd>{count(number("calls"))}</dd></div>
						<div><dt>a call</dt><dd>{amount(number("median_s"), "s")}, p99 {amount(number("p99_s"), "s")}</dd></div>
					</dl>
				</section>
				{shaped.length > 0 && (
					<section class="spans-two">
						<h3>Shapes of its inputs</h3>
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
						<h3>Kernels it launched most of</h3>
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
