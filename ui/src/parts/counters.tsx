// SPDX-License-Identifier: MIT
// Counters over time (CPUs, memory, IO), one small chart each, in the window the timeline shows.
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { amount, digits, moment } from "../model/format";
import { Span } from "../model/timeline";
import { useDark } from "../store";

interface Counter {
	key: string;
	title: string;
	format: (value: number) => string;
}

const bytes = (value: number) => amount(value, "bytes");
const COUNTERS: Counter[] = [
	{ key: "cpus", title: "CPUs busy", format: (v) => digits(v) },
	{ key: "rss_bytes", title: "memory (RSS)", format: bytes },
	{ key: "read_bytes_per_s", title: "read / s", format: bytes },
	{ key: "write_bytes_per_s", title: "written / s", format: bytes },
];

const HEIGHT = 74;

function Chart({ counter, t, values, span, width }: { counter: Counter; t: number[]; values: (number | null)[]; span: Span; width: number }) {
	const isDark = useDark();
	const holder = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	useEffect(() => {
		if (!holder.current) return;
		const soft = isDark ? "#a8a59c" : "#5d5d58";
		const grid = { stroke: isDark ? "#36383d" : "#ecebe6", width: 1 };
		const made = new uPlot(
			{
				width,
				height: HEIGHT,
				legend: { show: false },
				cursor: { drag: { x: false, y: false }, points: { size: 5 } },
				scales: { x: { time: false, range: () => [spanNow.current.from, spanNow.current.to] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
				axes: [{ show: false }, { show: false, grid }],
				series: [{}, { stroke: isDark ? "#f0b74a" : "#8a5600", fill: isDark ? "#f0b74a22" : "#8a560018", width: 1.5, points: { show: false } }],
				padding: [4, 0, 2, 0],
			},
			[t, values] as uPlot.AlignedData,
			holder.current,
		);
		made.root.style.color = soft;
		plot.current = made;
		return () => made.destroy();
	}, [t, values, width, isDark]);
	const spanNow = useRef(span);
	spanNow.current = span;
	useEffect(() => plot.current?.setScale("x", { min: span.from, max: span.to }), [span.from, span.to]);
	const most = useMemo(() => values.reduce<number>((least, v) => Math.max(least, v ?? 0), 0), [values]);
	const when = t[values.indexOf(most)];
	return (
		<div class="counter">
			<div class="counter-name">
				{counter.title}
				<span class="soft">peak {counter.format(most)}{when !== undefined ? ` at ${moment(when)}` : ""}</span>
			</div>
			<div ref={holder} aria-hidden="true" />
		</div>
	);
}

export function Counters({ counters, span, width }: { counters: Record<string, (number | null)[]>; span: Span; width: number }) {
	const t = (counters.t ?? []) as number[];
	if (t.length < 2) return null;
	const shown = COUNTERS.filter(({ key }) => (counters[key] ?? []).some((v) => v !== null && v > 0));
	return (
		<div class="counters">
			{shown.map((counter) => (
				<Chart key={counter.key} counter={counter} t={t} values={counters[counter.key]} span={span} width={width} />
			))}
		</div>
	);
}
