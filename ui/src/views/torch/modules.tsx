// SPDX-License-Identifier: MIT
// The modules of the model as a tree, with what autograd did for each of them.
import { Row } from "../../api/torch";
import { Field } from "../../model/torch";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const FIELDS: Field[] = [
	{ key: "name", title: "module", kind: "text" },
	{ key: "path", title: "path", kind: "text", hint: "as an attribute of the model" },
	{ key: "share", title: "%", kind: "share", hint: "forward and backward, as a share of the trace" },
	{ key: "total_s", title: "forward", kind: "s", hint: "on the host, including the modules it called" },
	{ key: "self_s", title: "self", kind: "s", hint: "forward, without the modules it called" },
	{ key: "backward_s", title: "backward", kind: "s", hint: "time autograd spent on its operators, on the host" },
	{ key: "device_s", title: "GPU", kind: "s", hint: "kernels, copies and fills, forward and backward" },
	{ key: "self_device_s", title: "self GPU", kind: "s" },
	{ key: "self_device_backward_s", title: "of it backward", kind: "s" },
	{ key: "calls", title: "calls", kind: "count" },
	{ key: "bytes", title: "memory", kind: "bytes", hint: "allocated minus released in the forward pass, including the modules it called" },
	{ key: "operators", title: "operators", kind: "count", hint: "called by the module itself, not by modules inside it" },
	{ key: "launches", title: "launches", kind: "count" },
];

export function ModulesPane() {
	const place = usePlace();
	const store = useStore();
	const answer = useAnswer<{ modules: Row[] }>("torch", { r: place.r, what: "modules", phase: place.phase });
	return (
		<div class="tableview">
			<Wait answer={answer}>
				{({ modules }) => (
					<TorchTable
						fields={FIELDS} rows={modules.map((row, i): Row => ({ ...row, i }))} caption="modules" order="" depthKey="depth" keyOf={(row) => String(row.i)}
						isSelected={(row) => row.name === place.module} onSelect={(row) => store.go({ module: String(row.name) }, true)} onOpen={(row) => store.go({ pane: "operators", q: String(row.name) })}
					/>
				)}
			</Wait>
			<p class="foot soft">Modules are listed below the module that called them. Double-click a row, or press Enter, to see its operators.</p>
		</div>
	);
}
