// SPDX-License-Identifier: MIT
// The memory of a trace: how much was in use when, what allocated it, the largest allocations and how long they lived.
import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { MemoryAnswer, MemoryDevice, Row, StepMarks, Unreleased } from "../../api/torch";
import { amount, briefly, count, percent, plural } from "../../model/format";
import { Field, growing, timesOf } from "../../model/torch";
import { Curve } from "../../parts/curve";
import { Notice, Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const OPERATORS: Field[] = [
	{ key: "name", title: "operator", kind: "text" },
	{ key: "allocated_bytes", title: "allocated", kind: "bytes", hint: "by the operator itself, without operators it called" },
	{ key: "allocations", title: "allocations", kind: "count" },
	{ key: "released_bytes", title: "released", kind: "bytes" },
	{ key: "releases", title: "releases", kind: "count" },
];

const LARGEST: Field[] = [
	{ key: "operator", title: "allocated by", kind: "text" },
	{ key: "bytes", title: "size", kind: "bytes" },
	{ key: "at_s", title: "at", kind: "s" },
	{ key: "lived_s", title: "lived", kind: "s", hint: "– means held to the end" },
	{ key: "device", title: "device", kind: "text" },
	{ key: "estimated_use", title: "use, estimate", kind: "text", hint: "estimated from where it was allocated and when it was released" },
];

const UNRELEASED: Field[] = [
	{ key: "name", title: "allocated by", kind: "text" },
	{ key: "bytes", title: "held", kind: "bytes", hint: "when the trace ended" },
	{ key: "allocations", title: "allocations", kind: "count" },
	{ key: "steps", title: "in steps", kind: "count", hint: "number of steps that allocated some of it" },
	{ key: "first_s", title: "first", kind: "s", hint: "first allocation, counted from the start of profiling" },
	{ key: "last_s", title: "last", kind: "s" },
	{ key: "device", title: "device", kind: "text" },
];

/** What there was at the peak: an estimate, and called one. */
function AtPeak({ device }: { device: MemoryDevice }) {
	const uses = Object.entries(device.at_peak_bytes_estimated ?? {}).filter(([, bytes]) => bytes > 0);
	if (!uses.length || !device.peak_bytes) return null;
	return (
		<p class="small">
			<span class="soft">Estimated use at the peak:</span>{" "}
			{uses.sort((a, b) => b[1] - a[1]).map(([name, bytes]) => (
				<Fragment key={name}><span class="in-line">{name} <b>{percent(bytes / device.peak_bytes)}</b> <span class="soft">{amount(bytes, "bytes")}</span></span>{" "}</Fragment>
			))}
		</p>
	);
}

function Device({ device, seconds, marks }: { device: MemoryDevice; seconds: number; marks: StepMarks }) {
	const t = useMemo(() => timesOf(device.curve_bytes.length, seconds), [device, seconds]);
	const levels = useMemo(() => {
		const hasReserved = (device.reserved_bytes ?? []).some((bytes) => (bytes ?? 0) > 0);
		return [{ title: "in use", values: device.curve_bytes }, ...(hasReserved ? [{ title: "reserved from the device", values: device.reserved_bytes ?? [] }] : [])];
	}, [device]);
	const where = [device.peak_operator && `in ${device.peak_operator}`, device.peak_step].filter(Boolean).join(", ");
	return (
		<section aria-label={`memory of ${device.device}`}>
			<p class="answer">
				{device.device}: at most <span data-fact={device.device} data-value={device.peak_bytes}>{amount(device.peak_bytes, "bytes")}</span> at {briefly(device.peak_s, 1e-6)}
				{where && <span class="soft">, {where}</span>}
			</p>
			<Curve label={`memory of ${device.device} in use over time`} t={t} levels={levels} format={(value) => amount(value, "bytes")} isBytes marks={marks} />
			<AtPeak device={device} />
			<p class="soft small">
				{count(device.allocations)} allocations of {amount(device.allocated_bytes, "bytes")} in all, {count(device.releases)} releases of {amount(device.released_bytes, "bytes")}
				{device.failures > 0 && `; memory ran out ${count(device.failures)} times`}
			</p>
		</section>
	);
}

/** What was not released, with what of it grows from step to step in words. */
function Held({ held, marks }: { held: Unreleased | null; marks: StepMarks }) {
	const place = usePlace();
	const store = useStore();
	const rows = (held?.operators ?? []).map((row, i): Row => ({ ...row, i, name: row.name || "(no operator)" }));
	const most = growing(rows, marks.t.length);
	return (
		<section aria-labelledby="unreleased"><h2 id="unreleased">Not released</h2>
			{!held ? (
				<Notice title="Releases are unknown" text="This trace does not say which allocation a release belongs to. Newer versions of PyTorch record it." />
			) : !rows.length ? (
				<p class="soft">Everything allocated in the trace was released in it.</p>
			) : (
				<>
					<p>
						{amount(held.bytes, "bytes")} in {plural(held.allocations, "allocation")} were still held at the end.{" "}
						{most ? <b>{String(most.name)} allocates some of it in {count(most.steps as number)} of {plural(marks.t.length, "step")}: {amount(most.bytes as number, "bytes")}.</b> : <span class="soft">This includes gradients and optimizer state.</span>}
					</p>
					<TorchTable fields={UNRELEASED} rows={rows} caption="what was not released" order="bytes" keyOf={(row) => String(row.i)} isSelected={(row) => !!place.op && row.name === place.op} onSelect={(row) => store.go({ op: String(row.name) }, true)} />
				</>
			)}
		</section>
	);
}

export function MemoryPane() {
	const place = usePlace();
	const store = useStore();
	const answer = useAnswer<MemoryAnswer>("torch", { r: place.r, what: "memory", phase: place.phase });
	const selectOperator = (key: string) => (row: Row) => store.go({ op: String(row[key] ?? "") }, true);
	return (
		<div class="memorypane">
			<Wait answer={answer}>
				{({ memory, unreleased, marks }) => {
					const largest = memory.largest.map((row, i): Row => ({ ...row, i, operator: row.operator || "(no operator)" }));
					return (
						<>
							<div class={memory.devices.length > 1 ? "two" : ""}>{memory.devices.map((device) => <Device key={device.device} device={device} seconds={memory.duration_s} marks={marks} />)}</div>
							<div class="two">
								<Held held={unreleased} marks={marks} />
								<section aria-labelledby="allocating"><h2 id="allocating">What allocates</h2>
									<TorchTable fields={OPERATORS} rows={memory.operators} caption="operators by allocated bytes" order="allocated_bytes" keyOf={(row) => String(row.name)} isSelected={(row) => row.name === place.op} onSelect={selectOperator("name")} />
								</section>
							</div>
							<section aria-labelledby="largest"><h2 id="largest">Largest allocations</h2>
								<TorchTable fields={LARGEST} rows={largest} caption="largest allocations" order="bytes" buttonKey="operator" keyOf={(row) => String(row.i)} isSelected={(row) => !!place.op && row.operator === place.op} onSelect={selectOperator("operator")} />
							</section>
						</>
					);
				}}
			</Wait>
		</div>
	);
}
