// SPDX-License-Identifier: MIT
// Threads over time with their states and regions, counters below. Wheel and keys zoom from hours to microseconds;
// what the brush selects becomes a chip and counts in every view.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Timeline } from "../api/types";
import { stateColour, STATES } from "../model/colour";
import { amount, moment, percent } from "../model/format";
import { selectionOf } from "../model/place";
import { moved, runAt, Span, timeByState, zoomed } from "../model/timeline";
import { Counters } from "../parts/counters";
import { drawTimeline, Lane, lanesOf } from "../parts/draw_timeline";
import { Notice, Wait } from "../parts/states";
import { keyStep, useRested, useWheel } from "../parts/zoom";
import { prepare, useAnswer, useDark, useDrawing, useOverview, usePlace, useSize, useStore } from "../store";

const LABELS = 132;

interface CanvasProps {
	timeline: Timeline;
	lanes: Lane[];
	span: Span;
	whole: Span;
	width: number;
	onSpan: (span: Span) => void;
}

function Canvas({ timeline, lanes, span, whole, width, onSpan }: CanvasProps) {
	const store = useStore();
	const place = usePlace();
	const isDark = useDark();
	const canvas = useRef<HTMLCanvasElement>(null);
	const drag = useRef<{ at: number; isMove: boolean; span: Span } | null>(null);
	const [brush, setBrush] = useState<Span | null>(null);
	const [tip, setTip] = useState<{ x: number; y: number; text: string[] } | null>(null);
	const last = lanes[lanes.length - 1];
	const height = last ? last.y + last.height : 60;
	const chosen = place.from !== undefined || place.to !== undefined ? { from: place.from ?? whole.from, to: place.to ?? whole.to } : null;
	const marked = brush ?? chosen;
	useDrawing(() => {
		if (!canvas.current || width <= 0) return;
		const c = prepare(canvas.current, width, height);
		if (c) drawTimeline(c, { timeline, lanes, span, width, height, isDark, nameOf: (f) => store.nameOf(f), brush: marked, f: place.f });
	}, [timeline, lanes, span.from, span.to, width, height, isDark, marked?.from, marked?.to, place.f]);
	const timeAt = (x: number) => span.from + (x / width) * (span.to - span.from);
	const tell = (x: number, y: number) => {
		const lane = lanes.find((l) => y >= l.y && y < l.y + l.height);
		if (!lane) return setTip(null);
		const thread = timeline.threads[lane.thread];
		const t = timeAt(x);
		const region = lane.regions.find((r) => t >= r.region.t && t < r.region.t + r.region.d && Math.floor((y - lane.y - 26) / 16) === r.row);
		const i = runAt(thread, t);
		const state = i < 0 ? "none" : timeline.states[thread.s[i]];
		const text = [`#${thread.number} ${thread.name} at ${moment(t, (span.to - span.from) / width)}`];
		if (region) text.push(`${region.region.name}: ${amount(region.region.d, "s")}`);
		else text.push(STATES[state]?.label ?? state, store.nameOf(i < 0 ? -1 : thread.f[i])?.[1] ?? "");
		setTip({ x, y, text: text.filter(Boolean) });
	};
	const onKey = (event: KeyboardEvent) => {
		const to = keyStep(event, span, whole);
		if (to) onSpan(to);
		else if (event.key === "Enter" && !store.source.isEmbedded) store.go({ from: span.from, to: span.to });
		else return;
		event.preventDefault();
	};
	useWheel(canvas, span, whole, width, onSpan);
	const onMove = (event: PointerEvent) => {
		const d = drag.current;
		if (!d) return tell(event.offsetX, event.offsetY);
		if (d.isMove) return onSpan(moved(d.span, (d.at - event.offsetX) / width, whole));
		const [a, b] = [timeAt(d.at), timeAt(event.offsetX)];
		setBrush({ from: Math.min(a, b), to: Math.max(a, b) });
	};
	const onUp = (event: PointerEvent) => {
		const d = drag.current;
		drag.current = null;
		setBrush(null);
		if (!d || d.isMove || Math.abs(event.offsetX - d.at) < 4) return;
		const [a, b] = [timeAt(d.at), timeAt(event.offsetX)];
		const step = (span.to - span.from) / width;
		const round = (t: number) => Number(t.toFixed(Math.min(9, Math.max(0, Math.ceil(-Math.log10(step))))));
		const picked = { from: Math.max(whole.from, round(Math.min(a, b))), to: Math.min(whole.to, round(Math.max(a, b))) };
		if (store.source.isEmbedded) onSpan(picked);
		else store.go(picked);
	};
	return (
		<div class="time-canvas">
			<canvas
				ref={canvas}
				tabIndex={0}
				role="img"
				aria-label={`threads from ${moment(span.from)} to ${moment(span.to)}. Plus and minus zoom, a and d move, 0 shows everything, Enter selects the visible range. The table below has the same data.`}
				style={{ width: `${width}px`, height: `${height}px` }}
				onPointerDown={(e) => {
					(e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
					drag.current = { at: e.offsetX, isMove: e.shiftKey || e.button === 1, span };
					setTip(null);
				}}
				onPointerMove={onMove}
				onPointerUp={onUp}
				onPointerLeave={() => setTip(null)}
				onDblClick={() => onSpan(whole)}
				onKeyDown={onKey}
			/>
			{tip && (
				<div class="tip" role="presentation" style={{ left: `${Math.max(0, Math.min(tip.x + 12, width - 240))}px`, top: `${tip.y + 16}px` }}>
					{tip.text.map((line) => (
						<div key={line}>{line}</div>
					))}
				</div>
			)}
		</div>
	);
}

function StateTable({ timeline, span }: { timeline: Timeline; span: Span }) {
	const states = timeline.states.map((name, i) => ({ name, i })).filter(({ name }) => name !== "none");
	const length = span.to - span.from;
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="threads and their states">
			<table class="grid">
				<thead>
					<tr><th scope="col">thread</th>{states.map(({ name }) => <th scope="col" class="num" key={name}>{STATES[name]?.label ?? name}</th>)}</tr>
				</thead>
				<tbody>
					{timeline.threads.map((thread) => {
						const sums = timeByState(thread, span, timeline.states.length);
						return (
							<tr key={thread.number}>
								<td>#{thread.number} {thread.name}</td>
								{states.map(({ name, i }) => <td class="num" key={name}>{amount(sums[i], "s")} <span class="soft">{percent(sums[i] / length)}</span></td>)}
							</tr>
						);
					})}
				</tbody>
			</table>
		</div>
	);
}

/** The twin: time of each thread in each state, of what is seen. Summed only while it is open. */
function Twin(props: { timeline: Timeline; span: Span }) {
	const [isOpen, open] = useState(false);
	return (
		<details class="twin" onToggle={(e) => open(e.currentTarget.open)}>
			<summary>as a table</summary>
			{isOpen && <StateTable {...props} />}
		</details>
	);
}

function Threads({ timeline, lanes }: { timeline: Timeline; lanes: Lane[] }) {
	const store = useStore();
	const place = usePlace();
	// Pools name their threads alike: then the number tells them apart.
	const names = new Map<string, number>();
	for (const { name } of timeline.threads) names.set(name, (names.get(name) ?? 0) + 1);
	return (
		<div class="labels">
			{lanes.map((lane) => {
				const thread = timeline.threads[lane.thread];
				const id = `#${thread.number}`;
				return (
					<button
						type="button"
						key={id}
						class="plain"
						style={{ top: `${lane.y}px` }}
						aria-pressed={place.thread === id}
						title={`thread ${thread.tid} of process ${thread.pid}: click to select only this thread`}
						onClick={() => store.go({ thread: place.thread === id ? "" : id, node: "0" })}
					>
						{(names.get(thread.name) ?? 0) > 1 && `${id} `}{thread.name || id} {thread.is_idle && <span class="soft">idle</span>}
					</button>
				);
			})}
		</div>
	);
}

function Rows(props: Omit<CanvasProps, "lanes">) {
	const { timeline, span, width } = props;
	const lanes = useMemo(() => lanesOf(timeline), [timeline]);
	const labels = useMemo(() => <Threads timeline={timeline} lanes={lanes} />, [timeline, lanes]);
	if (!lanes.length) return <Notice title="No threads to show" text="Idle threads are hidden, and the chips above may hide more." />;
	return (
		<div class="time-scroll">
			<div class="time-row">
				{labels}
				<Canvas {...props} lanes={lanes} />
			</div>
			<Counters counters={timeline.counters ?? {}} span={span} width={width} />
			<Twin timeline={timeline} span={span} />
		</div>
	);
}

export function TimelineView() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const [holder, size] = useSize<HTMLDivElement>();
	const whole = useMemo(() => ({ from: 0, to: Math.max(overview.length_s, 1e-6) }), [overview.length_s]);
	const [span, setSpan] = useState<Span>(whole);
	useEffect(() => setSpan(whole), [whole]);
	const width = Math.max(0, size.width - LABELS);
	const asked = useRested(span, `${span.from}:${span.to}`);
	const { idle, process, r } = selectionOf(place);
	const window = store.source.isEmbedded ? {} : { from: asked.from, to: asked.to, px: Math.max(100, Math.ceil(width / 100) * 100) };
	const answer = useAnswer<Timeline>(width > 0 ? "timeline" : null, { r, idle, process, ...window });
	return (
		<div class="timelineview" ref={holder}>
			<div class="bar-of-tools">
				<button type="button" onClick={() => setSpan(zoomed(span, (span.from + span.to) / 2, 0.5, whole))} aria-label="zoom in">+</button>
				<button type="button" onClick={() => setSpan(zoomed(span, (span.from + span.to) / 2, 2, whole))} aria-label="zoom out">−</button>
				<button type="button" onClick={() => setSpan(whole)}>all</button>
				{!store.source.isEmbedded && <button type="button" onClick={() => store.go({ from: span.from, to: span.to })}>select this range</button>}
				{overview.views.torch === "" && <button type="button" title="show PyTorch operators below the samples" onClick={() => store.go({ view: "torch", pane: "timeline" })}>with operators</button>}
				<ul class="legend" aria-label="states">
					{["running", "gil_wait", "gc", "waiting", "late"].map((name) => (
						<li key={name}><span class="key" style={{ background: stateColour(name, false) }} aria-hidden="true" />{STATES[name].label}</li>
					))}
				</ul>
				<span class="soft">{moment(span.from)} – {moment(span.to)}</span>
			</div>
			<Wait answer={answer}>
				{(timeline) => <Rows timeline={timeline} span={span} whole={whole} width={width} onSpan={setSpan} />}
			</Wait>
			<p class="foot soft">Scroll to zoom, Shift+scroll to move; drag to {store.source.isEmbedded ? "zoom into a range" : "select a range for every view"}.</p>
		</div>
	);
}
