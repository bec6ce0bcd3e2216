// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { TorchOverview } from "../api/torch";
import { START } from "./place";
import { torchDepth, torchMarks } from "./torch_line";

const data = {
	panes: { operators: "", modules: "profile with with_stack=True", shapes: "", kernels: "", streams: "" },
	overview: { device: "H200", steps: 3, total_s: 2, busy_s: 0.5 },
} as unknown as TorchOverview;
const row = { name: "aten::mm", self_cpu_share: 0.25, calls: 6, module: "" };

test("marks lead from the trace to the device; what is not recorded says why", () => {
	const marks = torchMarks({ ...START, op: "aten::mm" }, { name: "x", data, row, shapes: [row, row], kernels: [{ name: "gemm", total_s: 1 }], kernelS: 4 });
	expect(marks.map((mark) => mark.level)).toEqual(["trace", "step", "module", "operator", "shapes", "kernel", "GPU"]);
	expect(marks[2].why).toContain("with_stack");
	expect([marks[3].share, marks[3].count, marks[4].count, marks[5].share, marks[5].chosen, marks[6].share]).toEqual([0.25, "6\u00a0calls", "2\u00a0shapes", 0.25, "gemm", 0.25]);
});

test("without an operator one is asked for, and a step has its share", () => {
	const marks = torchMarks({ ...START, step: "ProfilerStep#3" }, { name: "x", data, shapes: [], kernels: [], kernelS: 0, stepS: 0.5 });
	expect([marks[1].chosen, marks[1].share, marks[3].hint, marks[5].share]).toEqual(["ProfilerStep#3", 0.25, "select an operator", null]);
});

test("the pane says how deep one is", () => {
	const depth = (pane: string, more = {}) => torchDepth({ ...START, pane, ...more });
	expect([depth(""), depth("steps"), depth("operators"), depth("operators", { shapes: true }), depth("kernels"), depth("memory"), depth("timeline", { op: "x" })]).toEqual([0, 1, 3, 4, 5, 0, 3]);
});
