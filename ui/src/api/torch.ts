// SPDX-License-Identifier: MIT
// Shapes of api/torch: what the pages of a PyTorch trace are made of; keys as `leadline report --json` has them.

export const PARTS = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu", "other"] as const;
export type Part = (typeof PARTS)[number];
export type Parts = Record<Part, number>;

export interface Advice {
	rule: string;
	evidence: string;
	change: string;
	saving_s: number | null;
}

export interface TorchOverview {
	/** Which panes can be filled: ""; else why not. */
	panes: Record<string, string>;
	notes: string;
	events: number;
	overview: {
		device: string | null;
		steps: number;
		steps_marked: boolean;
		seconds: number;
		median_s: number;
		p99_s: number;
		parts_s: Parts;
		busy_s: number | null;
		kernel_s: number | null;
		tensor_core_s: number | null;
		sm_efficiency: number | null;
		occupancy: number | null;
		peak_bytes: number | null;
		advice: Advice[];
	};
}

/** A row of a table: texts and numbers by key; what is not known is not there. */
export type Row = Record<string, string | number | boolean | null | undefined>;

export interface Operators {
	n: number;
	operators: Row[];
}

export interface Kernels {
	kernels: Row[];
}

export interface Step {
	name: string;
	seconds: number;
	parts_s: Parts;
}

export interface Steps {
	n: number;
	median_s: number;
	p99_s: number;
	max_s: number;
	median_parts_s: Parts;
	steps: Step[];
}

export interface Streams {
	streams: Row[];
	launches: { launches: number; short: number; median_launch_s: number | null; median_delay_s: number | null };
}

/** Kinds of spans, as numbered in answers. */
export const KINDS = ["operator", "region", "Python function", "runtime call", "profiler", "kernel", "copy", "fill", "region on the device"] as const;

/** A thread or a stream; of its spans each column has one entry. Times in ns since the trace began. */
export interface SpanLane {
	process: string;
	thread: string;
	is_device: boolean;
	events: number;
	rows: number;
	row: number[];
	t: number[];
	d: number[];
	/** index in names */
	name: number[];
	kind: number[];
	event: number[];
	/** More than 1: so many in a row, too narrow to be told apart. */
	n: number[];
}

export interface SpanTimeline {
	length_s: number;
	has_python: boolean;
	/** Spans below the deepest row. */
	too_deep: number;
	names: string[];
	lanes: SpanLane[];
	/** One-file pages: from, to, 1 for autograd's. */
	flows?: [number, number, number][];
}

export interface SpanPlace {
	event: number;
	name: string;
	kind: number;
	t: number;
	d: number;
	/** Not there: the span is not shown. */
	lane?: number;
	row?: number;
}

export interface SpanLink {
	is_backward: boolean;
	from: SpanPlace;
	to: SpanPlace;
}

export interface SpanDetails extends SpanPlace {
	shapes?: string;
	bytes?: number | null;
	occupancy?: number | null;
	blocks_per_sm?: number | null;
	grid?: number[];
	block?: number[];
	n_links: number;
	links: SpanLink[];
}
