// SPDX-License-Identifier: MIT
// What the panes of a trace share: a table by its fields, the stacked bar of what moments went to, its colours.
import { useState } from "preact/hooks";
import { Part, Parts, PARTS, Row } from "../../api/torch";
import { amount, count, counted, digits, percent, plural, scaled, scaleFor } from "../../model/format";
import { Field, fieldsOf, lengthOf, matching, shortOperator, sortedBy, sourceInWords } from "../../model/torch";
import { Cell, Copy, Grid } from "../../parts/grid";
import { Notice } from "../../parts/states";
import { usePlace, useStore } from "../../store";

/** Rows drawn at first: more only when asked for. */
const ROWS = 300;

export const PART_NAMES: Record<Part, string> = {
	kernel: "kernel", memcpy: "memcpy", memset: "memset", communication: "communication", runtime: "runtime", dataloader: "DataLoader", compile: "compile", cpu: "CPU", other: "other",
};
const PART_HINTS: Record<Part, string> = {
	kernel: "a kernel ran on the device", memcpy: "else: a copy ran there", memset: "else: a fill ran there", communication: "else: processes exchanged data",
	runtime: "else: the host was calling the device's runtime", dataloader: "else: the program waited for data", compile: "else: torch.compile was at work", cpu: "else: an operator ran on the CPU", other: "none of these: mostly Python",
};

function cellText(field: Field, value: Row[string], scale: ReturnType<typeof scaleFor>): string {
	if (field.isChange) return value === 0 ? "·" : (Number(value) < 0 ? "−" : "+") + cellText({ ...field, isChange: false }, Math.abs(Number(value)), scale);
	if (field.kind === "yes") return value ? "yes" : "";
	if (value === undefined || value === null) return field.kind === "text" ? "" : "–";
	if (field.kind === "text") return field.key === "name" || field.key === "operator" ? shortOperator(String(value)) : String(value);
	if (field.kind === "share") return percent(Number(value));
	if (field.kind === "count") return count(Number(value));
	if (field.kind === "flops") return Number(value) > 0 ? counted(Number(value), "") : "–";
	if (field.kind === "ratio") return digits(Number(value));
	return scaled(Number(value), scale);
}

export function cellsOf(fields: Field[], rows: Row[], buttonKey: string, depthKey?: string): Cell<Row>[] {
	return fields.map((field) => {
		const isNumber = field.kind !== "text" && field.kind !== "source" && field.kind !== "yes";
		const alike = fields.filter((one) => one === field || (field.group && one.group === field.group));
		const largest = rows.reduce((most, row) => Math.max(most, ...alike.map((one) => Math.abs(Number(row[one.key] ?? 0)) || 0)), 0);
		const scale = scaleFor(largest, field.kind === "bytes" ? "bytes" : "s");
		const hasUnit = field.kind === "s" || field.kind === "bytes";
		return {
			title: hasUnit ? `${field.title} (${scale.name})` : field.title,
			isNumber,
			sort: field.key,
			hint: field.hint,
			text: (row) => (depthKey && field.key === buttonKey ? "\u2003\u2003".repeat(Number(row[depthKey] ?? 0)) : "") + (field.kind === "source" ? sourceInWords(row) : cellText(field, row[field.key], scale)),
			plain: (row) => String(row[field.key] ?? ""),
			className: field.key === buttonKey ? "code" : isNumber ? undefined : "soft",
		};
	});
}

interface TableProps {
	fields: Field[];
	rows: Row[];
	caption: string;
	/** The key it is in the order of when it comes. */
	order: string;
	buttonKey?: string;
	keyOf: (row: Row) => string;
	isSelected: (row: Row) => boolean;
	onSelect: (row: Row) => void;
	onOpen?: (row: Row) => void;
	classOf?: (row: Row) => string;
	/** Rows in all, where not all were sent. */
	n?: number;
	/** How deep a row lies in the tree, in the order it comes in. */
	depthKey?: string;
}

/** Sorted by a click on a column, narrowed by the search, copied as shown. */
export function TorchTable(props: TableProps) {
	const store = useStore();
	const place = usePlace();
	const [isAll, showAll] = useState(false);
	const { rows, buttonKey = "name" } = props;
	const fields = fieldsOf(props.fields, rows);
	const sort = fields.some((field) => field.key === place.by) ? place.by : props.order;
	const found = sortedBy(matching(rows, place.q), sort === props.order ? "" : sort);
	const shown = isAll ? found : found.slice(0, ROWS);
	const isTree = sort === props.order && !place.q.trim();
	const columns = cellsOf(fields, rows, buttonKey, isTree ? props.depthKey : undefined);
	const n = props.n ?? rows.length;
	if (!found.length) return <Notice title="No row matches" text={`No row contains "${place.q}". Change the search.`} />;
	return (
		<>
			<Grid
				columns={columns} rows={shown} caption={`${props.caption}, ${plural(found.length, "row")}`} sort={sort} onSort={(by) => store.go({ by: by === props.order ? "" : by })}
				keyOf={props.keyOf} isSelected={props.isSelected} onSelect={props.onSelect} onOpen={props.onOpen ?? props.onSelect} classOf={props.classOf}
			/>
			<p class="foot">
				<span>
					{place.q.trim() ? `${count(found.length)} of ${plural(n, "row")}` : plural(n, "row")}
					{shown.length < found.length ? `, the first ${count(shown.length)} shown` : rows.length < n ? `, the first ${count(rows.length)} are here` : ""}
				</span>
				{shown.length < found.length && <button type="button" onClick={() => showAll(true)}>show all</button>}
				<Copy columns={columns} rows={found} />
			</p>
		</>
	);
}

/** What the moments went to, as one bar and in words. */
export function PartBar({ parts, label }: { parts: Parts; label: string }) {
	const total = lengthOf(parts);
	if (!(total > 0)) return null;
	const shown = PARTS.filter((part) => parts[part] > 0);
	return (
		<figure class="states" aria-label={label}>
			<div class="stack" aria-hidden="true">
				{shown.map((part) => (
					<span key={part} class={`part ${part}`} style={{ width: `${((parts[part] / total) * 100).toFixed(2)}%` }}>{parts[part] / total > 0.07 ? percent(parts[part] / total) : ""}</span>
				))}
			</div>
			<figcaption>
				<ul class="legend">
					{shown.map((part) => (
						<li key={part} title={PART_HINTS[part]}>
							<span class={`key part ${part}`} aria-hidden="true" />
							{PART_NAMES[part]} <b data-part={part} data-value={parts[part]}>{percent(parts[part] / total)}</b> <span class="soft">{amount(parts[part], "s")}</span>
						</li>
					))}
				</ul>
			</figcaption>
		</figure>
	);
}
