// SPDX-License-Identifier: MIT
// A table that can be sorted, walked with keys and copied.
import { useEffect, useState } from "preact/hooks";
import { Column, csv, markdown } from "../model/copy";
import { plural } from "../model/format";

/** A column: how a row's cell reads, and the key the server sorts by ("" none). */
export interface Cell<Row> extends Column {
	sort: string;
	text: (row: Row) => string;
	/** For copies: exact, without spaces. */
	plain?: (row: Row) => string;
	className?: string;
	/** What the column means. */
	hint?: string;
}

interface GridProps<Row> {
	columns: Cell<Row>[];
	rows: Row[];
	caption: string;
	sort: string;
	onSort: (sort: string) => void;
	isSelected: (row: Row) => boolean;
	onSelect: (row: Row) => void;
	onOpen: (row: Row) => void;
	keyOf: (row: Row) => string;
	classOf?: (row: Row) => string;
}

const NARROW = "(max-width: 560px)";

/** Names first where there is no room for all: the rest can be scrolled to. */
function useOrder<Row>(columns: Cell<Row>[]): Cell<Row>[] {
	const [isNarrow, set] = useState(() => matchMedia(NARROW).matches);
	useEffect(() => {
		const media = matchMedia(NARROW);
		const update = () => set(media.matches);
		media.addEventListener("change", update);
		return () => media.removeEventListener("change", update);
	}, []);
	const rank = (column: Cell<Row>) => (column.className === "code" ? 0 : column.isNumber ? 1 : 2);
	return isNarrow ? [...columns].sort((a, b) => rank(a) - rank(b)) : columns;
}

export function Grid<Row>(props: GridProps<Row>) {
	const columns = useOrder(props.columns);
	const step = (event: KeyboardEvent) => {
		const row = (event.currentTarget as HTMLElement).closest("tr");
		const next = event.key === "ArrowDown" ? row?.nextElementSibling : event.key === "ArrowUp" ? row?.previousElementSibling : null;
		if (!next) return;
		event.preventDefault();
		next.querySelector("button")?.focus();
	};
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label={props.caption}>
			<table class="grid">
				<caption class="hidden">{props.caption}</caption>
				<thead>
					<tr>
						{columns.map((column, i) => (
							<th
								key={i}
								scope="col"
								title={column.hint}
								class={column.isNumber ? "num" : ""}
								aria-sort={column.sort && column.sort === props.sort ? (column.isNumber ? "descending" : "ascending") : undefined}
							>
								{column.sort ? (
									<button type="button" class="plain" onClick={() => props.onSort(column.sort)}>
										{column.title}
										{column.sort === props.sort ? (column.isNumber ? " ▾" : " ▴") : ""}
									</button>
								) : (
									column.title
								)}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{props.rows.map((row) => (
						<tr key={props.keyOf(row)} class={props.classOf?.(row)} aria-current={props.isSelected(row) ? "true" : undefined} onClick={() => props.onSelect(row)} onDblClick={() => props.onOpen(row)}>
							{columns.map((column, i) => (
								<td key={i} class={`${column.isNumber ? "num" : ""} ${column.className ?? ""}`} data-value={column.plain?.(row)} title={column.isNumber ? undefined : (column.plain ?? column.text)(row) || undefined}>
									{column.className === "code" ? (
										<button
											type="button"
											class="plain"
											onKeyDown={(e) => (e.key === "Enter" ? (e.preventDefault(), props.onOpen(row)) : step(e))}
											onFocus={() => props.onSelect(row)}
										>
											{column.text(row)}
										</button>
									) : (
										column.text(row)
									)}
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

/** Copies a table; says that it did. */
export function Copy<Row>({ columns, rows }: { columns: Cell<Row>[]; rows: Row[] }) {
	const [said, say] = useState("");
	const cells = () => rows.map((row) => columns.map((c) => (c.plain ?? c.text)(row)));
	const put = async (text: string, what: string) => {
		try {
			await navigator.clipboard.writeText(text);
			say(`${plural(rows.length, "row")} copied as ${what}`);
		} catch {
			say("The browser did not allow copying.");
		}
	};
	return (
		<span class="copy">
			<button type="button" onClick={() => put(markdown(columns, rows.map((r) => columns.map((c) => c.text(r)))), "Markdown")}>
				copy Markdown
			</button>
			<button type="button" onClick={() => put(csv(columns, cells()), "CSV")}>
				copy CSV
			</button>
			<span role="status" class="soft">
				{said}
			</span>
		</span>
	);
}
