// SPDX-License-Identifier: MIT
// The lead line of a trace of PyTorch: from the trace through step, module and operator down to kernels and the device. Pure.
import { Row, TorchOverview } from "../api/torch";
import { plural } from "./format";
import { Mark } from "./mark";
import { Place } from "./place";

export interface TorchFound {
	name: string;
	data: TorchOverview;
	/** Of the operator that is selected. */
	row?: Row;
	shapes: Row[];
	kernels: Row[];
	/** Seconds of all kernels, copies and fills. */
	kernelS: number;
	/** Of the step that is selected. */
	stepS?: number;
}

const BLANK = { chosen: "", share: null, count: "", why: "", hint: "" };
const numberOf = (row: Row | undefined, key: string) => (typeof row?.[key] === "number" ? (row[key] as number) : null);

export function torchMarks(place: Place, found: TorchFound): Mark[] {
	const { data, row, shapes, kernels } = found;
	const { overview, panes } = data;
	const calls = numberOf(row, "calls");
	const ran = kernels.reduce((sum, one) => sum + (numberOf(one, "total_s") ?? 0), 0);
	const hint = row ? "" : "select an operator";
	const isStep = found.stepS !== undefined;
	return [
		{ ...BLANK, level: "trace", chosen: found.name, share: 1, count: plural(overview.steps, "step"), go: { pane: "" } },
		{ ...BLANK, level: "step", chosen: isStep ? place.step : "all", share: isStep && overview.total_s > 0 ? (found.stepS ?? 0) / overview.total_s : 1, go: { pane: "steps" } },
		{ ...BLANK, level: "module", chosen: String(row?.module || place.module), why: panes.modules ?? "", hint: row?.module || place.module ? "" : "select one", go: { pane: "modules" } },
		{ ...BLANK, level: "operator", chosen: row ? place.op : "", share: numberOf(row, "self_cpu_share"), count: calls === null ? "" : plural(calls, "call"), hint, go: { pane: "operators", shapes: false } },
		{ ...BLANK, level: "shapes", count: row ? plural(shapes.length, "shape") : "", why: panes.shapes ?? "", hint, go: { pane: "operators", shapes: true } },
		{
			...BLANK, level: "kernel", chosen: String(kernels[0]?.name ?? ""), share: row && found.kernelS > 0 ? ran / found.kernelS : null,
			count: row ? plural(kernels.length, "kernel") : "", why: panes.kernels ?? "", hint, go: { pane: "kernels" },
		},
		{ ...BLANK, level: "GPU", chosen: overview.device ?? "", share: overview.busy_s !== null && overview.total_s > 0 ? overview.busy_s / overview.total_s : null, count: overview.busy_s !== null ? "busy" : "", why: panes.streams ?? "", go: { pane: "streams" } },
	];
}

/** The level the pane is at. */
export function torchDepth(place: Place): number {
	const depths: Record<string, number> = { steps: 1, modules: 2, operators: place.shapes ? 4 : 3, kernels: 5, streams: 6 };
	return depths[place.pane] ?? (place.pane === "timeline" && place.op ? 3 : 0);
}
