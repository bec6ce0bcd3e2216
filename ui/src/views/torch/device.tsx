// SPDX-License-Identifier: MIT
// What ran on the device, by name, and what its streams waited for.
import { useMemo } from "preact/hooks";
import { Kernels, Row, Stream, Streams } from "../../api/torch";
import { amount, count, percent } from "../../model/format";
import { Field, KERNEL_FIELDS, STREAM_FIELDS, timesOf } from "../../model/torch";
import { Curve } from "../../parts/curve";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const number = (row: Row, key: string) => Number(row[key] ?? 0);

/** "128×1×1" */
const dimensions = (value: Row[string]) => (Array.isArray(value) ? value.join("×") : "");

export function KernelsPane({ panes }: { panes: Record<string, string> }) {
	const place = usePlace();
	const store = useStore();
	const hasLaunches = panes.launches === "";
	const byLaunch = place.launches && hasLaunches;
	const answer = useAnswer<Kernels>("torch", { r: place.r, what: byLaunch ? "launches" : "kernels", phase: place.phase });
	return (
		<div class="tableview">
			<div class="bar-of-tools">
				<button type="button" aria-pressed={byLaunch} disabled={!hasLaunches} title={panes.launches || "one row for each kernel, operator and launch configuration"} onClick={() => store.go({ launches: !place.launches })}>by launch</button>
			</div>
			<Wait answer={answer}>
				{(data) => {
					const all = data.kernels.reduce((sum, row) => sum + number(row, "total_s"), 0);
					const rows = data.kernels.map((row, i): Row => ({ ...row, i, grid: dimensions(row.grid), block: dimensions(row.block), share: all > 0 ? number(row, "total_s") / all : null, mean_s: number(row, "total_s") / Math.max(1, number(row, "times")) }));
					return (
						<TorchTable
							fields={KERNEL_FIELDS} rows={rows} caption="kernels, copies and fills" order="total_s" keyOf={(row) => String(row.i)}
							isSelected={(row) => !!place.op && row.operator === place.op} onSelect={(row) => store.go({ op: String(row.operator ?? "") }, true)}
							onOpen={(row) => row.operator && store.go({ pane: "operators", op: String(row.operator) })}
						/>
					);
				}}
			</Wait>
		</div>
	);
}

const SLOW_FIELDS: Field[] = [
	{ key: "call", title: "call", kind: "text" },
	{ key: "duration_s", title: "took", kind: "s" },
	{ key: "at_s", title: "at", kind: "s" },
	{ key: "operator", title: "in", kind: "text" },
	{ key: "launched", title: "launched", kind: "text" },
];

/** What launches took on the host, and how long their work waited. */
function LaunchTable({ launches }: { launches: Streams["launches"] }) {
	const rows: [string, (number | null | undefined)[]][] = [
		["one launch, on the host", [launches.median_launch_s, launches.p99_launch_s, launches.max_launch_s]],
		["from the launch to the start of its work", [launches.median_delay_s, launches.p99_delay_s, launches.max_delay_s]],
	];
	return (
		<table class="grid launches">
			<thead><tr><th scope="col">{count(launches.launches)} launches</th>{["median", "p99", "max"].map((title) => <th key={title} scope="col" class="num">{title}</th>)}</tr></thead>
			<tbody>{rows.map(([title, values]) => <tr key={title}><td>{title}</td>{values.map((value, i) => <td key={i} class="num" data-value={value ?? ""}>{amount(value, "s")}</td>)}</tr>)}</tbody>
		</table>
	);
}

function Queue({ stream, seconds }: { stream: Stream; seconds: number }) {
	const queue = stream.queue ?? [];
	const t = useMemo(() => timesOf(queue.length, seconds), [stream, seconds]);
	const levels = useMemo(() => [{ title: "queued", values: queue }], [stream]);
	if (queue.length < 2) return null;
	return (
		<section>
			<h3>Launched, not yet started: device {String(stream.device)}, stream {String(stream.stream)}</h3>
			<Curve label={`queue of stream ${stream.stream} over time`} t={t} levels={levels} format={(value) => count(value)} height={110} />
		</section>
	);
}

export function StreamsPane() {
	const place = usePlace();
	const answer = useAnswer<Streams>("torch", { r: place.r, what: "streams", phase: place.phase });
	return (
		<div class="tableview streamspane">
			<Wait answer={answer}>
				{({ streams, launches }) => {
					const seconds = Math.max(...streams.map((row) => number(row, "span_s")), 0);
					return (
						<>
							{launches.launches > 0 && (
								<>
									<p class="answer">{percent(launches.short / launches.launches)} of {count(launches.launches)} launches started work that was shorter than the launch itself{launches.slow ? `; ${count(launches.slow)} took longer than 50 µs` : ""}{launches.late ? `; ${count(launches.late)} waited more than 100 µs for their work to start` : ""}</p>
									<LaunchTable launches={launches} />
								</>
							)}
							<TorchTable
								fields={STREAM_FIELDS} caption="streams" order="busy_s" keyOf={(row) => String(row.name)} isSelected={() => false} onSelect={() => undefined}
								rows={streams.map((row): Row => ({ ...row, name: `device ${row.device}, stream ${row.stream}`, share: number(row, "span_s") > 0 ? number(row, "busy_s") / number(row, "span_s") : null }))}
							/>
							<div class="two">{streams.slice(0, 8).map((stream) => <Queue key={`${stream.device} ${stream.stream}`} stream={stream} seconds={seconds} />)}</div>
							{!!launches.slowest?.length && (
								<section><h2>Slowest launches</h2>
									<TorchTable fields={SLOW_FIELDS} rows={launches.slowest.map((row, i): Row => ({ ...row, i }))} caption="the slowest launches" order="" buttonKey="call" keyOf={(row) => String(row.i)} isSelected={() => false} onSelect={() => undefined} />
								</section>
							)}
						</>
					);
				}}
			</Wait>
		</div>
	);
}
