// SPDX-License-Identifier: MIT
// Results of benchmarks: every raw value as a dot, medians with their intervals, distribution functions, and of several files the
// history. The table below says the same in numbers.
import { useEffect, useRef, useState } from "preact/hooks";
import { Benchmark, BenchFile } from "../api/types";
import { Axis, axisOf, beyond, BenchRow, historicNames, namesOf, rowsOf, shareOf, unitOf } from "../model/bench";
import { amount, baseOf, count, plural, scaled, scaleFor } from "../model/format";
import { INTERVAL, spread } from "../model/interval";
import { Cell, Copy, Grid } from "../parts/grid";
import { Notice, Wait } from "../parts/states";
import { prepare, useAnswer, useDark, usePlace, useSize, useStore } from "../store";

/** Okabe and Ito's colours, darker on light; lines double them by dashes. */
const COLOURS = [["#0072b2", "#56b4e9"], ["#b35900", "#e69f00"], ["#00795a", "#2fc49a"], ["#a64d79", "#e39ac4"], ["#5a5a5a", "#bdbdbd"], ["#8a6d00", "#f0e442"]];
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2"];
const ROW = 38;
const MOST_CURVES = 12;

/** By file where there are several, else by benchmark. */
const styleOf = (row: BenchRow, i: number, files: number) => (files > 1 ? row.at : i);

/** The same place for the same value, whenever it is drawn. */
const jitter = (i: number) => ((i * 0.618034) % 1) - 0.5;

function drawStrips(c: CanvasRenderingContext2D, rows: BenchRow[], axis: Axis, width: number, isDark: boolean, files: number) {
	const ink = isDark ? { text: "#f2efe8", line: "#3c3e42" } : { text: "#17181a", line: "#dcd9d2" };
	const height = rows.length * ROW;
	c.strokeStyle = ink.line;
	for (const tick of axis.ticks) {
		const x = Math.round(shareOf(axis, tick) * width) + 0.5;
		c.beginPath();
		c.moveTo(x, 0);
		c.lineTo(x, height);
		c.stroke();
	}
	rows.forEach((row, i) => {
		const { b } = row;
		const middle = i * ROW + ROW / 2;
		const x = (value: number) => shareOf(axis, value) * width;
		c.fillStyle = COLOURS[styleOf(row, i, files) % COLOURS.length][isDark ? 1 : 0];
		c.globalAlpha = b.values.length > 200 ? 0.35 : 0.7;
		b.values.forEach((value, k) => {
			const at = Math.min(x(value), width - 3);
			c.beginPath();
			c.arc(at, middle + jitter(k) * (ROW - 14), 2.2, 0, 7);
			c.fill();
		});
		c.globalAlpha = 1;
		c.strokeStyle = c.fillStyle = ink.text;
		c.lineWidth = 2;
		if (b.median_low !== null && b.median_high !== null) c.strokeRect(x(b.median_low), middle - 6, Math.max(1, x(b.median_high) - x(b.median_low)), 12);
		c.fillRect(x(b.median) - 1.5, middle - 12, 3, 24);
		c.lineWidth = 1;
	});
}

function Strips({ rows, axis, files }: { rows: BenchRow[]; axis: Axis; files: number }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const isDark = useDark();
	const [holder, size] = useSize<HTMLDivElement>();
	const unit = unitOf(rows);
	useEffect(() => {
		const c = canvas.current && size.width ? prepare(canvas.current, size.width, rows.length * ROW) : null;
		if (c) drawStrips(c, rows, axis, size.width, isDark, files);
	});
	const far = beyond(rows, axis);
	return (
		<figure class="strips">
			<div class="strip-labels">
				{rows.map((row) => (
					<span key={row.key} title={`${row.b.full_name || row.b.name}\n${row.file.file}`}>
						<span>{row.label}</span>
						{row.sub && <span class="soft small">{row.sub}</span>}
					</span>
				))}
			</div>
			<div class="strip-canvas" ref={holder}>
				<canvas ref={canvas} role="img" aria-label={`values of ${plural(rows.length, "result")}; the same in the table below`} style={{ width: `${size.width}px`, height: `${rows.length * ROW}px` }} />
				<div class="strip-axis num soft" aria-hidden="true">
					{axis.ticks.map((tick) => <span key={tick} style={{ left: `${shareOf(axis, tick) * 100}%` }}>{amount(tick, unit)}</span>)}
				</div>
			</div>
			<figcaption class="soft small">
				Each dot is a value; its height means nothing. Bar: median. Box: its 95 % interval.
				{far > 0 && ` ${plural(far, "value")} beyond the axis ${far === 1 ? "is" : "are"} drawn at its edge.`}
				{rows.some((row) => row.b.every > 1) && " Not every value is drawn."}
			</figcaption>
		</figure>
	);
}

function Curves({ rows, axis, files }: { rows: BenchRow[]; axis: Axis; files: number }) {
	const isDark = useDark();
	const unit = unitOf(rows);
	const w = 600;
	const h = 220;
	const x = (value: number) => Math.min(1.02, Math.max(-0.02, shareOf(axis, value))) * w;
	const shown = rows.slice(0, MOST_CURVES);
	return (
		<figure class="plot">
			<svg viewBox={`-44 -8 ${w + 64} ${h + 36}`} role="img" aria-label={`distribution functions of ${plural(shown.length, "result")}`}>
				{[0, 0.25, 0.5, 0.75, 1].map((p) => (
					<g key={p}>
						<path class="rule" d={`M0 ${h - p * h}H${w}`} />
						<text x={-6} y={h - p * h + 4} text-anchor="end">{p * 100} %</text>
					</g>
				))}
				{axis.ticks.map((tick) => <text key={tick} x={x(tick)} y={h + 18} text-anchor="middle">{amount(tick, unit)}</text>)}
				{shown.map((row, i) => {
					const s = styleOf(row, i, files);
					const d = row.b.quantiles.map((q, k) => `${k ? "L" : "M"}${x(q).toFixed(1)} ${(h - (k / (row.b.quantiles.length - 1)) * h).toFixed(1)}`).join("");
					return <path key={row.key} class="curve" d={d} stroke={COLOURS[s % COLOURS.length][isDark ? 1 : 0]} stroke-dasharray={DASHES[s % DASHES.length]}><title>{`${row.label} ${row.sub}`}</title></path>;
				})}
			</svg>
			<figcaption>
				<ul class="legend">
					{shown.map((row, i) => {
						const s = styleOf(row, i, files);
						return (
							<li key={row.key}>
								<svg width="26" height="8" aria-hidden="true"><path d="M0 4H26" class="curve" stroke={COLOURS[s % COLOURS.length][isDark ? 1 : 0]} stroke-dasharray={DASHES[s % DASHES.length]} /></svg> {row.label} <span class="soft">{row.sub}</span>
							</li>
						);
					})}
				</ul>
				<p class="soft small">The share of values at or below each time{rows.length > shown.length ? `; the first ${MOST_CURVES} results` : ""}.</p>
			</figcaption>
		</figure>
	);
}

/** A benchmark over the files that have it, the oldest first. */
function History({ rows }: { rows: BenchRow[] }) {
	const unit = unitOf(rows);
	const w = 600;
	const h = 200;
	const of = (b: Benchmark) => [b.median_low ?? b.q1, b.median_high ?? b.q3];
	const top = Math.max(...rows.map((row) => of(row.b)[1])) * 1.1 || 1;
	const x = (i: number) => (rows.length > 1 ? (i / (rows.length - 1)) * (w - 60) + 30 : w / 2);
	const y = (value: number) => h - (value / top) * h;
	const scale = scaleFor(top, unit);
	return (
		<figure class="plot">
			<svg viewBox={`-56 -8 ${w + 76} ${h + 40}`} role="img" aria-label={`history of ${rows[0].b.name} over ${plural(rows.length, "file")}; the same in the table below`}>
				{[0, 0.5, 1].map((p) => (
					<g key={p}>
						<path class="rule" d={`M0 ${h - (p * h) / 1.1}H${w}`} />
						<text x={-6} y={h - (p * h) / 1.1 + 4} text-anchor="end">{scaled((p * top) / 1.1, scale)} {scale.name}</text>
					</g>
				))}
				<path class="line" d={rows.map((row, i) => `${i ? "L" : "M"}${x(i)} ${y(row.b.median)}`).join("")} />
				{rows.map((row, i) => {
					const [low, high] = of(row.b);
					return (
						<g key={row.key}>
							<title>{`${baseOf(row.file.file)}\n${amount(row.b.median, unit)}${row.file.commit ? `\ncommit ${row.file.commit}` : ""}`}</title>
							<path class="whisker" d={`M${x(i)} ${y(low)}V${y(high)}M${x(i) - 5} ${y(low)}h10M${x(i) - 5} ${y(high)}h10`} />
							<circle class="point" cx={x(i)} cy={y(row.b.median)} r="4" />
							{(rows.length <= 8 || i === 0 || i === rows.length - 1) && <text x={x(i)} y={h + 18} text-anchor="middle">{dayOf(row.file) || baseOf(row.file.file).slice(0, 14)}</text>}
						</g>
					);
				})}
			</svg>
			<figcaption class="soft small">Median of {rows[0].b.name}, oldest first. Whiskers: 95 % interval, or the middle half of the values where there are too few.</figcaption>
		</figure>
	);
}

function dayOf(file: BenchFile): string {
	return file.begun_s === null ? "" : new Date(file.begun_s * 1000).toISOString().slice(0, 10);
}

const half = (low: number | null, high: number | null) => (low === null || high === null ? "" : String((high - low) / 2));

export function benchColumns(rows: BenchRow[], files: number): Cell<BenchRow>[] {
	const unit = unitOf(rows);
	const number = (title: string, sort: string, value: (b: Benchmark) => number | null): Cell<BenchRow> => ({
		title, isNumber: true, sort, text: (r) => amount(value(r.b), unit), plain: (r) => String(value(r.b) ?? ""),
	});
	const columns: Cell<BenchRow>[] = [
		number("best", "least", (b) => b.least),
		number("median", "median", (b) => b.median),
		{ title: "interval", isNumber: true, sort: "", hint: INTERVAL, text: ({ b }) => spread(b.median, b.median_low, b.median_high, unit) || "–", plain: ({ b }) => half(b.median_low, b.median_high), className: "soft" },
		number("mean", "mean", (b) => b.mean),
		{ title: "interval of the mean", isNumber: true, sort: "", hint: INTERVAL, text: ({ b }) => spread(b.mean, b.mean_low, b.mean_high, unit) || "–", plain: ({ b }) => half(b.mean_low, b.mean_high), className: "soft" },
		{ title: files > 1 ? "× oldest" : "× fastest", isNumber: true, sort: "ratio", text: (r) => r.ratio.toFixed(2), plain: (r) => String(r.ratio) },
		{ title: "values", isNumber: true, sort: "n", text: (r) => (r.b.n_processes > 1 && !r.b.is_command ? `${count(r.b.n)} of ${plural(r.b.n_processes, "process", "processes")}` : count(r.b.n)), plain: (r) => String(r.b.n) },
		{ title: "benchmark", isNumber: false, sort: "name", text: (r) => r.b.name, className: "code" },
	];
	if (files > 1)
		columns.push(
			{ title: "file", isNumber: false, sort: "", text: (r) => baseOf(r.file.file), plain: (r) => r.file.file, className: "soft" },
			{ title: "made", isNumber: false, sort: "", text: (r) => dayOf(r.file), className: "soft" },
		);
	return columns;
}

export function sortedBench(rows: BenchRow[], sort: string): BenchRow[] {
	const keys: Record<string, (r: BenchRow) => number | string> = { least: (r) => r.b.least, median: (r) => r.b.median, mean: (r) => r.b.mean, ratio: (r) => -r.ratio, n: (r) => -r.b.n, name: (r) => r.b.name };
	const key = keys[sort];
	return key ? [...rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0)) : rows;
}

function Results({ files }: { files: BenchFile[] }) {
	const place = usePlace();
	const store = useStore();
	const [sort, setSort] = useState("");
	const names = namesOf(files);
	const chosen = names.includes(place.bench) ? place.bench : "";
	const all = rowsOf(files, chosen);
	// One axis cannot hold seconds and bytes.
	const rows = all.filter((row) => row.b.unit === unitOf(all));
	const axis = axisOf(rows, place.scale);
	const historic = historicNames(files);
	const history = chosen ? (historic.includes(chosen) ? chosen : "") : historic[0];
	const sorted = sortedBench(all, sort);
	const columns = benchColumns(sorted, files.length);
	return (
		<div class="benchview">
			<div class="bar-of-tools">
				<label class="choice"><span>benchmark</span>
					<select value={chosen} onChange={(e) => store.go({ bench: e.currentTarget.value })}>
						<option value="">all {names.length}</option>
						{names.map((name) => <option key={name} value={name}>{name}</option>)}
					</select>
				</label>
				<label class="choice"><span>axis</span>
					<select value={place.scale} onChange={(e) => store.go({ scale: e.currentTarget.value }, true)}>
						<option value="">automatic</option>
						<option value="linear">linear</option>
						<option value="log">logarithmic</option>
					</select>
				</label>
				<span class="soft small">{files.map((file) => [baseOf(file.file), file.format, file.python, file.cpu].filter(Boolean).join(", ")).slice(0, 3).join(" · ")}{files.length > 3 ? ` and ${plural(files.length - 3, "more file")}` : ""}</span>
			</div>
			<h2>Values</h2>
			<Strips rows={rows} axis={axis} files={files.length} />
			<div class="two">
				<section aria-label="distribution"><h2>Distribution</h2><Curves rows={rows} axis={axis} files={files.length} /></section>
				{history && <section aria-label="history"><h2>History</h2><History rows={rowsOf(files, history)} /></section>}
			</div>
			<h2>Results</h2>
			<Grid
				columns={columns} rows={sorted} caption="benchmark results" sort={sort} onSort={setSort} keyOf={(row) => row.key}
				isSelected={(row) => row.b.name === chosen} onSelect={() => undefined} onOpen={(row) => store.go({ bench: row.b.name === chosen ? "" : row.b.name })}
			/>
			<p class="foot soft">
				<span>These were measured one after the other. To decide whether one is really faster: <code>leadline compare</code>. Double-click a row to see that benchmark alone.</span>
				<Copy columns={columns} rows={sorted} />
			</p>
		</div>
	);
}

export function BenchView() {
	const answer = useAnswer<{ files: BenchFile[] }>("bench", {});
	return <Wait answer={answer}>{(data) => (data.files.length ? <Results files={data.files} /> : <Notice title="No results are open" text="To open some: leadline view results.json" />)}</Wait>;
}
