// SPDX-License-Identifier: MIT
// Two recordings compared: the numbers of `leadline diff`, as a call tree coloured by change and as tables. What does not stand
// out from the noise stays grey.
import { useMemo, useState } from "preact/hooks";
import { Diff, DiffBoxes, DiffRow, DiffTree, DiffValue, FunctionRow, Overview, Unit } from "../api/types";
import { changeColour } from "../model/colour";
import { amount, baseOf, count, percent, place as placeOf, plural, ratio, scaled, scaleFor, signed } from "../model/format";
import { INTERVAL, isEven, spreadCell } from "../model/interval";
import { Place, selectionOf } from "../model/place";
import { BoxPicture } from "../parts/boxes";
import { Cell, Copy, Grid } from "../parts/grid";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useOverview, usePlace, useSize, useStore } from "../store";

const NORMALIZATIONS: [string, string][] = [
	["absolute", "as recorded"],
	["run", "shares of each run"],
	["unit", "per unit of work"],
];

/** The other recording: the one chosen, or the next. */
export function otherOf(place: Place, recordings: Overview["recordings"]): number | undefined {
	const others = recordings.filter((one) => one.r !== place.r);
	return others.some((one) => one.r === place.with) ? place.with : (others.find((one) => one.r > place.r) ?? others[0])?.r;
}

/** What both answers are asked by. */
export function questionOf(place: Place, other: number) {
	const { filter: _, ...selection } = selectionOf(place);
	const normalize = place.normalize === "absolute" ? undefined : place.normalize;
	return { ...selection, with: other, normalize, unit: place.normalize === "unit" ? place.unit : undefined };
}

const MARK = (value: DiffValue) => (!value.is_named ? "" : value.change > 0 ? "▲" : "▼");

/** "0.76 s → 1.2 s: +0.48 s (+63.1 % ±12.3 %)" */
export function changeInWords(value: DiffValue, unit: Unit): string {
	const half = (value.high - value.low) / 2;
	const signs = (share: number) => (share < 0 ? "" : "+") + percent(share);
	const spread = isEven(value.change, value.low, value.high) ? ` ±${percent(half / value.a)}` : ` (${signs(value.low / value.a)} to ${signs(value.high / value.a)})`;
	const by = value.a > 0 ? `${ratio(value.a, value.b)}${spread}` : ratio(value.a, value.b);
	return `${amount(value.a, unit)} → ${amount(value.b, unit)}: ${signed(value.change, unit)}, ${by}`;
}

export function columnsOf(rows: DiffRow[], unit: Unit, isTotal: boolean, isLines: boolean): Cell<DiffRow>[] {
	const first = (row: DiffRow) => (isTotal ? row.total : row.self);
	const second = (row: DiffRow) => (isTotal ? row.self : row.total);
	const scale = scaleFor(Math.max(...rows.map((row) => Math.max(first(row).a, first(row).b)), 0), unit);
	const change = (v: DiffValue) => (v.change < 0 ? "−" : "+") + scaled(Math.abs(v.change), scale);
	const titled = (title: string) => (scale.name ? `${title} (${scale.name})` : title);
	const columns: Cell<DiffRow>[] = [
		{ title: "", isNumber: false, sort: "", text: (r) => MARK(first(r)), plain: (r) => (first(r).is_named ? "1" : "0") },
		{ title: titled(isTotal ? "total" : "self"), isNumber: true, sort: isTotal ? "total" : "self", text: (r) => change(first(r)), plain: (r) => String(first(r).change), className: "strong" },
		{ title: "interval", hint: INTERVAL, isNumber: true, sort: "", text: (r) => spreadCell(first(r).change, first(r).low, first(r).high, scale), plain: (r) => String((first(r).high - first(r).low) / 2), className: "soft" },
		{ title: "by", isNumber: true, sort: "", text: (r) => ratio(first(r).a, first(r).b) },
		{ title: "A", isNumber: true, sort: "", text: (r) => scaled(first(r).a, scale), plain: (r) => String(first(r).a) },
		{ title: "B", isNumber: true, sort: "", text: (r) => scaled(first(r).b, scale), plain: (r) => String(first(r).b) },
		{ title: isTotal ? "self" : "total", isNumber: true, sort: isTotal ? "self" : "total", text: (r) => (second(r).is_named ? change(second(r)) : "·"), plain: (r) => String(second(r).change) },
	];
	if (rows.some((row) => row.calls_a || row.calls_b))
		columns.push({ title: "calls", isNumber: true, sort: "", text: (r) => (r.calls_a === r.calls_b ? count(r.calls_b) : `${count(r.calls_a)} → ${count(r.calls_b)}`) });
	columns.push(
		{ title: isLines ? "source" : "function", isNumber: false, sort: "", text: (r) => (isLines && r.text) || nameOf(r), className: "code" },
		{ title: isLines ? "line" : "place", isNumber: false, sort: "", text: (r) => placeOf(r.file, r.line), plain: (r) => (r.file ? `${r.file}:${r.line}` : ""), className: "soft" },
	);
	return columns;
}

const nameOf = (row: DiffRow) => row.name ?? row.function ?? "";

/** Those that stand out, or all, whose place matches; largest change first. */
export function chosenRows(rows: DiffRow[], isTotal: boolean, all: boolean, filter: string): DiffRow[] {
	const value = (row: DiffRow) => (isTotal ? row.total : row.self);
	let matches = (_: DiffRow) => true;
	try {
		const pattern = new RegExp(filter);
		matches = (row) => pattern.test(`${nameOf(row)} (${row.file}:${row.line})`);
	} catch {
		// Half typed: nothing is left out.
	}
	return rows.filter((row) => (all || value(row).is_named) && matches(row)).sort((a, b) => Math.abs(value(b).change) - Math.abs(value(a).change));
}

function Tools({ other }: { other: number }) {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const others = overview.recordings.filter((one) => one.r !== place.r);
	const nameOf = (r: number) => overview.recordings.find((one) => one.r === r)?.name ?? "";
	const [unit, setUnit] = useState(place.unit);
	return (
		<div class="bar-of-tools">
			<span class="sides">A <b>{nameOf(place.r)}</b></span>
			<label class="choice"><span>B</span>
				<select value={other} onChange={(e) => store.go({ with: Number(e.currentTarget.value), step: "0" })}>
					{others.map((one) => <option key={one.r} value={one.r}>{one.name}</option>)}
				</select>
			</label>
			<button type="button" onClick={() => store.go({ r: other, with: place.r, f: undefined, step: "0" })}>swap</button>
			<label class="choice"><span>compare</span>
				<select value={place.normalize} onChange={(e) => store.go({ normalize: e.currentTarget.value, step: "0" })}>
					{NORMALIZATIONS.filter(([value]) => value !== "unit" || !store.source.isEmbedded).map(([value, text]) => <option key={value} value={value}>{text}</option>)}
				</select>
			</label>
			{place.normalize === "unit" && (
				<label class="choice"><span>unit</span>
					<input type="text" placeholder="a region, a function, 500 or 500:1000" value={unit} onInput={(e) => setUnit(e.currentTarget.value)} onChange={(e) => store.go({ unit: e.currentTarget.value, step: "0" })} />
				</label>
			)}
			<label class="choice"><span>widths of</span>
				<select value={place.side} onChange={(e) => store.go({ side: e.currentTarget.value, step: "0" })}>
					<option value="b">B</option>
					<option value="a">A</option>
				</select>
			</label>
			<ul class="legend" aria-label="colours">
				<li><span class="key more" aria-hidden="true" />▲ more in B</li>
				<li><span class="key less" aria-hidden="true" />▼ less</li>
				<li><span class="key noise" aria-hidden="true" />within the noise</li>
			</ul>
		</div>
	);
}

/** The root gets a box, and columns that such trees lack. */
function filled(tree: DiffTree): DiffBoxes {
	const { boxes } = tree;
	const rooted = boxes.d.length > 0 && boxes.d[0] === 0;
	const first = <T,>(value: T, column: T[]): T[] => (rooted ? column : [value, ...column]);
	const id = first(0, boxes.id);
	const none = id.map(() => null);
	return {
		id, f: first(-1, boxes.f), d: first(0, boxes.d), x: first(tree.x, boxes.x), w: first(tree.value, boxes.w), s: first(0, boxes.s),
		n: none, c: none, h: first(0, boxes.h), a: first(0, boxes.a), b: first(0, boxes.b), plus_minus: first(0, boxes.plus_minus), named: first(0, boxes.named),
	};
}

function Picture({ tree }: { tree: DiffTree }) {
	const store = useStore();
	const boxes = useMemo(() => filled(tree), [tree]);
	const names = useMemo(() => new Map<number, FunctionRow>(tree.functions.map((row) => [row[0], row])), [tree]);
	const valueOf = (i: number): DiffValue => {
		const change = boxes.b[i] - boxes.a[i];
		return { a: boxes.a[i], b: boxes.b[i], change, low: change - boxes.plus_minus[i], high: change + boxes.plus_minus[i], is_named: boxes.named[i] === 1 };
	};
	const nameOf = (f: number) => names.get(f);
	if (!boxes.id.length || !(tree.value > 0)) return <Notice title="Nothing to draw" text="That side has no samples in this selection." />;
	const zoom = (i: number) => {
		const to = i >= 0 ? boxes.id[i] : (tree.path.at(-2)?.[0] ?? 0);
		store.go({ step: String(to) });
	};
	return (
		<>
			{tree.path.length > 1 && (
				<nav class="crumbs" aria-label="call stack">
					{tree.path.map(([node, f], i) => (
						<span key={node}>
							{i > 0 && <span aria-hidden="true"> ▸ </span>}
							<button type="button" class="link" aria-current={i === tree.path.length - 1 ? "location" : undefined} onClick={() => store.go({ step: String(node) })}>
								{f < 0 ? "everything" : (nameOf(f)?.[1] ?? "")}
							</button>
						</span>
					))}
				</nav>
			)}
			<BoxPicture
				boxes={boxes} x0={tree.x} value={tree.value} total={tree.total} unit={tree.unit} isExact={false} style="icicle" rootName="everything"
				label={`${plural(tree.n_nodes, "call path")} coloured by change`} hits={null} f={undefined}
				nameOf={nameOf}
				colourOf={(i, isDark) => changeColour((boxes.b[i] - boxes.a[i]) / Math.max(boxes.a[i], boxes.b[i], 1e-300), boxes.named[i] === 1, isDark)}
				markOf={(i) => (boxes.f[i] < 0 || !boxes.named[i] ? "" : boxes.b[i] > boxes.a[i] ? "▲ " : "▼ ")}
				say={(i) => (boxes.f[i] < 0 ? [amount(boxes.w[i], tree.unit)] : [changeInWords(valueOf(i), tree.unit), boxes.named[i] ? "stands out" : "within the noise"])}
				onSelect={() => undefined} onZoom={zoom}
			/>
		</>
	);
}

function Tables({ diff, other }: { diff: Diff; other: number }) {
	const place = usePlace();
	const store = useStore();
	const isLines = place.what === "lines";
	const isTotal = place.sort === "total";
	const all = isLines ? diff.lines : diff.functions;
	const rows = chosenRows(all, isTotal, place.all, place.filter);
	const columns = columnsOf(rows.length ? rows : all, diff.unit, isTotal, isLines);
	const first = (row: DiffRow) => (isTotal ? row.total : row.self);
	const n = isLines ? diff.n_lines : diff.n_functions;
	const open = (row: DiffRow) => row.file && row.line && store.go({ view: "source", r: row.total.b > 0 ? other : place.r, file: row.file, line: row.line, f: undefined });
	return (
		<>
			<div class="bar-of-tools" role="group" aria-label="which table">
				{["functions", "lines"].map((what) => (
					<button type="button" key={what} aria-pressed={isLines === (what === "lines")} onClick={() => store.go({ what }, true)}>{what}</button>
				))}
				<button type="button" aria-pressed={place.all} onClick={() => store.go({ all: !place.all }, true)}>include changes within the noise</button>
			</div>
			{rows.length === 0 ? (
				<Notice title="No change stands out from the noise" text={`${plural(n, isLines ? "line was" : "function was", isLines ? "lines were" : "functions were")} compared.`} />
			) : (
				<Grid
					columns={columns} rows={rows} caption={`changes of ${isLines ? "lines" : "functions"}`} sort={isTotal ? "total" : "self"} onSort={(sort) => store.go({ sort }, true)}
					keyOf={(row) => `${row.function}:${row.file}:${row.line}`} isSelected={() => false} onSelect={() => undefined} onOpen={open}
					classOf={(row) => (!first(row).is_named ? "unclear" : first(row).change > 0 ? "more" : "less")}
				/>
			)}
			<p class="foot soft">
				<span>
					{plural(rows.length, "row")} of {count(n)}. Change of {isTotal ? "total" : "self"} time from A to B, with 95 % intervals. They come from {diff.is_timed ? "samples in blocks of time" : "the number of samples"}, plus {percent(diff.noise_share)} by which two runs
					of the same program may differ. ▲ ▼ mark changes beyond the noise: two equal programs show any in 1 of 100 comparisons.
				</span>
				<Copy columns={columns} rows={rows} />
			</p>
		</>
	);
}

export function DiffView() {
	const place = usePlace();
	const overview = useOverview();
	const [holder, size] = useSize<HTMLDivElement>();
	const other = otherOf(place, overview.recordings);
	const question = questionOf(place, other ?? 0);
	const width = Math.max(200, Math.ceil(size.width / 200) * 200);
	const diff = useAnswer<Diff>(other === undefined ? null : "diff", question);
	const tree = useAnswer<DiffTree>(other === undefined || !size.width ? null : "difftree", { ...question, side: place.side === "b" ? undefined : place.side, node: place.step === "0" ? undefined : place.step, width });
	if (other === undefined) return <Notice title="Only one recording is open" text="Open two to compare them: leadline view before.lead after.lead" />;
	return (
		<div class="diffview" ref={holder}>
			<Tools other={other} />
			<Wait answer={diff}>
				{(data) => (
					<>
						<p class="answer">
							{`From ${baseOf(data.a.file)} to ${baseOf(data.b.file)}: `}
							{data.unit === "share" ? "shares of each recording's own total." : `${changeInWords(data.total, data.unit)}${data.total.is_named ? "" : " (within the noise)"}${place.normalize === "unit" ? ", per unit of work" : ""}.`}
						</p>
						<Wait answer={tree}>{(one) => <Picture tree={one} />}</Wait>
						<Tables diff={data} other={other} />
					</>
				)}
			</Wait>
		</div>
	);
}
