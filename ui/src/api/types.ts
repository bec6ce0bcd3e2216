// SPDX-License-Identifier: MIT
// The shapes of the server's answers (docs/PAGE-API.md says which holds what, docs/JSON.md what its keys mean). Values are in the answer's `unit`; null is unknown.

export type Unit = "s" | "bytes" | "count" | "share";

export type Confidence = "measured" | "bound" | "heuristic";

/** What should be changed; keys as `leadline report --json` has them. */
/** What a change saves. */
export interface Saving {
	/** At most. */
	value: number;
	/** Most likely; null: not known. */
	estimate: number | null;
	unit: Unit;
	of: string;
	/** How much there is of that. */
	whole: number | null;
}

export interface Finding {
	/** Its page in docs/advice. */
	rule: string;
	title: string;
	/** Where at least half of it comes from; null: not known. */
	file: string | null;
	line: number | null;
	evidence: string;
	change: string;
	/** null: cannot be told. */
	saving: Saving | null;
	/** Why it cannot, as in "what it saves is …"; null: it can, or nobody says. */
	saving_unknown: string | null;
	confidence: Confidence;
	/** Commands; FILE is what the finding is of, AFTER what was recorded with the change. */
	proof: { shows: string; proves: string };
}

/** f, qualified name, file, first line, kind */
export type FunctionRow = [number, string, string, number, Kind];

/** Whose code: the user's own, a library's, a C function, made up by leadline ([cut]). */
export enum Kind {
	Own = 0,
	Library = 1,
	C = 2,
	Synthetic = 3,
}

/** Samples: not where calls or lines were counted. Intervals: of samples, and of counted calls whose times are corrected. */
export interface Cost {
	self: number;
	total: number;
	self_low?: number | null;
	self_high?: number | null;
	total_low?: number | null;
	total_high?: number | null;
	/** Counted calls: the interval is wide, so its ends are bounds and the time as stamped stands before them. */
	self_is_bound?: boolean;
	total_is_bound?: boolean;
	raw_self?: number | null;
	raw_total?: number | null;
	self_samples?: number;
	total_samples?: number;
}

export interface FunctionCost extends Cost {
	function_id: number;
	name: string;
	file: string;
	line: number;
	kind: Kind;
	/** null: sampled. */
	calls: number | null;
	primitive_calls?: number;
}

export interface Hottest {
	column: number;
	end_column: number;
	self_share: number;
}

/** What is known of a line; of lines counted one by one there are hits, of sampled ones the hottest part. */
export interface LineNumbers extends Cost {
	line: number;
	function_id: number;
	/** Where a library waits for work. */
	is_wait?: boolean;
	/** Of samples only. */
	is_library?: boolean;
	/** null: sampled. */
	hits: number | null;
	callees?: number | null;
	hottest?: Hottest | null;
}

export interface LineCost extends LineNumbers {
	function: string;
	file: string;
}

/** A caller or callee; function_id null: it was the root, or the function's own code. */
export interface Neighbour {
	function_id: number | null;
	name: string | null;
	file: string | null;
	line: number | null;
	value: number;
	samples?: number;
	calls?: number;
	total_share: number;
}

export interface Table<Row> {
	what: string;
	unit: Unit;
	total: number;
	n: number;
	/** What the numbers hold that their titles do not say. */
	note?: string;
	rows: Row[];
}

export interface ThreadRow {
	number: number;
	name: string;
	tid: number;
	pid: number;
	samples: number;
	value: number;
	all: number;
	on_cpu_s: number | null;
	runnable_s: number | null;
	gil_s: number | null;
	waiting_s: number | null;
	is_idle: boolean;
	mostly_in: string | null;
}

/** What became of all CPU and thread time, of the whole recording. */
export interface Books {
	cpu: { kernel_s: number; sampled_s: number; late_s: number; without_python_s: number; not_seen_s: number };
	wall: { threads_s: number; sampled_s: number; no_python_s: number; starting_s: number; ending_s: number; stopped_s: number; late_s: number };
	threads_not_seen: number | null;
	threads_beyond: number;
	evidence: string;
	is_balanced: boolean;
	threads_without_python: { name: string; threads: number; cpu_s: number }[];
}

export interface Report {
	command?: string | string[];
	wall_s?: number | null;
	user_s?: number | null;
	system_s?: number | null;
	bound?: { verdict?: string; share?: number | null; is_estimate?: boolean; shares?: Record<string, number | null> };
	fidelity?: Record<string, unknown>;
	books?: Books | null;
	idle?: { threads?: number; samples_left_out?: number };
	/** In the one row of theirs. */
	imports?: { value: number; samples: number; packages: { name: string; value: number }[] };
	threads?: ThreadRow[];
	regions?: { name: string; total_s: number; times: number }[];
}

export interface OpenRecording {
	r: number;
	name: string;
	path: string;
	command: string;
	/** What is missing of it, in a line; "" or not there: it is whole. */
	damage?: string;
	/** Of PyTorch. */
	has_operators?: boolean;
	/** Ranks of the job they are of; 0: not known. */
	world_size?: number;
}

export interface Overview {
	version: string;
	/** Address of a line in the user's editor; "": none. */
	editor?: string;
	recordings: OpenRecording[];
	r: number;
	name: string;
	format: string;
	measure: string;
	note: string;
	unit: Unit;
	total: number;
	is_exact: boolean;
	is_call_graph: boolean;
	has_calls: boolean;
	begun_s: number | null;
	length_s: number;
	verdict: string;
	verdict_why: string;
	states: [string, number][];
	counts: Record<string, number>;
	views: Record<string, string>;
	functions: FunctionCost[];
	lines: LineCost[];
	report: Report;
}

export interface Boxes {
	id: number[];
	f: number[];
	d: number[];
	x: number[];
	w: number[];
	s: number[];
	n: (number | null)[];
	c: (number | null)[];
	h: number[];
}

export interface Tree {
	unit: Unit;
	total: number;
	direction: string;
	/** what to know of the picture, "": nothing */
	note?: string;
	/** of the whole tree; null: it is made only as far as it is looked at */
	n_nodes: number | null;
	node: number;
	key: string;
	value: number;
	x: number;
	path: [number, number][];
	functions: FunctionRow[];
	boxes: Boxes;
	thread?: string;
	left_out: { boxes: number; value: number };
}

export interface Sandwich {
	unit: Unit;
	total: number;
	function_id: number;
	value: number;
	self: number;
	functions: FunctionRow[];
	callers: Boxes;
	callees: Boxes;
}

/** One function's time by thread, and by steps of the run. */
export interface SpreadOver {
	unit: Unit;
	threads: { number: number; name: string; self: number; total: number }[];
	begin: number;
	step: number;
	selves: number[];
	totals: number[];
}

export interface SourceFile {
	file: string;
	self: number;
	total: number;
	n_lines: number;
	has_text: boolean;
	is_library: boolean;
}

/** seen: what operations of the line worked on; sampled lines only. */
export interface SourceLine extends LineNumbers {
	seen?: string;
}

export interface Source {
	file: string;
	note: string;
	n_lines: number;
	first: number;
	unit: Unit;
	total: number;
	text: string[];
	lines: SourceLine[];
	functions: FunctionRow[];
	bytecode: number[];
}

export interface Instruction {
	offset: number;
	opname: string;
	arg: number | null;
	argrepr: string;
	line: number | null;
	line_hits: number | null;
	is_jump_target: boolean;
	self: number | null;
	total: number | null;
	/** What it had become when it was seen. */
	specialised: string | null;
	folded: string | null;
	stack: string[] | null;
}

export interface Bytecode {
	function_id: number;
	unit: Unit;
	total: number;
	bytecode: { function: string; file: string; line: number; interpreter: string; instructions: Instruction[] }[];
}

export interface TimelineThread {
	number: number;
	tid: number;
	pid: number;
	name: string;
	is_idle: boolean;
	t: number[];
	s: number[];
	f: number[];
}

export interface Region {
	name: string;
	thread: number;
	t: number;
	d: number;
}

export interface Timeline {
	begin: number;
	end: number;
	from: number;
	to: number;
	states: string[];
	threads: TimelineThread[];
	functions: FunctionRow[];
	regions: Region[];
	processes: { pid: number; command: string; start_s: number; end_s: number | null }[];
	counters: Record<string, (number | null)[]>;
}

export interface Graph {
	unit: Unit;
	total: number;
	width: number;
	height: number;
	left_out: number;
	functions: FunctionRow[];
	nodes: { f: number; x: number; y: number; w: number; h: number; self: number; total: number; calls: number | null }[];
	edges: { from: number; to: number; value: number; calls: number | null; points?: number[] }[];
}

export interface DiffValue {
	a: number;
	b: number;
	change: number;
	/** Of the change: 95 %. */
	low: number;
	high: number;
	/** It stands out from the noise. */
	is_named: boolean;
}

/** name: of functions; function: of lines. */
export interface DiffRow {
	name?: string;
	function?: string;
	file: string;
	line: number;
	text?: string;
	calls_a?: number;
	calls_b?: number;
	self: DiffValue;
	total: DiffValue;
}

interface DiffSide {
	file: string;
	command: string;
	made: string;
	wall_s: number | null;
}

export interface Diff {
	a: DiffSide;
	b: DiffSide;
	unit: Unit;
	noise_share: number;
	is_timed: boolean;
	total: DiffValue;
	n_functions: number;
	n_lines: number;
	functions: DiffRow[];
	lines: DiffRow[];
}

/** Boxes as wide as on one side, with what they were and are. */
export interface DiffBoxes extends Boxes {
	a: number[];
	b: number[];
	plus_minus: number[];
	named: number[];
}

export interface DiffTree {
	unit: Unit;
	total: number;
	side: "a" | "b";
	n_nodes: number;
	node: number;
	value: number;
	x: number;
	path: [number, number][];
	functions: FunctionRow[];
	boxes: DiffBoxes;
}

export interface Benchmark {
	name: string;
	full_name: string;
	unit: Unit;
	is_command: boolean;
	n: number;
	n_processes: number;
	n_warmup: number;
	loops: number;
	least: number;
	q1: number;
	median: number;
	/** 95 %; null: too few values. */
	median_low: number | null;
	median_high: number | null;
	q3: number;
	most: number;
	mean: number;
	mean_low: number | null;
	mean_high: number | null;
	standard_deviation: number | null;
	/** In the order taken, every `every`-th. */
	values: number[];
	every: number;
	/** Where each process begins in `values`. */
	processes: number[];
	/** At 0 %, 1 % … 100 %. */
	quantiles: number[];
}

export interface BenchFile {
	file: string;
	format: string;
	date: string;
	begun_s: number | null;
	host: string;
	cpu: string;
	python: string;
	commit: string;
	benchmarks: Benchmark[];
}

export interface Search {
	n: number;
	value: number;
	total: number;
	ids: number[];
	functions: FunctionCost[];
}

export interface Embedded {
	answers: Record<string, unknown>;
	dropped: string[];
}
