// SPDX-License-Identifier: MIT
// A trace of PyTorch: panes as tabs of their own, each only where the trace can fill it. Which one, what is selected and
// in which order rows come stand in the address.
import { ComponentType } from "preact";
import { TorchOverview } from "../api/torch";
import { ranksOf } from "../model/landing";
import { Guard } from "../parts/guard";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { ComparedPane } from "./torch/compared";
import { CompilePane } from "./torch/compile";
import { KernelsPane, StreamsPane } from "./torch/device";
import { MemoryPane } from "./torch/memory";
import { ModulesPane } from "./torch/modules";
import { DistributedPane } from "./torch/distributed";
import { OperatorDrawer, OperatorsPane } from "./torch/operators";
import { TorchOverviewPane } from "./torch/overview";
import { StepsPane } from "./torch/steps";
import { SpansPane } from "./torch/timeline";

export interface PaneProps {
	data: TorchOverview;
	panes: Record<string, string>;
}

const PANES: { name: string; title: string; body: ComponentType<PaneProps> }[] = [
	{ name: "overview", title: "Overview", body: TorchOverviewPane },
	{ name: "operators", title: "Operators", body: OperatorsPane },
	{ name: "kernels", title: "Kernels", body: KernelsPane },
	{ name: "steps", title: "Steps", body: StepsPane },
	{ name: "streams", title: "Streams", body: StreamsPane },
	{ name: "modules", title: "Modules", body: ModulesPane },
	{ name: "memory", title: "Memory", body: MemoryPane },
	{ name: "compile", title: "Compilation", body: CompilePane },
	{ name: "distributed", title: "Distributed", body: DistributedPane },
	{ name: "diff", title: "Diff", body: ComparedPane },
	{ name: "timeline", title: "Timeline", body: SpansPane },
];

function Panes({ data }: { data: TorchOverview }) {
	const place = usePlace();
	const store = useStore();
	const { recordings } = useOverview();
	const isJob = ranksOf(recordings).length > 1 || (data.overview.processes ?? 0) > 1;
	const panes: Record<string, string> = {
		...data.panes,
		distributed: isJob ? "" : "Open the traces of several ranks: leadline view DIR",
		diff: recordings.length > 1 ? "" : "Open two traces to compare them: leadline view before.json after.json",
	};
	const chosen = PANES.find((pane) => pane.name === (place.pane || "overview"));
	const missing = chosen ? panes[chosen.name] : undefined;
	const Body = chosen?.body;
	return (
		<div class="torchview">
			<nav class="tabs subtabs" aria-label="panes of the trace">
				{PANES.filter((pane) => panes[pane.name] === "").map((pane) => (
					<a
						key={pane.name}
						href={`#/torch?pane=${pane.name}`}
						aria-current={chosen === pane ? "page" : undefined}
						onClick={(e) => {
							e.preventDefault();
							store.go({ pane: pane.name === "overview" ? "" : pane.name, by: "", event: undefined });
						}}
					>
						{pane.title}
					</a>
				))}
			</nav>
			{data.notes && <Notice title="Part of the trace could not be read" text={data.notes.trim().split("\n").join("; ")} />}
			<div class="pane">
				{!Body ? <Notice title="No such pane" text="Choose one above." /> : missing !== "" ? <Notice title={`${chosen.title}: not recorded`} text={missing} /> : <Guard name={chosen.name}><Body data={data} panes={panes} /></Guard>}
			</div>
			{place.event === undefined && <Guard name={place.op}><OperatorDrawer panes={panes} /></Guard>}
		</div>
	);
}

export function TorchView() {
	const place = usePlace();
	const answer = useAnswer<TorchOverview>("torch", { r: place.r, what: "overview", phase: place.phase });
	return <Wait answer={answer}>{(data) => <Panes data={data} />}</Wait>;
}
