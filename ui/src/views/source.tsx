// SPDX-License-Identifier: MIT
// The source with its heat: every line with what was measured of it, and one level deeper by a click, its bytecode.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Bytecode, FunctionRow, Source, SourceFile, SourceLine, Unit } from "../api/types";
import { heat } from "../model/colour";
import { amount, baseOf, count, percent, Scale, scaled, scaleFor } from "../model/format";
import { selectionOf } from "../model/place";
import { marked, Piece, piecesOf, placeOfByte } from "../model/python";
import { EditorLink } from "../parts/editor";
import { Notice, Wait } from "../parts/states";
import { useAnswer, useDark, useOverview, usePlace, useStore } from "../store";

const WINDOW = 2000;

/** What was measured of a line, over all functions that have code there. */
export interface Measured extends SourceLine {
	/** All functions with code on it, the one with most time first. */
	all: number[];
}

export function byLine(lines: SourceLine[]): Map<number, Measured> {
	const result = new Map<number, Measured>();
	for (const line of [...lines].sort((a, b) => (b.self ?? 0) - (a.self ?? 0) || (b.hits ?? 0) - (a.hits ?? 0))) {
		const known = result.get(line.line);
		if (!known) {
			result.set(line.line, { ...line, all: [line.function_id] });
			continue;
		}
		// Null is not known, of lines that were counted without a clock: it stays so.
		if (line.self !== null) known.self = (known.self ?? 0) + line.self;
		if (line.total !== null) known.total = (known.total ?? 0) + line.total;
		if (line.hits !== null) known.hits = (known.hits ?? 0) + line.hits;
		if (line.callees != null) known.callees = (known.callees ?? 0) + line.callees;
		known.all.push(line.function_id);
	}
	return result;
}

function Code({ text, pieces, line }: { text: string; pieces: Piece[]; line: Measured | undefined }) {
	const hot = line?.hottest;
	const parts = hot && hot.column >= 0 ? marked(pieces, placeOfByte(text, hot.column), placeOfByte(text, hot.end_column)) : pieces.map((p) => ({ ...p, isHot: false }));
	return (
		<code class="text">
			{parts.map((part, i) => (
				<span key={i} class={`${part.kind}${part.isHot ? " hot" : ""}`} title={part.isHot && hot ? `${percent(hot.self_share)} of the line's own time` : undefined}>
					{part.text}
				</span>
			))}
			{line?.seen && <span class="seen">  {line.seen}</span>}
		</code>
	);
}

function Instructions({ f, line, unit, total }: { f: number; line: number; unit: Unit; total: number }) {
	const place = usePlace();
	const answer = useAnswer<Bytecode>("bytecode", { ...selectionOf(place), filter: undefined, function: f });
	return (
		<Wait answer={answer}>
			{(code) => {
				const rows = code.bytecode.flatMap((one) => one.instructions).filter((op) => op.line === line);
				if (!rows.length) return <p class="soft">No instructions are known for this line.</p>;
				const largest = Math.max(...rows.map((op) => op.self ?? 0), 0);
				return (
					<table class="grid ops">
						<caption class="hidden">bytecode of line {line}</caption>
						<thead>
							<tr><th class="num">self</th><th class="num">share</th><th class="num">offset</th><th>instruction</th><th>argument</th><th>runs as</th></tr>
						</thead>
						<tbody>
							{rows.map((op) => (
								<tr key={op.offset} title={op.stack?.length ? `on the stack: ${op.stack.join(", ")}` : undefined}>
									<td class="num">{op.self ? amount(op.self, unit) : ""}</td>
									<td class="num">{op.self ? percent(op.self / total) : ""}</td>
									<td class="num soft">{op.is_jump_target ? "» " : ""}{op.offset}</td>
									<td class={op.self && op.self === largest ? "code strong" : "code"}>{op.opname}</td>
									<td class="code">{op.argrepr || (op.arg ?? "")}</td>
									<td class="code soft">{op.specialised ?? ""}{op.folded ? ` ${op.folded}` : ""}</td>
								</tr>
							))}
						</tbody>
					</table>
				);
			}}
		</Wait>
	);
}

interface RowProps {
	number: number;
	text: string;
	pieces: Piece[];
	line: Measured | undefined;
	largest: number;
	scale: Scale;
	source: Source;
	hasCounts: boolean;
	/** Else nothing but hits is known, and they are the heat. */
	hasTimes: boolean;
	isSelected: boolean;
	isOpen: boolean;
	measure: string;
	starts: FunctionRow | undefined;
}

function SourceRow(p: RowProps) {
	const store = useStore();
	const { line } = p;
	const value = (line ? (p.measure === "hits" ? line.hits : p.measure === "total" ? line.total : line.self) : 0) ?? 0;
	const isHot = (of: string) => p.measure === of && colour !== null;
	const isDark = useDark();
	const colour = value > 0 ? heat(value / (p.largest || 1), isDark) : null;
	const hasBytecode = line?.all.some((f) => p.source.bytecode.includes(f));
	const select = () => store.go({ line: p.number, f: line?.function_id ?? p.starts?.[0] ?? store.place.f }, true);
	return (
		<>
			<tr class={line ? "measured" : ""} aria-current={p.isSelected ? "true" : undefined} data-line={p.number} onClick={select}>
				<td class="num lineno">
					{hasBytecode ? (
						<button
							type="button"
							class="plain"
							aria-expanded={p.isOpen}
							aria-label={`line ${p.number}: bytecode`}
							onClick={(e) => {
								e.stopPropagation();
								store.go({ line: p.number, f: line?.all.find((f) => p.source.bytecode.includes(f)), open: p.isOpen ? "" : String(p.number) });
							}}
						>
							{p.isOpen ? "▾" : "▸"}
						</button>
					) : null}{" "}
					<EditorLink file={p.source.file} line={p.number} label={`line ${p.number} in the editor`}>{p.number}</EditorLink>
				</td>
				{p.hasTimes && (
					<>
						<td class="num heat" style={colour && p.measure !== "hits" ? { background: colour.fill, color: colour.ink } : undefined} data-value={line?.self}>
							{line && line.self > 0 ? scaled(line.self, p.scale) : ""}
						</td>
						<td class="num" data-value={line?.total}>{line && line.total > 0 ? scaled(line.total, p.scale) : ""}</td>
						<td class="num soft">{line && line.self > 0 ? percent(line.self / p.source.total) : ""}</td>
					</>
				)}
				{p.hasCounts && <td class={`num ${p.hasTimes ? "" : "heat"}`} style={colour && isHot("hits") ? { background: colour.fill, color: colour.ink } : undefined} data-value={line?.hits ?? undefined}>{line?.hits != null ? count(line.hits) : ""}</td>}
				{p.hasCounts && p.hasTimes && <td class="num">{line?.callees != null ? scaled(line.callees, p.scale) : ""}</td>}
				<td><Code text={p.text} pieces={p.pieces} line={line} /></td>
			</tr>
			{p.isOpen && line && (
				<tr class="opened">
					<td colSpan={2 + (p.hasTimes ? 3 : 0) + (p.hasCounts ? (p.hasTimes ? 2 : 1) : 0)}>
						<Instructions f={store.place.f ?? line.function_id} line={p.number} unit={p.source.unit} total={p.source.total} />
					</td>
				</tr>
			)}
		</>
	);
}

function Listing({ source }: { source: Source }) {
	const place = usePlace();
	const store = useStore();
	const box = useRef<HTMLDivElement>(null);
	const lines = useMemo(() => byLine(source.lines), [source]);
	const coloured = useMemo(() => {
		let open = "";
		return source.text.map((text) => {
			const result = piecesOf(text, open);
			open = result.open;
			return result.pieces;
		});
	}, [source]);
	const all = [...lines.values()];
	const hasTimes = all.some((l) => l.self !== null) || !all.length;
	const measure = !hasTimes ? "hits" : place.measure;
	const largest = Math.max(...all.map((l) => (measure === "hits" ? l.hits : measure === "total" ? l.total : l.self) ?? 0), 0);
	const scale = scaleFor(Math.max(...all.map((l) => l.total), 0), source.unit);
	const hasCounts = all.some((l) => l.hits !== null);
	useEffect(() => {
		if (place.line !== undefined) box.current?.querySelector(`[data-line="${place.line}"]`)?.scrollIntoView({ block: "center" });
	}, [source]);
	const starts = new Map(source.functions.map((row) => [row[3], row]));
	const titled = (title: string) => (scale.name ? `${title} (${scale.name})` : title);
	const jump = (by: number) => {
		const hot = all.filter((l) => (hasTimes ? l.self > 0.005 * source.total : (l.hits ?? 0) > 0.05 * largest)).map((l) => l.line).sort((a, b) => a - b);
		const at = place.line ?? 0;
		const next = by > 0 ? (hot.find((n) => n > at) ?? hot[0]) : (hot.findLast((n) => n < at) ?? hot[hot.length - 1]);
		if (next === undefined) return;
		store.go({ line: next, f: lines.get(next)?.function_id }, true);
		box.current?.querySelector(`[data-line="${next}"]`)?.scrollIntoView({ block: "center" });
	};
	const onKey = (event: KeyboardEvent) => {
		if (event.key !== "n" && event.key !== "p") return;
		event.preventDefault();
		jump(event.key === "n" ? 1 : -1);
	};
	return (
		<>
			<div class="bar-of-tools">
				<label class="choice">
					<span>heat</span>
					<select value={measure} onChange={(e) => store.go({ measure: e.currentTarget.value }, true)}>
						{hasTimes && <option value="self">self</option>}
						{hasTimes && <option value="total">total</option>}
						{hasCounts && <option value="hits">hits</option>}
					</select>
				</label>
				<button type="button" onClick={() => jump(-1)} aria-keyshortcuts="p">previous hot line</button>
				<button type="button" onClick={() => jump(1)} aria-keyshortcuts="n">next hot line</button>
				{source.note && <span class="soft">{source.note}</span>}
			</div>
			<div class="scroll listing" ref={box} tabIndex={0} role="region" aria-label={`source of ${source.file}`} onKeyDown={onKey}>
				<table class="grid source">
					<caption class="hidden">{source.file}</caption>
					<thead>
						<tr>
							<th scope="col" class="num">line</th>
							{hasTimes && <><th scope="col" class="num">{titled("self")}</th><th scope="col" class="num">{titled("total")}</th><th scope="col" class="num">share</th></>}
							{hasCounts && <th scope="col" class="num">hits</th>}
							{hasCounts && hasTimes && <th scope="col" class="num">{titled("callees")}</th>}
							<th scope="col">{baseOf(source.file)}</th>
						</tr>
					</thead>
					<tbody>
						{source.text.map((text, i) => {
							const number = source.first + i;
							return (
								<SourceRow
									key={number} number={number} text={text} pieces={coloured[i]} line={lines.get(number)} largest={largest} scale={scale} source={source}
									hasCounts={hasCounts} hasTimes={hasTimes} isSelected={place.line === number} isOpen={place.open === String(number)} measure={measure} starts={starts.get(number)}
								/>
							);
						})}
					</tbody>
				</table>
			</div>
		</>
	);
}

function NoText({ source }: { source: Source }) {
	const scale = scaleFor(Math.max(...source.lines.map((l) => l.total), 0), source.unit);
	return (
		<>
			<Notice title="The recording does not have this file's text" text={source.note || "The file could not be read when the program ended. The table below has what was measured."} />
			<div class="scroll" tabIndex={0} role="region" aria-label="measured lines">
				<table class="grid">
					<thead><tr><th class="num">line</th><th class="num">self ({scale.name})</th><th class="num">total ({scale.name})</th><th>function</th></tr></thead>
					<tbody>
						{[...byLine(source.lines).values()].sort((a, b) => a.line - b.line).map((l) => (
							<tr key={l.line}>
								<td class="num">{l.line}</td><td class="num">{scaled(l.self, scale)}</td><td class="num">{scaled(l.total, scale)}</td>
								<td class="code">{source.functions.find((f) => f[0] === l.function_id)?.[1] ?? ""}</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</>
	);
}

export function SourceView() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const files = useAnswer<{ files: SourceFile[] }>("files", { ...selectionOf(place), filter: undefined });
	const known = files.data?.files ?? [];
	const row = place.f === undefined ? undefined : store.nameOf(place.f);
	const file = place.file || row?.[2] || (known.find((f) => f.has_text && (overview.total > 0 || !f.is_library)) ?? known.find((f) => f.has_text) ?? known[0])?.file || "";
	const first = Math.max(1, (place.line ?? 1) - WINDOW / 2);
	const isLong = (known.find((f) => f.file === file)?.n_lines ?? 0) > WINDOW;
	const answer = useAnswer<Source>(file ? "source" : null, { ...selectionOf(place), filter: undefined, file, ...(isLong ? { first, last: first + WINDOW - 1 } : {}) });
	if (files.error) return <Notice title="Not in this recording" text={files.error.message} />;
	if (files.data && !known.length) return <Notice title="No source files" text={overview.views.source || "Record a Python program: leadline run SCRIPT.py"} />;
	return (
		<div class="sourceview">
			<div class="bar-of-tools">
				<label class="choice grow">
					<span>file</span>
					<select value={file} onChange={(e) => store.go({ file: e.currentTarget.value, line: undefined, f: undefined, open: "" })}>
						{!known.some((f) => f.file === file) && <option value={file}>{baseOf(file)}</option>}
						{known.map((one) => (
							<option key={one.file} value={one.file} title={one.file}>
								{overview.total > 0 ? `${percent(one.self / overview.total)} ` : ""}{baseOf(one.file)}{one.is_library ? " (library)" : ""}{one.has_text ? "" : " (no text)"}
							</option>
						))}
					</select>
				</label>
				<span class="soft path"><EditorLink file={file} line={place.line ?? null}>{file}</EditorLink></span>
			</div>
			<Wait answer={answer}>{(source) => (source.text.length ? <Listing source={source} /> : <NoText source={source} />)}</Wait>
		</div>
	);
}
