// SPDX-License-Identifier: MIT
// The views, in the order of the tabs. A new one is a row here and a file beside.
import { ComponentType } from "preact";
import { Overview } from "../api/types";
import { FlameView } from "./flame";
import { OverviewView } from "./overview";
import { TableView } from "./table";

export interface View {
	name: string;
	title: string;
	/** "" it can be filled; else why not. */
	missing: (overview: Overview) => string;
	body: ComponentType;
}

const needs = (key: string) => (overview: Overview) => overview.views[key] ?? "";

export const VIEWS: View[] = [
	{ name: "overview", title: "Overview", missing: () => "", body: OverviewView },
	{ name: "flame", title: "Flame", missing: needs("flame"), body: FlameView },
	{ name: "table", title: "Table", missing: needs("table"), body: TableView },
];
