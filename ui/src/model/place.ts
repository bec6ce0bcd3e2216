// SPDX-License-Identifier: MIT
// Where the user is: the view, what is selected, what counts. All of it stands in the address (#/view?…), so a
// link shows the same picture.
import { Params } from "../api/source";

export interface Place {
	view: string;
	r: number;
	/* What counts; chips show each. */
	from?: number;
	to?: number;
	thread: string;
	process: string;
	state: string;
	/* Bytes instead of time: "peak", "growth", "leaks", "churn"; "" time. */
	memory: string;
	/* Of a training: "training", "validation" …; "" all of the run. */
	phase: string;
	onlyMine: boolean;
	idle: boolean;
	imports: boolean;
	filter: string;
	focus: string[];
	drop: string[];
	merge: string[];
	collapse: boolean;
	/* What is selected. */
	f?: number;
	file: string;
	line?: number;
	q: string;
	/* How a view shows it. */
	node: string;
	direction: string;
	style: string;
	depth: string;
	cutoff: string;
	what: string;
	sort: string;
	measure: string;
	open: string;
	/* What is compared with the recording r, how, and where in its tree one is. */
	with?: number;
	normalize: string;
	unit: string;
	side: string;
	step: string;
	all: boolean;
	/* Of a trace of PyTorch: the pane ("" the overview), the operator and the module selected, operators by shapes, kernels by launches, the column they are sorted by ("" as they come). */
	pane: string;
	op: string;
	shapes: boolean;
	by: string;
	module: string;
	launches: boolean;
	/* Of two traces: what is compared, "step" where it is "". */
	per: string;
	/* Of its timeline: the window ("0.1-0.2", seconds; "" all of it), the span selected, Python functions. */
	win: string;
	event?: number;
	python: boolean;
	/* The benchmark that is looked at, "" all of them; and its axis. */
	bench: string;
	scale: string;
}

export const START: Place = {
	view: "overview",
	r: 0,
	thread: "",
	process: "",
	state: "wall",
	memory: "",
	phase: "",
	onlyMine: false,
	idle: false,
	imports: false,
	filter: "",
	focus: [],
	drop: [],
	merge: [],
	collapse: false,
	file: "",
	q: "",
	node: "0",
	direction: "left-heavy",
	style: "icicle",
	depth: "all",
	cutoff: "none",
	what: "functions",
	sort: "self",
	measure: "self",
	open: "",
	normalize: "absolute",
	unit: "",
	side: "b",
	step: "0",
	all: false,
	pane: "",
	op: "",
	shapes: false,
	by: "",
	module: "",
	launches: false,
	per: "",
	win: "",
	python: false,
	bench: "",
	scale: "",
};

const LISTS = new Set(["focus", "drop", "merge"]);
const NUMBERS = new Set(["r", "from", "to", "f", "line", "with", "event"]);
const SWITCHES = new Set(["onlyMine", "idle", "imports", "collapse", "all", "shapes", "launches", "python"]);
const KNOWN = [...Object.keys(START), "from", "to", "f", "line", "with", "event"] as (keyof Place)[];

export function parsePlace(hash: string): Place {
	const match = /^#?\/?([a-z]*)\??(.*)$/s.exec(hash);
	const place: Place = { ...START, focus: [], drop: [], merge: [] };
	if (!match) return place;
	if (match[1]) place.view = match[1];
	const query = new URLSearchParams(match[2]);
	const out = place as unknown as Record<string, unknown>;
	for (const name of KNOWN) {
		if (name === "view" || !query.has(name)) continue;
		const text = query.get(name) ?? "";
		if (LISTS.has(name)) out[name] = query.getAll(name);
		else if (SWITCHES.has(name)) out[name] = text === "1";
		else if (!NUMBERS.has(name)) out[name] = text;
		else if (Number.isFinite(Number(text)) && text !== "") out[name] = Number(text);
	}
	return place;
}

export function formatPlace(place: Place): string {
	const query = new URLSearchParams();
	for (const name of KNOWN) {
		const value = place[name];
		const usual = (START as unknown as Record<string, unknown>)[name];
		if (name === "view" || value === undefined || value === usual) continue;
		if (Array.isArray(value)) for (const one of value) query.append(name, one);
		else query.set(name, value === true ? "1" : String(value));
	}
	const text = query.toString();
	return `#/${place.view}${text ? `?${text}` : ""}`;
}

/** The parameters of every request. */
export function selectionOf(place: Place): Params {
	return {
		r: place.r,
		from: place.from,
		to: place.to,
		thread: place.thread,
		process: place.process,
		state: place.state === "wall" ? undefined : place.state,
		memory: place.memory,
		phase: place.phase,
		only_mine: place.onlyMine,
		idle: place.idle,
		imports: place.imports,
		filter: place.filter,
		focus: place.focus,
		drop: place.drop,
		merge: place.merge,
		collapse: place.collapse,
	};
}

/** Only a part of the run counts. */
export function isPart(place: Place): boolean {
	return place.from !== undefined || place.to !== undefined || !!place.thread || !!place.process || !!place.phase || place.state !== "wall" || !!place.memory || !!(place.focus.length + place.drop.length);
}

/** An extended regular expression that finds this text alone. */
export function literally(text: string): string {
	return text.replace(/[\\^$.|?*+(){}[\]]/g, "\\$&");
}

/** One that finds this function alone, in "qualname (file:line)". */
export function patternOf(name: string, file: string, line: number): string {
	return `^${literally(`${name} (${file}:${line})`)}$`;
}

/** The name in a pattern made above, for a chip; other patterns as they are. */
export function nameOfPattern(pattern: string): string {
	const plain = pattern.replace(/\\(.)/gs, "$1");
	const match = /^\^(.*) \([^()]*:\d+\)\$$/s.exec(plain);
	return match ? match[1] : pattern;
}
