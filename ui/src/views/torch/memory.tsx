// SPDX-License-Identifier: MIT
// The memory of a trace: how much was in use when, what allocated it, the largest allocations and how long they lived.
import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { Memory, MemoryDevice, Row } from "../../api/torch";
import { amount, briefly, count, percent } from "../../model/format";
import { Field, timesOf } from "../../model/torch";
import { Curve } from "../../parts/curve";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const OPERATORS: Field[] = [
	{ key: "name", title: "operator", kind: "text" },
	{ key: "allocated_bytes", title: "allocated", kind: "bytes", hint: "itself, without operators it called" },
	{ key: "allocations", title: "allocations", kind: "count" },
	{ key: "released_bytes", title: "released", kind: "bytes" },
	{ key: "releases", title: "releases", kind: "count" },
];

const LARGEST: Field[] = [
	{ key: "operator", title: "allocated by", kind: "text" },
	{ key: "bytes", title: "size", kind: "bytes" },
	{ key: "at_s", title: "at", kind: "s" },
	{ key: "lived_s", title: "lived", kind: "s", hint: "–: held to the end" },
	{ key: "device", title: "device", kind: "text" },
	{ key: "estimated_use", title: "use, estimate", kind: "text", hint: "by where it was allocated and when it was released" },
];

/** What there was at the peak: an estimate, and called one. */
function AtPeak({ device }: { device: MemoryDevice }) {
	const uses = Object.entries(device.at_peak_bytes_estimated ?? {}).filter(([, bytes]) => bytes > 0);
	if (!uses.length || !device.peak_bytes) return null;
	return (
		<p class="small">
			<span class="soft">At the peak, estimated:</span>{" "}
			{uses.sort((a, b) => b[1] - a[1]).map(([name, bytes]) => (
				<Fragment key={name}><span class="in-line">{name} <b>{percent(bytes / device.peak_bytes)}</b> <span class="soft">{amount(bytes, "bytes")}</span></span>{" "}</Fragment>
			))}
		</p>
	);
}

function Device({ device, seconds }: { device: MemoryDevice; seconds: number }) {
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
			<Curve label={`memory of ${device.device} in use over time`} t={t} levels={levels} format={(value) => amount(value, "bytes")} isBytes />
			<AtPeak device={device} />
			<p class="soft small">
				{count(device.allocations)} allocations of {amount(device.allocated_bytes, "bytes")} in all, {count(device.releases)} releases of {amount(device.released_bytes, "bytes")}
				{device.failures > 0 && `; memory ran out ${count(device.failures)} times`}
			</p>
		</section>
	);
}

export function MemoryPane() {
	const place = usePlace();
	const store = useStore();
	const answer = useAnswer<{ memory: Memory }>("torch", { r: place.r, what: "memory" });
	const selectOperator = (key: string) => (row: Row) => store.go({ op: String(row[key] ?? "") }, true);
	return (
		<div class="memorypane">
			<Wait answer={answer}>
				{({ memory }) => {
					const largest = memory.largest.map((row, i): Row => ({ ...row, i, operator: row.operator || "(no operator)" }));
					return (
						<>
							<div class="two">{memory.devices.map((device) => <Device key={device.device} device={device} seconds={memory.duration_s} />)}</div>
							<div class="two">
								<section aria-labelledby="allocating"><h2 id="allocating">What allocates</h2>
									<TorchTable fields={OPERATORS} rows={memory.operators} caption="operators by what they allocate" order="allocated_bytes" keyOf={(row) => String(row.name)} isSelected={(row) => row.name === place.op} onSelect={selectOperator("name")} />
								</section>
								<section aria-labelledby="largest"><h2 id="largest">The largest allocations</h2>
									<TorchTable fields={LARGEST} rows={largest} caption="largest allocations" order="bytes" buttonKey="operator" keyOf={(row) => String(row.i)} isSelected={(row) => !!place.op && row.operator === place.op} onSelect={selectOperator("operator")} />
								</section>
							</div>
						</>
					);
				}}
			</Wait>
		</div>
	);
}
