// SPDX-License-Identifier: MIT
// Two traces compared operator by operator: the numbers of `leadline diff --ops`. Own times add up, so the changes of all rows are
// the change of the total.
import { OpsDiff, Row } from "../../api/torch";
import { amount, baseOf, percent, ratio, signed } from "../../model/format";
import { Field } from "../../model/torch";
import { Notice, Wait } from "../../parts/states";
import { useAnswer, useOverview, usePlace, useStore } from "../../store";
import { otherOf } from "../diff";
import { TorchTable } from "./parts";

const SCALES: [string, string][] = [
	["step", "a step, on average"],
	["absolute", "the whole trace"],
	["run", "shares of each trace"],
];

export function fieldsOf(isShare: boolean): Field[] {
	const kind = isShare ? "share" : "s";
	return [
		{ key: "name", title: "operator", kind: "text" },
		{ key: "cpu_change", title: "self", kind, isChange: true, group: "cpu", hint: "change of its own CPU time" },
		{ key: "cpu_a", title: "A", kind, group: "cpu" },
		{ key: "cpu_b", title: "B", kind, group: "cpu" },
		{ key: "device_change", title: "self GPU", kind, isChange: true, group: "device", isOptional: true, hint: "change of the device time of what it launched itself" },
		{ key: "device_a", title: "GPU A", kind, group: "device", isOptional: true },
		{ key: "device_b", title: "GPU B", kind, group: "device", isOptional: true },
		{ key: "calls_a", title: "calls A", kind: isShare ? "share" : "ratio" },
		{ key: "calls_b", title: "calls B", kind: isShare ? "share" : "ratio" },
	];
}

export function rowsOf(diff: OpsDiff): Row[] {
	return diff.operators.map(({ name, is_annotation, a, b }) => ({
		name, is_annotation,
		cpu_change: b.self_cpu - a.self_cpu, cpu_a: a.self_cpu, cpu_b: b.self_cpu,
		device_change: b.self_device - a.self_device, device_a: a.self_device, device_b: b.self_device,
		calls_a: a.calls, calls_b: b.calls,
	}));
}

function Total({ what, name, a, b }: { what: string; name: string; a: number; b: number }) {
	return <p class="answer">{what}: {amount(a, "s")} → {amount(b, "s")}, <b data-fact={name} data-value={b - a}>{signed(b - a, "s")}</b> ({ratio(a, b)})</p>;
}

function Compared({ diff }: { diff: OpsDiff }) {
	const isShare = diff.unit === "share";
	const [a, b] = [diff.a.total, diff.b.total];
	const step = (side: OpsDiff["a"]) => (side.steps ? `, ${side.steps} steps, ${amount(side.step_s, "s")} each (median)` : "");
	return (
		<>
			<p>A {baseOf(diff.a.file)}{step(diff.a)}; B {baseOf(diff.b.file)}{step(diff.b)}</p>
			{!isShare && <Total what="CPU" name="cpu" a={a.self_cpu} b={b.self_cpu} />}
			{!isShare && (a.self_device > 0 || b.self_device > 0) && <Total what="Device" name="device" a={a.self_device} b={b.self_device} />}
			<TorchTable
				fields={fieldsOf(isShare)} rows={rowsOf(diff)} caption="changes of operators" order="" keyOf={(row) => `${row.name} ${row.is_annotation}`} isSelected={() => false} onSelect={() => undefined}
				classOf={(row) => (Number(row.cpu_change) + Number(row.device_change) > 0 ? "more" : "less")}
			/>
			<p class="foot soft">Largest change first. {isShare ? `Shares of ${percent(1)} each.` : "All rows add up to the change of the total."} Two traces are two single runs, so a difference may be chance. To decide: leadline compare.</p>
		</>
	);
}

export function ComparedPane() {
	const place = usePlace();
	const store = useStore();
	const { recordings } = useOverview();
	const other = otherOf(place, recordings);
	const scale = SCALES.some(([name]) => name === place.per) ? place.per : "step";
	const answer = useAnswer<OpsDiff>(other === undefined ? null : "ops_diff", { r: place.r, with: other, normalize: scale === "step" ? undefined : scale });
	if (other === undefined) return <Notice title="Only one trace is open" text="Open two to compare them: leadline view before.json after.json" />;
	return (
		<div class="tableview">
			<div class="bar-of-tools">
				<span class="sides">A <b>{recordings.find((one) => one.r === place.r)?.name}</b></span>
				<label class="choice"><span>B</span>
					<select value={other} onChange={(e) => store.go({ with: Number(e.currentTarget.value) })}>
						{recordings.filter((one) => one.r !== place.r).map((one) => <option key={one.r} value={one.r}>{one.name}</option>)}
					</select>
				</label>
				<button type="button" onClick={() => store.go({ r: other, with: place.r })}>swap</button>
				<label class="choice"><span>of</span>
					<select value={scale} onChange={(e) => store.go({ per: e.currentTarget.value })}>
						{SCALES.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
					</select>
				</label>
			</div>
			<Wait answer={answer}>{(diff) => <Compared diff={diff} />}</Wait>
		</div>
	);
}
