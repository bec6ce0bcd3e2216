// SPDX-License-Identifier: MIT
// Tables and charts of a PyTorch trace: which columns, in which order, what of them is shown. Pure.
import { Part, Parts, PARTS, Row, Step } from "../api/torch";
import { baseOf } from "./format";

export type Kind = "s" | "share" | "count" | "bytes" | "flops" | "ratio" | "text" | "source" | "yes";

/** A column: the key in the rows, how it reads, and what it says when pointed at. */
export interface Field {
	key: string;
	title: string;
	kind: Kind;
	hint?: string;
	/** Left out where it is 0 in all rows. */
	isOptional?: boolean;
	/** Columns of one group have one unit. */
	group?: string;
	/** With its sign. */
	isChange?: boolean;
}

export const OPERATOR_FIELDS: Field[] = [
	{ key: "name", title: "operator", kind: "text" },
	{ key: "source", title: "called from", kind: "source", hint: "the Python line that accounts for most of its time" },
	{ key: "module", title: "module", kind: "text", hint: "of the model" },
	{ key: "self_cpu_s", title: "self", kind: "s", hint: "CPU time of the operator itself" },
	{ key: "self_cpu_share", title: "%", kind: "share", hint: "of all operators' own CPU time" },
	{ key: "cpu_s", title: "total", kind: "s", hint: "CPU time with the operators it called" },
	{ key: "calls", title: "calls", kind: "count" },
	{ key: "median_s", title: "median", kind: "s", hint: "per call" },
	{ key: "p99_s", title: "p99", kind: "s", hint: "99 % of the calls took at most this long" },
	{ key: "max_s", title: "max", kind: "s" },
	{ key: "self_device_s", title: "self GPU", kind: "s", hint: "device time of what it launched itself" },
	{ key: "device_s", title: "total GPU", kind: "s" },
	{ key: "launches", title: "launches", kind: "count", hint: "kernels, copies and fills it launched itself" },
	{ key: "self_cpu_bytes", title: "memory", kind: "bytes", hint: "allocated minus released, by the operator itself" },
	{ key: "self_device_bytes", title: "GPU memory", kind: "bytes" },
	{ key: "flops", title: "FLOPs", kind: "flops", hint: "floating-point operations, by the shapes of its inputs" },
	{ key: "shapes", title: "shapes", kind: "text" },
];

export const KERNEL_FIELDS: Field[] = [
	{ key: "name", title: "kernel", kind: "text" },
	{ key: "total_s", title: "time", kind: "s" },
	{ key: "share", title: "%", kind: "share", hint: "of all time on the device" },
	{ key: "times", title: "times", kind: "count" },
	{ key: "mean_s", title: "mean", kind: "s" },
	{ key: "min_s", title: "min", kind: "s" },
	{ key: "max_s", title: "max", kind: "s" },
	{ key: "blocks_per_sm", title: "blocks/SM", kind: "ratio", hint: "estimated by the profiler" },
	{ key: "occupancy_share", title: "occupancy", kind: "share", hint: "estimated by the profiler" },
	{ key: "tensor_cores", title: "TC", kind: "yes", hint: "uses tensor cores, judging by its name" },
	{ key: "operator", title: "launched by", kind: "text" },
	{ key: "grid", title: "grid", kind: "text" },
	{ key: "block", title: "block", kind: "text" },
	{ key: "registers", title: "registers", kind: "count", hint: "per thread" },
	{ key: "shared_bytes", title: "shared memory", kind: "bytes", hint: "per block" },
];

export const STREAM_FIELDS: Field[] = [
	{ key: "name", title: "stream", kind: "text" },
	{ key: "busy_s", title: "busy", kind: "s", hint: "time in which something ran" },
	{ key: "share", title: "%", kind: "share", hint: "of its span" },
	{ key: "span_s", title: "span", kind: "s", hint: "from its first event to its last" },
	{ key: "host_wait_s", title: "host wait", kind: "s", hint: "idle because the host launched too late" },
	{ key: "kernel_wait_s", title: "kernel wait", kind: "s", hint: "gap between one kernel and the next" },
	{ key: "other_s", title: "other", kind: "s", hint: "launched in time, but waited for something else" },
	{ key: "events", title: "events", kind: "count" },
	{ key: "mean_queue", title: "mean queue", kind: "ratio", hint: "work launched but not yet started, averaged over its span" },
	{ key: "longest_queue", title: "longest", kind: "count" },
	{ key: "empty_share", title: "empty", kind: "share", hint: "share of its span with nothing queued" },
];

/** Fields that some row has something to say of. */
export function fieldsOf(fields: Field[], rows: Row[]): Field[] {
	const isThere = (value: Row[string], isOptional?: boolean) => value !== undefined && value !== null && value !== "" && value !== false && (value !== 0 || !isOptional);
	return fields.filter(({ key, isOptional }) => rows.some((row) => isThere(row[key], isOptional)));
}

/** Rows with the text in any of their words. */
export function matching(rows: Row[], text: string): Row[] {
	const wanted = text.trim().toLowerCase();
	if (!wanted) return rows;
	return rows.filter((row) => Object.values(row).some((value) => typeof value === "string" && value.toLowerCase().includes(wanted)));
}

/** Numbers from the largest on, words by the alphabet; what is not known last. "": as they are. */
export function sortedBy(rows: Row[], key: string): Row[] {
	if (!key) return rows;
	return [...rows].sort((a, b) => {
		const [x, y] = [a[key], b[key]];
		if (typeof x === "string" && typeof y === "string") return x === y ? 0 : x === "" ? 1 : y === "" ? -1 : x < y ? -1 : 1;
		const number = (value: Row[string]) => (typeof value === "number" ? value : value === true ? 1 : value === false ? 0 : -Infinity);
		const [m, n] = [number(x), number(y)];
		return m === n ? 0 : n - m;
	});
}

/** The middles of n equal stretches of time. */
export function timesOf(n: number, seconds: number): number[] {
	return Array.from({ length: n }, (_, i) => ((i + 0.5) / n) * seconds);
}

export function lengthOf(parts: Parts): number {
	return PARTS.reduce((sum, part) => sum + (parts[part] ?? 0), 0);
}

/** A column of the chart: one step, or the mean of several where there are more steps than room. */
export interface StepColumn {
	first: number;
	n: number;
	name: string;
	parts: Parts;
	seconds: number;
}

export function columnsOf(steps: Step[], most: number): StepColumn[] {
	const per = Math.max(1, Math.ceil(steps.length / Math.max(1, most)));
	const columns: StepColumn[] = [];
	for (let first = 0; first < steps.length; first += per) {
		const some = steps.slice(first, first + per);
		const parts = Object.fromEntries(PARTS.map((part) => [part, some.reduce((sum, step) => sum + (step.parts_s[part] ?? 0), 0) / some.length])) as Parts;
		const last = some[some.length - 1];
		columns.push({ first, n: some.length, name: some.length > 1 ? `${some[0].name} to ${last.name}` : some[0].name, parts, seconds: some.reduce((sum, step) => sum + step.duration_s, 0) / some.length });
	}
	return columns;
}

/** Steps that are drawn to their height before one of them may be called an outlier. */
const LEAST_STEPS = 4;

/** How high a chart of steps must be so that one outlier does not flatten the rest; what is above it is cut off, and marked. */
export function ceilingOf(columns: StepColumn[]): number {
	const heights = columns.map((column) => column.seconds).sort((a, b) => a - b);
	const most = heights[heights.length - 1] ?? 0;
	if (heights.length < LEAST_STEPS) return most;
	// At least the longest one is above: of ten steps one, of a hundred ten.
	const usual = heights[Math.min(heights.length - 2, Math.floor(0.9 * (heights.length - 1)))];
	return most > 2.5 * usual ? 1.3 * usual : most;
}

/** Of what was not released: the operator that adds most, if one adds something in nearly every step. */
export function growing(rows: Row[], steps: number): Row | undefined {
	return steps < LEAST_STEPS ? undefined : rows.find((row) => Number(row.steps ?? 0) >= 0.8 * steps);
}

/** What tells operators apart comes first: autograd's calls all begin alike. */
export function shortOperator(name: string): string {
	return name.replace(/^autograd::engine::evaluate_function: /, "evaluate: ");
}

/** "train.py:40 step" for torch's "/x/train.py(40): step"; other texts as they are. */
export function shortSource(source: string): string {
	const match = /^(.*)\((\d+)\)(?:: (.*))?$/s.exec(source);
	if (!match) return source;
	return `${baseOf(match[1])}:${match[2]}${match[3] ? ` ${match[3]}` : ""}`;
}

/** The line most of its time is of, and how many others there are; where none has half of it, how many there are. */
export function sourceInWords(row: Row): string {
	const n = Number(row.n_places ?? 0);
	if (!row.source) return n > 1 ? `${n} places` : "";
	return shortSource(String(row.source)) + (n > 1 ? ` +${n - 1}` : "");
}

/** File and line of torch's "/x/train.py(40): step"; null: no line is told. */
export function lineOf(source: string): { file: string; line: number } | null {
	const match = /^(.*)\((\d+)\)(?:: .*)?$/s.exec(source);
	return match && match[1] ? { file: match[1], line: Number(match[2]) } : null;
}

/** How much longer than most a step is before it is called slow: as report has it. */
const SLOW = 1.2;

/** The part that made a slow step slow, and by how much; null: it is none. */
export function slowerBy(step: Step, medianS: number, median: Parts): { part: Part; seconds: number } | null {
	if (step.duration_s < SLOW * medianS) return null;
	let most: { part: Part; seconds: number } | null = null;
	for (const part of PARTS) {
		const more = (step.parts_s[part] ?? 0) - (median[part] ?? 0);
		if (more > (most?.seconds ?? 0)) most = { part, seconds: more };
	}
	return most;
}
