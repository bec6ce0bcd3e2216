// SPDX-License-Identifier: MIT
// Levels over time as curves with axes; of several the later ones are dashed. The picture is doubled by figures beside it.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { briefly } from "../model/format";
import { useDark, useSize } from "../store";

export interface Level {
	title: string;
	values: (number | null)[];
}

/** Moments that are marked across the picture, with a word for each where there is room. */
export interface Marks {
	t: number[];
	name: string[];
}

interface CurveProps {
	label: string;
	t: number[];
	levels: Level[];
	format: (value: number) => string;
	height?: number;
	isBytes?: boolean;
	marks?: Marks;
}

/** Pixels a mark needs to be told from its neighbours, and to carry its name. */
const LEAST_MARK = 6;
const LEAST_NAME = 22;

function drawMarks(u: uPlot, { t, name }: Marks, colour: string): void {
	const c = u.ctx;
	const ratio = devicePixelRatio || 1;
	const { left, top, width, height } = u.bbox;
	let last = -Infinity;
	let named = -Infinity;
	c.save();
	c.strokeStyle = c.fillStyle = colour;
	c.lineWidth = ratio;
	c.font = `${10 * ratio}px system-ui, sans-serif`;
	c.textBaseline = "top";
	c.textAlign = "left";
	t.forEach((at, i) => {
		const x = Math.round(u.valToPos(at, "x", true));
		if (x < left || x > left + width || x - last < LEAST_MARK * ratio) return;
		last = x;
		c.setLineDash([3 * ratio, 3 * ratio]);
		c.beginPath();
		c.moveTo(x, top);
		c.lineTo(x, top + height);
		c.stroke();
		const next = i + 1 < t.length ? u.valToPos(t[i + 1], "x", true) : left + width;
		const text = /\d+$/.exec(name[i])?.[0] ?? "";
		if (!text || x - named < LEAST_NAME * ratio || next - x < 10 * ratio) return;
		named = x;
		c.fillText(text, x + 3 * ratio, top + 2 * ratio);
	});
	c.restore();
}

/** Steps of an axis: powers of two for bytes, whole numbers for counts. */
const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i);
const COUNTS = Array.from({ length: 8 }, (_, i) => [1, 2, 5].map((m) => m * 10 ** i)).flat();

export function Curve({ label, t, levels, format, height = 150, isBytes, marks }: CurveProps) {
	const isDark = useDark();
	const holder = useRef<HTMLDivElement>(null);
	const [sized, size] = useSize<HTMLElement>();
	const width = Math.floor(size.width);
	useEffect(() => {
		if (!holder.current || width < 80) return;
		const axis = { stroke: isDark ? "#a8a59c" : "#5d5d58", grid: { stroke: isDark ? "#36383d" : "#ecebe6", width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
		const colours = isDark ? ["#f0b74a", "#a8a59c"] : ["#8a5600", "#5d5d58"];
		const plot = new uPlot(
			{
				width,
				height,
				legend: { show: false },
				cursor: { show: false },
				scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
				axes: [
					{ ...axis, size: 24, space: 90, values: (_u, at) => at.map((v, i) => briefly(v, at.length > 1 ? at[1] - at[0] : Math.max(v, 1e-6) / (i + 1))) },
					{ ...axis, size: 68, space: 34, incrs: isBytes ? POWERS : COUNTS, values: (_u, at) => at.map(format) },
				],
				series: [{}, ...levels.map((_level, i) => ({ stroke: colours[i % 2], fill: i ? undefined : `${colours[0]}1c`, width: 1.5, dash: i ? [6, 4] : undefined, points: { show: false } }))],
				padding: [marks?.t.length ? 14 : 6, 8, 0, 0],
				hooks: marks?.t.length ? { drawAxes: [(u) => drawMarks(u, marks, isDark ? "#8a877f" : "#8b8880")] } : {},
			},
			[t, ...levels.map((level) => level.values)] as uPlot.AlignedData,
			holder.current,
		);
		return () => plot.destroy();
	}, [t, levels, marks, width, height, isDark]);
	return (
		<figure class="curve-chart" ref={sized} role="img" aria-label={label}>
			<div ref={holder} aria-hidden="true" />
			{(levels.length > 1 || !!marks?.t.length) && (
				<figcaption class="soft small">
					{[...(levels.length > 1 ? levels.map((level, i) => `${i ? "dashed" : "line"}: ${level.title}`) : []), ...(marks?.t.length ? ["vertical: where steps begin"] : [])].join("; ")}
				</figcaption>
			)}
		</figure>
	);
}
