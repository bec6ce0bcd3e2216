// SPDX-License-Identifier: MIT
// The views, in the order of the tabs. A new one is a row here and a file beside.
import { ComponentType } from "preact";
import { Overview } from "../api/types";
import { isUntimed, NO_TIMES } from "../model/counts";
import { BenchView } from "./bench";
import { DiffView } from "./diff";
import { FlameView } from "./flame";
import { GraphView } from "./graph";
import { OverviewView } from "./overview";
import { SourceView } from "./source";
import { TableView } from "./table";
import { TimelineView } from "./timeline";
import { TorchView } from "./torch";

export interface View {
	name: string;
	title: string;
	/** "" it can be filled; else why not. */
	missing: (overview: Overview) => string;
	body: ComponentType;
}

const needs = (key: string) => (overview: Overview) => overview.views[key] ?? "";
/** Boxes and edges are as wide as their times. */
const needsTimes = (key: string) => (overview: Overview) => overview.views[key] || (isUntimed(overview) ? NO_TIMES : "");

export const VIEWS: View[] = [
	{ name: "overview", title: "Overview", missing: (overview) => (overview.recordings.length ? (overview.views.overview ?? "") : "No recording is open"), body: OverviewView },
	{ name: "flame", title: "Flame", missing: needsTimes("flame"), body: FlameView },
	{ name: "source", title: "Source", missing: needs("source"), body: SourceView },
	{ name: "timeline", title: "Timeline", missing: needs("timeline"), body: TimelineView },
	{ name: "graph", title: "Graph", missing: needsTimes("graph"), body: GraphView },
	{ name: "table", title: "Table", missing: needs("table"), body: TableView },
	{ name: "torch", title: "Torch", missing: (overview) => overview.views.torch ?? "No PyTorch trace is open", body: TorchView },
	{
		name: "diff",
		title: "Diff",
		missing: (overview) => (overview.recordings.length > 1 ? "" : "Open two recordings to compare them: leadline view before.lead after.lead"),
		body: DiffView,
	},
	{ name: "bench", title: "Benchmarks", missing: (overview) => overview.views.bench ?? "No benchmark results are open: leadline view results.json", body: BenchView },
];
