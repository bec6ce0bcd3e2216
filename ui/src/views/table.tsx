// SPDX-License-Identifier: MIT
// Functions, lines, callers and callees as sortable tables that can be copied.
import { useState } from "preact/hooks";
import { FunctionCost, Kind, LineCost, Neighbour, Table, Unit } from "../api/types";
import { KIND_NAMES } from "../model/colour";
import { amount, count, percent, place as placeOf, plural, Scale, scaled, scaleFor } from "../model/format";
import { selectionOf } from "../model/place";
import { Cell, Copy, Grid } from "../parts/grid";
import { selectFunction, showSource } from "../parts/select";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useOverview, usePlace, useStore } from "../store";

const LIMIT = 200;

function costColumns(rows: (FunctionCost | LineCost)[], total: number, unit: Unit, hasInterval: boolean) {
	const scale: Scale = scaleFor(Math.max(...rows.map((row) => row.total), 0), unit);
	const titled = (title: string) => (scale.name ? `${title} (${scale.name})` : title);
	type Row = FunctionCost | LineCost;
	const columns: Cell<Row>[] = [
		{ title: titled("self"), isNumber: true, sort: "self", text: (r) => scaled(r.self, scale), plain: (r) => String(r.self) },
		{ title: "self %", isNumber: true, sort: "self", text: (r) => percent(r.self / total), plain: (r) => String(r.self / total) },
	];
	if (hasInterval)
		columns.push({
			title: "±",
			isNumber: true,
			sort: "",
			className: "soft",
			text: (r) => (r.self_low == null || r.self_high == null ? "–" : scaled((r.self_high - r.self_low) / 2, scale)),
		});
	columns.push(
		{ title: titled("total"), isNumber: true, sort: "total", text: (r) => scaled(r.total, scale), plain: (r) => String(r.total) },
		{ title: "total %", isNumber: true, sort: "total", text: (r) => percent(r.total / total), plain: (r) => String(r.total / total) },
	);
	return columns;
}

function functionColumns(table: Table<FunctionCost>, hasCalls: boolean, isExact: boolean): Cell<FunctionCost>[] {
	const columns = costColumns(table.rows, table.total, table.unit, !isExact) as Cell<FunctionCost>[];
	if (hasCalls) columns.push({ title: "calls", isNumber: true, sort: "calls", text: (r) => count(r.calls), plain: (r) => String(r.calls ?? "") });
	columns.push(
		{ title: "function", isNumber: false, sort: "name", text: (r) => r.name, className: "code" },
		{ title: "place", isNumber: false, sort: "file", text: (r) => placeOf(r.file, r.line), plain: (r) => (r.file ? `${r.file}:${r.line}` : ""), className: "soft" },
		{ title: "whose", isNumber: false, sort: "", text: (r) => KIND_NAMES[r.kind as Kind] ?? "", className: "soft" },
	);
	return columns;
}

function lineColumns(table: Table<LineCost>, isExact: boolean): Cell<LineCost>[] {
	const columns = costColumns(table.rows, table.total, table.unit, !isExact) as Cell<LineCost>[];
	if (table.rows.some((row) => row.hits !== null))
		columns.push({ title: "hits", isNumber: true, sort: "hits", plain: (r) => String(r.hits ?? ""), text: (r) => count(r.hits) });
	columns.push(
		{ title: "line", isNumber: false, sort: "file", text: (r) => placeOf(r.file, r.line), plain: (r) => `${r.file}:${r.line}`, className: "code" },
		{ title: "function", isNumber: false, sort: "name", text: (r) => r.function, className: "soft" },
	);
	return columns;
}

function neighbourColumns(table: Table<Neighbour>, isExact: boolean): Cell<Neighbour>[] {
	const scale = scaleFor(Math.max(...table.rows.map((row) => row.value), 0), table.unit);
	return [
		{ title: scale.name ? `time (${scale.name})` : "value", isNumber: true, sort: "", text: (r) => scaled(r.value, scale), plain: (r) => String(r.value) },
		{ title: "share", isNumber: true, sort: "", text: (r) => percent(r.total_share), plain: (r) => String(r.total_share) },
		{ title: isExact ? "calls" : "samples", isNumber: true, sort: "", text: (r) => count(r.calls ?? r.samples), plain: (r) => String(r.calls ?? r.samples ?? "") },
		{ title: "function", isNumber: false, sort: "", text: (r) => r.name ?? (table.what === "callers" ? "(nobody: it began there)" : "(its own code)"), className: "code" },
		{ title: "place", isNumber: false, sort: "", text: (r) => placeOf(r.file, r.line), className: "soft" },
	];
}

const WHATS = ["functions", "lines", "callers", "callees"];

export function TableView() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const [limit, setLimit] = useState(LIMIT);
	const isNeighbours = place.what === "callers" || place.what === "callees";
	const needs = isNeighbours && place.f === undefined;
	const answer = useAnswer<Table<never>>(needs ? null : "table", {
		...selectionOf(place),
		what: place.what,
		sort: isNeighbours || (place.what === "functions" && place.sort === "hits") || (place.what === "lines" && place.sort === "calls") ? undefined : place.sort,
		limit,
		function: isNeighbours ? place.f : undefined,
	});
	const name = place.f === undefined ? "" : (store.nameOf(place.f)?.[1] ?? "");
	return (
		<div class="tableview">
			<div class="bar-of-tools" role="group" aria-label="which table">
				{WHATS.map((what) => (
					<button type="button" key={what} aria-pressed={place.what === what} onClick={() => store.go({ what })}>
						{what}
					</button>
				))}
				<label class="grow">
					<span class="hidden">rows whose name or place matches</span>
					<input
						type="search"
						placeholder="filter: a regular expression"
						value={place.filter}
						onChange={(e) => store.go({ filter: e.currentTarget.value })}
					/>
				</label>
			</div>
			{isNeighbours && name && (
				<h2>
					{place.what === "callers" ? "Who calls" : "What is called by"} <span class="code">{name}</span>
				</h2>
			)}
			{needs ? (
				<Notice title={`Whose ${place.what}?`} text="Select a function in any view first." />
			) : (
				<Wait answer={answer}>{(table) => <OneTable table={table} isExact={overview.is_exact} hasCalls={overview.has_calls} limit={limit} more={() => setLimit(limit * 5)} />}</Wait>
			)}
		</div>
	);
}

function OneTable(props: { table: Table<never>; isExact: boolean; hasCalls: boolean; limit: number; more: () => void }) {
	const { table, isExact } = props;
	const place = usePlace();
	const store = useStore();
	type Any = FunctionCost & LineCost & Neighbour;
	const rows = table.rows as Any[];
	const columns = (table.what === "functions"
		? functionColumns(table, props.hasCalls, isExact)
		: table.what === "lines"
			? lineColumns(table, isExact)
			: neighbourColumns(table, isExact)) as unknown as Cell<Any>[];
	if (!rows.length) return <Notice title="No row matches" text="Take a chip away, or change the filter." />;
	return (
		<>
			<Grid
				columns={columns}
				rows={rows}
				caption={`${table.what}, ${plural(table.n, "row")}`}
				sort={place.sort}
				onSort={(sort) => store.go({ sort })}
				keyOf={(row) => `${row.function_id}:${row.line}:${row.function ?? ""}`}
				isSelected={(row) => row.function_id === place.f && (table.what !== "lines" || row.line === place.line)}
				onSelect={(row) => row.function_id !== null && (table.what === "lines" ? store.go({ f: row.function_id, file: row.file, line: row.line }, true) : selectFunction(store, row.function_id))}
				onOpen={(row) => row.function_id !== null && showSource(store, row.function_id, row.file ?? "", row.line ?? undefined)}
			/>
			<p class="foot">
				<span>
					{plural(table.n, "row")}
					{rows.length < table.n ? `, the first ${count(rows.length)} shown` : ""}; shares are of {amount(table.total, table.unit)}
					{table.note ? `; ${table.note}` : ""}
				</span>{" "}
				{rows.length < table.n && (
					<button type="button" onClick={props.more}>
						show more
					</button>
				)}
				<Copy columns={columns} rows={rows} />
			</p>
		</>
	);
}
