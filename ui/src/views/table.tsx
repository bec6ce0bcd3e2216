// SPDX-License-Identifier: MIT
// Functions, lines, callers and callees as sortable tables that can be copied.
import { useState } from "preact/hooks";
import { FunctionCost, Kind, LineCost, Neighbour, Table, Unit } from "../api/types";
import { KIND_NAMES } from "../model/colour";
import { amount, count, percent, place as placeOf, plural, Scale, scaled, scaleFor } from "../model/format";
import { isUntimed, sumOf, withTime } from "../model/counts";
import { INTERVAL, spreadCell } from "../model/interval";
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
	const columns: Cell<Row>[] = [];
	for (const of of ["self", "total"] as const) {
		// What is known by its bounds only stands as it was stamped, and they beside it.
		const isBound = (r: Row) => r[`${of}_is_bound`] === true && r[`raw_${of}`] != null;
		const interval = (r: Row) => {
			const low = r[`${of}_low`];
			const high = r[`${of}_high`];
			return isBound(r) && low != null && high != null ? `${scaled(low, scale)}–${scaled(high, scale)}` : spreadCell(r[of], low, high, scale);
		};
		columns.push(
			{ title: titled(of), isNumber: true, sort: of, text: (r) => scaled((isBound(r) ? r[`raw_${of}`] : r[of]) ?? 0, scale), plain: (r) => String(r[of]) },
			{ title: `${of} %`, isNumber: true, sort: of, text: (r) => percent(r[of] / total), plain: (r) => String(r[of] / total) },
		);
		if (hasInterval && (of === "self" || rows.some((r) => r.raw_total != null))) columns.push({ title: of === "self" ? "interval" : "total's interval", hint: INTERVAL, isNumber: true, sort: "", className: "soft", text: interval });
	}
	return columns;
}

function functionColumns(table: Table<FunctionCost>, hasCalls: boolean, isExact: boolean, hasTimes: boolean): Cell<FunctionCost>[] {
	const columns = hasTimes ? (costColumns(table.rows, table.total, table.unit, !isExact || table.rows.some((r) => r.self_low != null)) as Cell<FunctionCost>[]) : [];
	if (hasCalls) columns.push({ title: "calls", isNumber: true, sort: "calls", text: (r) => count(r.calls), plain: (r) => String(r.calls ?? "") });
	if (!hasTimes) {
		const all = sumOf(table.rows, (r) => r.calls);
		columns.push({ title: "%", hint: "of all calls", isNumber: true, sort: "", text: (r) => percent(all > 0 ? (r.calls ?? 0) / all : 0) });
		if (table.rows.some((r) => r.primitive_calls !== r.calls)) columns.push({ title: "not recursive", isNumber: true, sort: "pcalls", text: (r) => count(r.primitive_calls), plain: (r) => String(r.primitive_calls ?? "") });
	}
	columns.push(
		{ title: "function", isNumber: false, sort: "name", text: (r) => r.name, className: "code" },
		{ title: "place", isNumber: false, sort: "file", text: (r) => placeOf(r.file, r.line), plain: (r) => (r.file ? `${r.file}:${r.line}` : ""), className: "soft" },
		{ title: "kind", isNumber: false, sort: "", text: (r) => KIND_NAMES[r.kind as Kind] ?? "", className: "soft" },
	);
	return columns;
}

function lineColumns(table: Table<LineCost>, isExact: boolean, hasTimes: boolean): Cell<LineCost>[] {
	const columns = hasTimes ? (costColumns(table.rows, table.total, table.unit, !isExact) as Cell<LineCost>[]) : [];
	if (table.rows.some((row) => row.hits !== null))
		columns.push({ title: "hits", isNumber: true, sort: "hits", plain: (r) => String(r.hits ?? ""), text: (r) => count(r.hits) });
	columns.push(
		{ title: "line", isNumber: false, sort: "file", text: (r) => placeOf(r.file, r.line), plain: (r) => `${r.file}:${r.line}`, className: "code" },
		{ title: "function", isNumber: false, sort: "name", text: (r) => r.function, className: "soft" },
	);
	return columns;
}

function neighbourColumns(table: Table<Neighbour>, isExact: boolean, hasTimes: boolean): Cell<Neighbour>[] {
	const scale = scaleFor(Math.max(...table.rows.map((row) => row.value), 0), table.unit);
	const times: Cell<Neighbour>[] = [
		{ title: scale.name ? `time (${scale.name})` : "value", isNumber: true, sort: "", text: (r) => scaled(r.value, scale), plain: (r) => String(r.value) },
		{ title: "share", isNumber: true, sort: "", text: (r) => percent(r.total_share), plain: (r) => String(r.total_share) },
	];
	return [
		...(hasTimes ? times : []),
		{ title: isExact ? "calls" : "samples", isNumber: true, sort: "", text: (r) => count(r.calls ?? r.samples), plain: (r) => String(r.calls ?? r.samples ?? "") },
		{ title: "function", isNumber: false, sort: "", text: (r) => r.name ?? (table.what === "callers" ? "(nothing: the stack starts here)" : "(its own code)"), className: "code" },
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
	const hasTimes = !isUntimed(overview);
	const sort = hasTimes || !["self", "total"].includes(place.sort) ? place.sort : place.what === "lines" ? "hits" : "calls";
	const answer = useAnswer<Table<never>>(needs ? null : "table", {
		...selectionOf(place),
		what: place.what,
		sort: isNeighbours || (place.what === "functions" && sort === "hits") || (place.what === "lines" && (sort === "calls" || sort === "pcalls")) ? undefined : sort,
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
					<span class="hidden">show rows whose name or place matches</span>
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
					{place.what === "callers" ? "Callers of" : "Callees of"} <span class="code">{name}</span>
				</h2>
			)}
			{needs ? (
				<Notice title={`Select a function`} text={`Select one in any view to see its ${place.what} here.`} />
			) : (
				<Wait answer={answer}>{(table) => <OneTable table={table} isExact={overview.is_exact} hasCalls={overview.has_calls} hasTimes={hasTimes} sort={sort} limit={limit} more={() => setLimit(limit * 5)} />}</Wait>
			)}
		</div>
	);
}

function OneTable(props: { table: Table<never>; isExact: boolean; hasCalls: boolean; hasTimes: boolean; sort: string; limit: number; more: () => void }) {
	const { table, isExact, hasTimes } = props;
	const [isAll, showAll] = useState(false);
	const place = usePlace();
	const store = useStore();
	type Any = FunctionCost & LineCost & Neighbour;
	const all = table.rows as Any[];
	// A trace has many functions whose time is too short for its clock.
	const rows = isExact && hasTimes && !isAll && (table.what === "functions" || table.what === "lines") ? withTime(all) : all;
	const columns = (table.what === "functions"
		? functionColumns(table, props.hasCalls, isExact, hasTimes)
		: table.what === "lines"
			? lineColumns(table, isExact, hasTimes)
			: neighbourColumns(table, isExact, hasTimes)) as unknown as Cell<Any>[];
	if (!rows.length) return <Notice title="No row matches" text="Remove a chip above, or change the filter." />;
	return (
		<>
			<Grid
				columns={columns}
				rows={rows}
				caption={`${table.what}, ${plural(table.n, "row")}`}
				sort={props.sort}
				onSort={(sort) => store.go({ sort })}
				keyOf={(row) => `${row.function_id}:${row.line}:${row.function ?? ""}`}
				isSelected={(row) => row.function_id === place.f && (table.what !== "lines" || row.line === place.line)}
				onSelect={(row) => row.function_id !== null && (table.what === "lines" ? store.go({ f: row.function_id, file: row.file, line: row.line }, true) : selectFunction(store, row.function_id))}
				onOpen={(row) => row.function_id !== null && showSource(store, row.function_id, row.file ?? "", row.line ?? undefined)}
			/>
			<p class="foot">
				<span>
					{plural(table.n, "row")}
					{all.length < table.n ? `, the first ${count(all.length)} shown` : ""}{hasTimes ? `; shares are of ${amount(table.total, table.unit)}` : ""}
					{table.note ? `; ${table.note}` : ""}
				</span>{" "}
				{rows.length < all.length && (
					<button type="button" onClick={() => showAll(true)}>
						show {plural(all.length - rows.length, "row")} without measurable time
					</button>
				)}
				{all.length < table.n && (
					<button type="button" onClick={props.more}>
						show more
					</button>
				)}
				<Copy columns={columns} rows={rows} />
			</p>
		</>
	);
}
