// SPDX-License-Identifier: MIT
// A picture of boxes one can point at, walk through with arrow keys, zoom into; with its twin, a tree for screen
// readers and for those who would rather read.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Boxes, FunctionRow, Unit } from "../api/types";
import { amount, count, percent, place } from "../model/format";
import { arcAt, boxAt, deepest, firstChild, parentOf, siblingOf, Window } from "../model/tree";
import { prepare, useDark, useDrawing, useSize, useStore } from "../store";
import { drawRings, drawRows, Picture, ROW } from "./draw_boxes";

const ZOOM_MS = 120;
const MOST_RINGS = 14;

export interface PictureProps {
	boxes: Boxes;
	x0: number;
	value: number;
	total: number;
	unit: Unit;
	isExact: boolean;
	style: string;
	rootName: string;
	label: string;
	hits: Set<number> | null;
	f: number | undefined;
	/** A box was chosen (clicked once, walked to). */
	onSelect: (i: number) => void;
	/** Zoom into it; −1: one level out. */
	onZoom: (i: number) => void;
	/** Names of its functions, where they are not the recording's. */
	nameOf?: (f: number) => FunctionRow | undefined;
	/** Where colour does not say whose code it is. */
	colourOf?: (i: number, isDark: boolean) => string;
	/** Stands before the name in a box, doubling its colour. */
	markOf?: (i: number) => string;
	/** What a box says of itself, in place of times and samples. */
	say?: (i: number) => string[];
	/** Letters: f focus, x drop, m merge, s source. */
	onLetter?: (letter: string, i: number) => void;
}

function easeWindow(a: Window, b: Window, t: number): Window {
	const k = 1 - (1 - t) ** 3;
	const mix = (x: number, y: number) => x + (y - x) * k;
	return { x0: mix(a.x0, b.x0), value: mix(a.value, b.value), depth: mix(a.depth, b.depth) };
}

/** What a box says of itself. */
export function wordsOf(props: PictureProps, i: number, nameOf: (f: number) => FunctionRow | undefined) {
	const { boxes, total, unit, isExact } = props;
	const f = boxes.f[i];
	const row = nameOf(f);
	const name = f < 0 ? props.rootName : (row?.[1] ?? `function ${f}`);
	const where = row ? place(row[2], row[3]) : "";
	if (props.say) return { name, where, parts: props.say(i) };
	const parts = [
		`${amount(boxes.w[i], unit)} (${percent(boxes.w[i] / total)}) total`,
		`${amount(boxes.s[i], unit)} (${percent(boxes.s[i] / total)}) itself`,
	];
	if (boxes.n[i] !== null && !isExact) parts.push(`${count(boxes.n[i])} samples`);
	if (boxes.c[i] !== null && boxes.c[i] !== undefined) parts.push(`${count(boxes.c[i])} calls`);
	if (boxes.h[i]) parts.push(`${count(boxes.h[i])} smaller boxes not shown`);
	return { name, where, parts };
}

function Tip({ words, x, y, width }: { words: ReturnType<typeof wordsOf>; x: number; y: number; width: number }) {
	return (
		<div class="tip" role="presentation" style={{ left: `${Math.max(0, Math.min(x + 12, width - 300))}px`, top: `${y + 16}px` }}>
			<b>{words.name}</b> <span class="soft">{words.where}</span>
			{words.parts.map((part) => (
				<div key={part}>{part}</div>
			))}
		</div>
	);
}

/** The window shown: the goal, or on the way to a zoom of these boxes. */
function useZoom(boxes: Boxes, goal: Window): [Window, (to: Window) => void] {
	const [way, set] = useState<{ boxes: Boxes; window: Window } | null>(null);
	const window = way?.boxes === boxes ? way.window : goal;
	const zoom = (to: Window) => {
		if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
		const begun = performance.now();
		const step = (now: number) => {
			const t = Math.min(1, (now - begun) / ZOOM_MS);
			set({ boxes, window: easeWindow(window, to, t) });
			if (t < 1) requestAnimationFrame(step);
		};
		requestAnimationFrame(step);
	};
	return [window, zoom];
}

export function BoxPicture(props: PictureProps) {
	const { boxes } = props;
	const store = useStore();
	const isDark = useDark();
	const [holder, size] = useSize<HTMLDivElement>();
	const scroller = useRef<HTMLDivElement | null>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [scroll, setScroll] = useState(0);
	const [hover, setHover] = useState<{ i: number; x: number; y: number } | null>(null);
	// A cursor belongs to its boxes: others begin without one.
	const [cursor, setCursor] = useState<{ boxes: Boxes; i: number } | null>(null);
	const at = cursor?.boxes === boxes ? cursor.i : -1;
	const first = boxes.d.length ? Math.min(...boxes.d.slice(0, 1)) : 0;
	const [window, zoom] = useZoom(boxes, { x0: props.x0, value: props.value, depth: first });
	const isRings = props.style === "sunburst";
	const isUp = props.style === "flame";
	const deep = useMemo(() => deepest(boxes) - first, [boxes]);
	const rings = Math.min(deep, MOST_RINGS);
	const full = isRings ? size.height : Math.max((deep + 1) * ROW, isUp ? size.height : 0);
	const nameOf = props.nameOf ?? ((f: number) => store.nameOf(f));
	useEffect(() => {
		if (isUp && scroller.current) scroller.current.scrollTop = full;
	}, [isUp, full]);
	const picture: Picture = {
		boxes, window, width: size.width, height: size.height, scroll, full, isUp, isDark, nameOf,
		hits: props.hits, f: props.f, at: hover?.i ?? at, rootName: props.rootName, colourOf: props.colourOf, markOf: props.markOf,
	};
	useDrawing(() => {
		if (!canvas.current || !size.width) return;
		const c = prepare(canvas.current, size.width, size.height);
		if (!c) return;
		if (isRings) drawRings(c, picture, rings);
		else drawRows(c, picture);
	}, [...Object.values({ ...picture, window: 0, nameOf: 0 }), ...Object.values(window), isRings]);
	const find = (event: MouseEvent): number => {
		const x = event.offsetX;
		const y = event.offsetY;
		if (isRings) {
			const radius = Math.min(size.width, size.height) / 2 - 2;
			return arcAt(boxes, window, radius, rings, x - size.width / 2, y - size.height / 2);
		}
		const down = y + scroll;
		return boxAt(boxes, window, size.width, ROW, x, isUp ? full - down : down);
	};
	const zoomTo = (i: number) => {
		if (i >= 0) zoom({ x0: boxes.x[i], value: boxes.w[i], depth: boxes.d[i] });
		props.onZoom(i);
	};
	const choose = (i: number) => {
		if (i < 0) return;
		setCursor({ boxes, i });
		props.onSelect(i);
	};
	const onKey = (event: KeyboardEvent) => {
		const i = at < 0 ? 0 : at;
		const next: Record<string, () => number> = {
			[isUp ? "ArrowUp" : "ArrowDown"]: () => (at < 0 ? 0 : firstChild(boxes, i)),
			[isUp ? "ArrowDown" : "ArrowUp"]: () => parentOf(boxes, i),
			ArrowLeft: () => siblingOf(boxes, i, -1),
			ArrowRight: () => siblingOf(boxes, i, 1),
		};
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key in next) choose(next[event.key]());
		else if (event.key === "Enter" && at >= 0) zoomTo(at);
		else if (event.key === "Escape" || event.key === "Backspace") props.onZoom(-1);
		else if ("fxms".includes(event.key) && at >= 0) props.onLetter?.(event.key, at);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const told = at >= 0 && at < boxes.id.length ? wordsOf(props, at, nameOf) : null;
	return (
		<div class="picture">
			<div
				class="canvas-scroll"
				ref={(element) => {
					scroller.current = element;
					holder(element);
				}}
				onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
			>
				<canvas
					ref={canvas}
					tabIndex={0}
					role="img"
					aria-label={`${props.label}. Arrow keys move, Enter zooms in, Escape zooms out. The tree below has the same data.`}
					style={{ width: `${size.width}px`, height: `${size.height}px` }}
					onMouseMove={(e) => setHover({ i: find(e), x: e.offsetX, y: e.offsetY })}
					onMouseLeave={() => setHover(null)}
					onClick={(e) => {
						const i = find(e);
						choose(i);
						if (i >= 0) zoomTo(i);
					}}
					onKeyDown={onKey}
				/>
				<div style={{ height: `${Math.max(0, full - size.height)}px` }} />
			</div>
			{hover && hover.i >= 0 && hover.i < boxes.id.length && (
				<Tip words={wordsOf(props, hover.i, nameOf)} x={hover.x} y={hover.y} width={size.width} />
			)}
			<p class="hidden" role="status">
				{told ? `${told.name} ${told.where}: ${told.parts.join(", ")}` : ""}
			</p>
			<BoxTree {...props} />
		</div>
	);
}

const MOST_ITEMS = 300;

/** The twin: the larger boxes as a tree. */
function BoxTree(props: PictureProps) {
	const store = useStore();
	const [isOpen, open] = useState(false);
	const [cursor, setCursor] = useState(0);
	const { boxes } = props;
	const items: number[] = [];
	for (let i = 0; i < boxes.id.length && items.length < MOST_ITEMS; i++) if (boxes.w[i] >= props.value * 0.002) items.push(i);
	const onKey = (event: KeyboardEvent) => {
		const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
		if (event.key === "Enter") props.onZoom(items[cursor]);
		else if (event.key === "Escape") props.onZoom(-1);
		else if (!step) return;
		event.preventDefault();
		const next = Math.min(items.length - 1, Math.max(0, cursor + step));
		setCursor(next);
		(event.currentTarget as HTMLElement).children[next]?.querySelector<HTMLElement>("[tabindex]")?.focus();
	};
	return (
		<details class="twin" onToggle={(e) => open(e.currentTarget.open)}>
			<summary>as a tree</summary>
			{isOpen && items.length > 0 && (
				<ul role="tree" aria-label={props.label} onKeyDown={onKey}>
					{items.map((i, n) => {
						const words = wordsOf(props, i, props.nameOf ?? ((f) => store.nameOf(f)));
						return (
							<li key={boxes.id[i]} role="none" style={{ paddingLeft: `${boxes.d[i] * 12}px` }}>
								<span role="treeitem" aria-level={boxes.d[i] + 1} tabIndex={n === cursor ? 0 : -1} onClick={() => props.onZoom(i)} onFocus={() => props.onSelect(i)}>
									<b>{words.name}</b> <span class="soft">{words.where}</span>{" "}
									{props.say ? words.parts.join(", ") : percent(boxes.w[i] / props.total)}{" "}
									{!props.say && <span class="soft">own {percent(boxes.s[i] / props.total)}</span>}
								</span>
							</li>
						);
					})}
				</ul>
			)}
		</details>
	);
}
