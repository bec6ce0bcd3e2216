// SPDX-License-Identifier: MIT
// Numbers in words: three significant digits, units chosen once per column, spaces that do not break.
import { FunctionRow, Unit } from "../api/types";

const NBSP = "\u00a0";

export function digits(value: number, significant = 3): string {
	if (!Number.isFinite(value)) return "–";
	if (value === 0) return "0";
	const size = Math.floor(Math.log10(Math.abs(value)));
	return value.toFixed(Math.min(9, Math.max(0, significant - 1 - size)));
}

export function count(value: number | null | undefined): string {
	if (value === null || value === undefined) return "–";
	return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, NBSP);
}

export interface Scale {
	/** value · factor is in `name` */
	factor: number;
	name: string;
}

const SECONDS: Scale[] = [
	{ factor: 1 / 3600, name: "h" },
	{ factor: 1 / 60, name: "min" },
	{ factor: 1, name: "s" },
	{ factor: 1e3, name: "ms" },
	{ factor: 1e6, name: "µs" },
	{ factor: 1e9, name: "ns" },
];
const BYTES: Scale[] = [
	{ factor: 2 ** -30, name: "GiB" },
	{ factor: 2 ** -20, name: "MiB" },
	{ factor: 2 ** -10, name: "KiB" },
	{ factor: 1, name: "B" },
];

/** The scale that shows the largest of a column well. */
export function scaleFor(largest: number, unit: Unit): Scale {
	if (unit === "count") return { factor: 1, name: "" };
	if (unit === "share") return { factor: 100, name: "%" };
	const all = unit === "bytes" ? BYTES : SECONDS;
	for (const scale of all) {
		const least = scale.name === "h" || scale.name === "min" ? 3 : 1;
		if (largest * scale.factor >= least) return scale;
	}
	return all[largest === 0 ? (unit === "bytes" ? 3 : 2) : all.length - 1];
}

/** A number alone, for a column whose header names the unit. */
export function scaled(value: number | null | undefined, scale: Scale): string {
	if (value === null || value === undefined) return "–";
	if (scale.name === "") return count(value);
	return digits(value * scale.factor);
}

/** A number with its unit. */
export function amount(value: number | null | undefined, unit: Unit): string {
	if (value === null || value === undefined) return "–";
	const scale = scaleFor(Math.abs(value), unit);
	return scale.name ? scaled(value, scale) + NBSP + scale.name : count(value);
}

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];

/** "3.20 GFLOP", and so on: thousands by their prefix. */
export function counted(value: number | null | undefined, unit: string): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return "–";
	const size = Math.min(PREFIXES.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(Math.abs(value), 1)) / 3 + 1e-12)));
	return `${digits(value / 1000 ** size)}${NBSP}${PREFIXES[size]}${unit}`.trimEnd();
}

/** "+12 ms", "−3 %": a change. */
export function signed(value: number, unit: Unit): string {
	return (value < 0 ? "−" : "+") + amount(Math.abs(value), unit);
}

/** What a change is of what was: "+30.1 %", "×12", "new", "gone". */
export function ratio(a: number, b: number): string {
	if (!(a > 0)) return b > 0 ? "new" : "–";
	if (!(b > 0)) return "gone";
	if (b / a >= 10) return `×${Math.round(b / a)}`;
	return (b < a ? "" : "+") + percent((b - a) / a);
}

export function percent(share: number | null | undefined): string {
	if (share === null || share === undefined || !Number.isFinite(share)) return "–";
	const value = share * 100;
	if (value !== 0 && Math.abs(value) < 0.1) return (value < 0 ? "−" : "") + `<0.1${NBSP}%`;
	return `${value.toFixed(1).replace("-", "−")}${NBSP}%`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
	return `${count(n)}${NBSP}${n === 1 ? one : many}`;
}

/** The last part of a path. */
export function baseOf(file: string): string {
	return file.slice(file.lastIndexOf("/") + 1);
}

/** A command without the folders of its program and of files it names: "python3 work.py --n 3". */
export function shortCommand(command: string): string {
	return command.replace(/(^|\s)\/\S*\/(?=[^\s/])/g, "$1");
}

export function place(file: string | null, line: number | null): string {
	if (!file) return "";
	return line ? `${baseOf(file)}:${line}` : baseOf(file);
}

/** A function by its name; module code, which has none of its own, by its file. */
export function shortName(row: FunctionRow | undefined, f: number): string {
	if (!row) return `function ${f}`;
	return row[1] === "<module>" && row[2] ? baseOf(row[2]) : row[1];
}

/** A moment since the recording began. */
export function moment(t: number, step = 0.001): string {
	const sign = t < 0 ? "−" : "";
	const s = Math.abs(t);
	const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step))));
	if (s < 60) return `${sign}${s.toFixed(decimals)}${NBSP}s`;
	const h = Math.floor(s / 3600);
	const m = Math.floor((s % 3600) / 60);
	const rest = (s % 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
	return `${sign}${h ? `${h}:${String(m).padStart(2, "0")}` : m}:${rest}`;
}

/** The same where most are far below a second: "4.25 ms", as many digits as the step has. */
export function briefly(t: number, step = 0.001): string {
	if (t >= 1) return moment(t, step);
	return `${(t * 1000).toFixed(Math.min(6, Math.max(0, Math.ceil(-Math.log10(step * 1000) - 1e-9))))}${NBSP}ms`;
}

/** Round steps for an axis: about `n` of them between from and to. */
export function ticks(from: number, to: number, n: number): { at: number[]; step: number } {
	const raw = (to - from) / Math.max(1, n);
	if (!(raw > 0)) return { at: [from], step: 1 };
	const size = 10 ** Math.floor(Math.log10(raw));
	const step = size * ([1, 2, 5, 10].find((m) => m * size >= raw) ?? 10);
	const at: number[] = [];
	for (let i = Math.ceil(from / step); i * step <= to && at.length < 100; i++) at.push(i * step);
	return { at, step };
}
