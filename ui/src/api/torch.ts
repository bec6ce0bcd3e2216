// SPDX-License-Identifier: MIT
// Shapes of api/torch: what the pages of a PyTorch trace are made of; keys as `leadline report --json` has them.
import { Finding } from "./types";

export const PARTS = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "compile", "cpu", "other"] as const;
export type Part = (typeof PARTS)[number];
export type Parts = Record<Part, number>;

/** A part of a training; null: its time is not known. */
export interface Phase {
	name: string;
	total_s: number | null;
	times: number;
	passes?: number | null;
}

export interface TorchOverview {
	/** Which panes can be filled: ""; else why not. */
	panes: Record<string, string>;
	notes: string;
	events: number;
	/** Ranks of the job it is of; 0: not known. */
	world_size?: number;
	overview: {
		device: string | null;
		steps: number;
		steps_marked: boolean;
		/** "marked", or how else they were found; "none". */
		steps_found?: string;
		total_s: number;
		median_s: number;
		p99_s: number;
		parts_s: Parts;
		busy_s: number | null;
		kernel_s: number | null;
		tensor_core_s: number | null;
		sm_efficiency_share: number | null;
		occupancy_share: number | null;
		peak_bytes: number | null;
		advice: Finding[];
		/** What all of it saves at most: savings overlap. */
		together_s?: number | null;
		steps_per_s?: number | null;
		/** How many make steps. */
		processes?: number;
		/** What the process's time went to; none where no steps were found. */
		phases?: Phase[];
	};
	/** docs/advice, of the rules that speak, as Markdown. */
	advice_pages?: Record<string, string>;
	/** What the program told with leadline.torch.step. */
	training?: { steps: number; processes: number; steps_per_s: number; samples_per_s: number | null; tokens_per_s: number | null; median_s: number; p99_s: number; max_s: number };
	/** Floating-point operations of the steps, and of which peak they are a share; null: not known. */
	work?: { flops: number; flops_per_s: number; peak_flops_per_s: number | null; peak: string; peak_flops_share: number | null } | null;
}

/** A row of a table: texts and numbers by key; what is not known is not there. */
export type Row = Record<string, string | number | boolean | null | undefined | number[] | (number | null)[] | OperatorPlace[]>;

/** A line and a module that call an operator; "": not known. Times add up to the operator's. */
export interface OperatorPlace {
	source: string;
	module: string;
	/** Both are of the operator forward that it belongs to. */
	backward: boolean;
	calls: number;
	self_cpu_s: number;
	cpu_s: number;
	self_device_s?: number;
}

/** An operator or a region; "": of callers Python alone, of callees the operator's own time. */
export interface OperatorNeighbour {
	name: string;
	calls: number;
	cpu_s: number;
}

export interface OperatorNeighbours {
	operator: string;
	calls: number;
	cpu_s: number;
	self_cpu_s: number;
	callers: OperatorNeighbour[];
	callees: OperatorNeighbour[];
}

export interface Operators {
	n: number;
	operators: Row[];
}

export interface Kernels {
	kernels: Row[];
}

export interface Step {
	name: string;
	duration_s: number;
	parts_s: Parts;
}

/** A step that took longer, and what it had more of than the median one. */
export interface SlowStep {
	name: string;
	median: string;
	duration_s: number;
	more: { name: string; on_device: boolean; total_s: number; median_s: number; times: number; median_times: number }[];
}

export interface Steps {
	step_times: { n: number; median_s: number; p99_s: number; max_s: number; median_parts_s: Parts };
	steps: Step[];
	slow_steps?: SlowStep[];
}

/** A stream of a device; queue: how much was launched and not yet begun, over time. */
export type Stream = Row & { queue?: (number | null)[] };

export interface Streams {
	streams: Stream[];
	launches: {
		launches: number;
		short: number;
		slow?: number;
		late?: number;
		median_launch_s: number | null;
		p99_launch_s?: number | null;
		max_launch_s?: number | null;
		median_delay_s: number | null;
		p99_delay_s?: number | null;
		max_delay_s?: number | null;
		slowest?: Row[];
	};
}

export interface MemoryDevice {
	device: string;
	allocations: number;
	releases: number;
	failures: number;
	allocated_bytes: number;
	released_bytes: number;
	peak_bytes: number;
	peak_s: number;
	peak_operator: string | null;
	peak_step: string | null;
	at_peak_bytes_estimated?: Record<string, number>;
	curve_bytes: number[];
	reserved_bytes?: (number | null)[];
}

export interface Memory {
	duration_s: number;
	devices: MemoryDevice[];
	operators: Row[];
	largest: Row[];
}

/** What was allocated in the trace and held when it ended, by who allocated it; null: not known. */
export interface Unreleased {
	allocations: number;
	bytes: number;
	operators: Row[];
}

/** Begins of steps in seconds since the curves', and the end of the last one. */
export interface StepMarks {
	t: number[];
	name: string[];
	end: number | null;
}

export interface MemoryAnswer {
	memory: Memory;
	unreleased: Unreleased | null;
	marks: StepMarks;
}

export interface Compilation {
	total_s: number;
	span_s: number;
	again: number;
	backward: number;
	cached: number;
	calls: number;
	calls_after_breaks: number;
	stages_s: Record<string, number>;
	frames: Row[];
	compilations: Row[];
	graph_breaks: Row[];
}

/** One side of a comparison; in the comparison's unit. */
export interface OpsSide {
	calls: number;
	self_cpu: number;
	self_device: number;
}

export interface OpsDiff {
	normalize: "absolute" | "run" | "step";
	unit: "s" | "share";
	a: { file: string; steps: number; step_s: number | null; total: OpsSide };
	b: OpsDiff["a"];
	operators: { name: string; is_annotation: boolean; a: OpsSide; b: OpsSide }[];
}

export interface Rank {
	rank: number;
	file: string;
	steps: number;
	duration_s: number;
	computation_s: number;
	overlap_s: number;
	communication_s: number;
	other_s: number;
	collectives: number;
	transfer_s: number;
	waiting_s: number;
	times_last: number;
	others_waited_s: number;
}

export interface Distributed {
	world_size: number;
	backend: string;
	ranks: Rank[];
	straggler: number | null;
	collectives: Row[];
	notes: string[];
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
	/** When it begins in the recording's time; null: samples have another clock, or there are none. */
	begin_s?: number | null;
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
	occupancy_share?: number | null;
	blocks_per_sm?: number | null;
	grid?: number[];
	block?: number[];
	n_links: number;
	links: SpanLink[];
}
