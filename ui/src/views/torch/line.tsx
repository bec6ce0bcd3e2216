// SPDX-License-Identifier: MIT
// The lead line beside the panes of a trace.
import { Kernels, Operators, Steps, TorchOverview } from "../../api/torch";
import { torchDepth, torchMarks } from "../../model/torch_line";
import { Line } from "../../parts/leadline";
import { useAnswer, useOverview, usePlace } from "../../store";

export function TorchLine() {
	const place = usePlace();
	const overview = useOverview();
	const { data } = useAnswer<TorchOverview>("torch", { r: place.r, what: "overview", phase: place.phase });
	const panes = data?.panes ?? {};
	const ask = (name: string, isNeeded: boolean) => (isNeeded && panes[name] === "" ? "torch" : null);
	const operators = useAnswer<Operators>(ask("operators", !!place.op), { r: place.r, what: "operators", phase: place.phase });
	const shapes = useAnswer<Operators>(ask("shapes", !!place.op), { r: place.r, what: "shapes", phase: place.phase });
	const kernels = useAnswer<Kernels>(ask("kernels", !!place.op), { r: place.r, what: "kernels", phase: place.phase });
	const steps = useAnswer<Steps>(ask("steps", place.step !== "0"), { r: place.r, what: "steps", phase: place.phase });
	if (!data) return null;
	const all = kernels.data?.kernels ?? [];
	const marks = torchMarks(place, {
		name: overview.name,
		data,
		row: place.op ? operators.data?.operators.find((row) => row.name === place.op) : undefined,
		shapes: (shapes.data?.operators ?? []).filter((row) => row.name === place.op),
		kernels: place.op ? all.filter((row) => row.operator === place.op) : [],
		kernelS: all.reduce((sum, row) => sum + Number(row.total_s ?? 0), 0),
		stepS: steps.data?.steps.find((step) => step.name === place.step)?.duration_s,
	});
	return <Line marks={marks} depth={torchDepth(place)} />;
}
