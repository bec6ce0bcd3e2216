// SPDX-License-Identifier: MIT
// Threads and streams of a trace over time, in slices that the server makes for the window. A click selects a span: what
// it launched, or what autograd did for it, is drawn, and told below.
import { useMemo, useRef, useState } from "preact/hooks";
import { KINDS, SpanDetails, SpanLink, SpanPlace, SpanTimeline } from "../../api/torch";
import { amount, briefly, count, percent, plural } from "../../model/format";
import { chosenNames, detailsFrom, formatWindow, lanePlaces, LanePlace, longest, parseWindow, placeOf, spanAt } from "../../model/spans";
import { clamp, moved, Span, zoomed } from "../../model/timeline";
import { drawSpans, kindColour } from "../../parts/draw_spans";
import { Notice, Wait } from "../../parts/states";
import { keyStep, useRested, useWheel } from "../../parts/zoom";
import { prepare, Store, useAnswer, useDark, useDrawing, useOverview, usePlace, useSize, useStore } from "../../store";
import { Samples } from "./samples";

const LABELS = 132;
const ROWS = 100;

/** A span that is selected: an operator is selected in all panes. */
function select(store: Store, at: { event: number; name: string; kind: number } | null): void {
	store.go(at ? { event: at.event, ...(at.kind <= 1 ? { op: at.name } : {}) } : { event: undefined, op: "" }, true);
}

/** The window so far as to hold a span with some room around it. */
function around(at: SpanPlace, whole: Span): Span {
	const length = Math.max(at.d / 1e9, 1e-6);
	return clamp({ from: at.t / 1e9 - length, to: at.t / 1e9 + 2 * length }, whole);
}

interface CanvasProps {
	timeline: SpanTimeline;
	places: LanePlace[];
	span: Span;
	whole: Span;
	width: number;
	links: SpanLink[];
	onSpan: (span: Span) => void;
}

function Canvas({ timeline, places, span, whole, width, links, onSpan }: CanvasProps) {
	const store = useStore();
	const place = usePlace();
	const isDark = useDark();
	const canvas = useRef<HTMLCanvasElement>(null);
	const drag = useRef<{ at: number; isMove: boolean; span: Span } | null>(null);
	const [brush, setBrush] = useState<Span | null>(null);
	const [tip, setTip] = useState<{ x: number; y: number; text: string[] } | null>(null);
	const last = places[places.length - 1];
	const height = last ? last.y + last.height + 4 : 60;
	const op = place.event === undefined ? place.op : "";
	const chosen = useMemo(() => chosenNames(timeline.names, place.q, op), [timeline, place.q, op]);
	useDrawing(() => {
		const c = canvas.current && width > 0 ? prepare(canvas.current, width, height) : null;
		if (c) drawSpans(c, { timeline, places, span, width, height, isDark, brush, chosen, event: place.event, links });
	}, [timeline, places, span.from, span.to, width, height, isDark, brush?.from, brush?.to, chosen, place.event, links]);
	useWheel(canvas, span, whole, width, onSpan);
	const timeAt = (x: number) => span.from + (x / width) * (span.to - span.from);
	const hitAt = (x: number, y: number) => spanAt(timeline, places, timeAt(x) * 1e9, y, ((span.to - span.from) / width) * 1e9);
	const tell = (x: number, y: number) => {
		const hit = hitAt(x, y);
		if (!hit) return setTip(null);
		const lane = timeline.lanes[hit.lane];
		const at = placeOf(timeline, hit.lane, hit.i);
		const many = lane.n[hit.i] > 1;
		setTip({ x, y, text: [many ? `${plural(lane.n[hit.i], "span")} in ${amount(at.d / 1e9, "s")}` : at.name, many ? "zoom in to tell them apart" : `${KINDS[at.kind]}, ${amount(at.d / 1e9, "s")}`, `at ${briefly(at.t / 1e9 + (timeline.begin_s ?? 0), (span.to - span.from) / width)}`] });
	};
	const brushOf = (from: number, to: number) => ({ from: timeAt(Math.min(from, to)), to: timeAt(Math.max(from, to)) });
	const onUp = (event: PointerEvent) => {
		const d = drag.current;
		drag.current = null;
		setBrush(null);
		if (!d || d.isMove) return;
		if (Math.abs(event.offsetX - d.at) >= 4) return onSpan(clamp(brushOf(d.at, event.offsetX), whole));
		const hit = hitAt(event.offsetX, event.offsetY);
		if (hit && timeline.lanes[hit.lane].n[hit.i] > 1) onSpan(around(placeOf(timeline, hit.lane, hit.i), whole));
		else select(store, hit && placeOf(timeline, hit.lane, hit.i));
	};
	return (
		<div class="time-canvas">
			<canvas
				ref={canvas}
				tabIndex={0}
				role="img"
				aria-label={`spans of threads and streams from ${briefly(span.from, 1e-6)} to ${briefly(span.to, 1e-6)}. Plus and minus zoom, a and d move, 0 shows everything. The table below lists the longest spans.`}
				style={{ width: `${width}px`, height: `${height}px` }}
				onPointerDown={(e) => {
					(e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
					drag.current = { at: e.offsetX, isMove: e.shiftKey || e.button === 1, span };
					setTip(null);
				}}
				onPointerMove={(e) => {
					const d = drag.current;
					if (!d) tell(e.offsetX, e.offsetY);
					else if (d.isMove) onSpan(moved(d.span, (d.at - e.offsetX) / width, whole));
					else setBrush(brushOf(d.at, e.offsetX));
				}}
				onPointerUp={onUp}
				onPointerLeave={() => setTip(null)}
				onDblClick={() => onSpan(whole)}
				onKeyDown={(e) => {
					const to = keyStep(e, span, whole);
					if (!to) return;
					onSpan(to);
					e.preventDefault();
				}}
			/>
			{tip && (
				<div class="tip" role="presentation" style={{ left: `${Math.max(0, Math.min(tip.x + 12, width - 240))}px`, top: `${tip.y + 16}px` }}>
					{tip.text.map((line) => <div key={line}>{line}</div>)}
				</div>
			)}
		</div>
	);
}

/** The twin: the longest spans of what is seen. */
function Longest({ timeline, places, span, whole, onSpan }: { timeline: SpanTimeline; places: LanePlace[]; span: Span; whole: Span; onSpan: (span: Span) => void }) {
	const store = useStore();
	const place = usePlace();
	const [isOpen, open] = useState(false);
	return (
		<details class="twin" onToggle={(e) => open(e.currentTarget.open)}>
			<summary>table of the longest visible spans{place.q.trim() && ` that contain "${place.q.trim()}"`}</summary>
			{isOpen && (
				<div class="scroll" tabIndex={0} role="region" aria-label="the longest spans">
					<table class="grid">
						<thead><tr><th scope="col">span</th><th scope="col">kind</th><th scope="col" class="num">time</th><th scope="col" class="num">at</th><th scope="col">where</th></tr></thead>
						<tbody>
							{longest(timeline, span, ROWS, chosenNames(timeline.names, place.q, "")).map((at) => (
								<tr key={at.event} aria-current={at.event === place.event ? "true" : undefined}>
									<td class="code"><button type="button" class="plain" onClick={() => (select(store, at), onSpan(around(at, whole)))}>{at.name}</button></td>
									<td class="soft">{KINDS[at.kind]}</td>
									<td class="num" data-value={at.d / 1e9}>{amount(at.d / 1e9, "s")}</td>
									<td class="num">{briefly(at.t / 1e9 + (timeline.begin_s ?? 0), 1e-6)}</td>
									<td class="soft">{places[at.lane ?? 0]?.label}</td>
								</tr>
							))}
						</tbody>
					</table>
				</div>
			)}
		</details>
	);
}

function LinkList({ title, links, self, whole, begin, onSpan }: { title: string; links: SpanPlace[]; self: number; whole: Span; begin: number; onSpan: (span: Span) => void }) {
	const store = useStore();
	const others = links.filter((one, i) => one.event !== self && links.findIndex((other) => other.event === one.event) === i);
	if (!others.length) return null;
	return (
		<section class="spans-two">
			<h3>{title} <span class="soft">{count(others.length)}</span></h3>
			<ul class="neighbours">
				{others.slice(0, 6).map((one) => (
					<li key={one.event}>
						<span class="num">{amount(one.d / 1e9, "s")}</span>
						<span class="num soft">{briefly(one.t / 1e9 + begin, 1e-5)}</span>
						<button type="button" class="link code clip" title={one.name} onClick={() => (select(store, one), onSpan(around(one, whole)))}>{one.name}</button>
					</li>
				))}
				{others.length > 6 && <li class="soft">{count(others.length - 6)} more</li>}
			</ul>
		</section>
	);
}

function Details({ details, places, whole, begin, onSpan }: { details: SpanDetails; places: LanePlace[]; whole: Span; begin: number; onSpan: (span: Span) => void }) {
	const store = useStore();
	const { links } = details;
	const launches = links.filter((link) => !link.is_backward);
	const backward = links.filter((link) => link.is_backward);
	const isDevice = details.kind >= 5;
	const lists = { self: details.event, whole, begin, onSpan };
	return (
		<aside class="drawer" aria-label={`details of ${details.name}`}>
			<header>
				<h2 class="code clip" title={details.name}>{details.name}</h2>
				<span class="soft">{KINDS[details.kind]}{details.lane !== undefined && `, ${places[details.lane]?.label}`}</span>
				<span class="grow" />
				<button type="button" onClick={() => onSpan(around(details, whole))}>zoom to this span</button>
				<button type="button" class="plain" aria-label="close details" onClick={() => select(store, null)}>×</button>
			</header>
			<div class="three">
				<section>
					<h3>Span</h3>
					<dl class="facts">
						<div><dt>time</dt><dd data-value={details.d / 1e9}>{amount(details.d / 1e9, "s")}</dd></div>
						<div><dt>at</dt><dd>{briefly(details.t / 1e9 + begin, 1e-6)}</dd></div>
						{details.shapes && <div><dt>shapes</dt><dd class="code">{details.shapes}</dd></div>}
						{details.grid && <div><dt>grid</dt><dd class="code">{details.grid.join("×")} of {details.block?.join("×")}</dd></div>}
						{typeof details.occupancy_share === "number" && <div><dt>occupancy, estimate</dt><dd>{percent(details.occupancy_share)}</dd></div>}
						{typeof details.bytes === "number" && <div><dt>moved</dt><dd>{amount(details.bytes, "bytes")}</dd></div>}
					</dl>
				</section>
				{isDevice ? <LinkList title="Launched by" links={launches.map((link) => link.from)} {...lists} /> : <LinkList title="Ran on the device" links={launches.map((link) => link.to)} {...lists} />}
				<LinkList title="Autograd" links={backward.flatMap((link) => [link.from, link.to])} {...lists} />
			</div>
		</aside>
	);
}

export function SpansPane() {
	const place = usePlace();
	const store = useStore();
	const overview = useOverview();
	const isDark = useDark();
	const { isEmbedded } = store.source;
	const [holder, size] = useSize<HTMLDivElement>();
	const width = Math.max(0, size.width - LABELS);
	const [length, setLength] = useState(0);
	const whole = useMemo(() => ({ from: 0, to: Math.max(length, 1e-6) }), [length]);
	const span = (length && parseWindow(place.win)) || whole;
	const setSpan = (to: Span) => store.go({ win: formatWindow(to, whole) }, true);
	const asked = useRested(place.win, place.win);
	const near = (length && parseWindow(asked)) || null;
	// As much again on both sides: a step aside is drawn at once.
	const beside = near ? near.to - near.from : 0;
	const window: Partial<Span> = isEmbedded || !near ? {} : { from: Math.max(0, near.from - beside), to: Math.min(whole.to, near.to + beside) };
	const px = Math.max(100, Math.ceil(width / 100) * 100) * (near ? 3 : 1);
	const answer = useAnswer<SpanTimeline>(width > 0 ? "torch" : null, { r: place.r, what: "timeline", ...(isEmbedded ? {} : { ...window, px, python: place.python }) });
	if (answer.data && answer.data.length_s !== length) setLength(answer.data.length_s);
	const asks = place.event !== undefined && !isEmbedded;
	const found = useAnswer<SpanDetails>(asks ? "torch" : null, { r: place.r, what: "span", event: place.event, python: place.python });
	const timeline = answer.data;
	// Samples of the same moments stand above; where both have one clock, it is the recording's.
	const isAligned = timeline?.begin_s != null && overview.views.timeline === "";
	const begin = timeline?.begin_s ?? 0;
	const details = place.event === undefined || !timeline ? null : isEmbedded ? detailsFrom(timeline, place.event) : found.isOld || !found.data ? null : found.data;
	const links = useMemo(() => details?.links ?? [], [details?.event, timeline, details?.n_links]);
	const places = useMemo(() => (timeline ? lanePlaces(timeline.lanes) : []), [timeline]);
	const kinds = useMemo(() => [...new Set((timeline?.lanes ?? []).flatMap((lane) => lane.kind))].sort((a, b) => a - b), [timeline]);
	return (
		<div class="timelineview" ref={holder}>
			<div class="bar-of-tools">
				<button type="button" onClick={() => setSpan(zoomed(span, (span.from + span.to) / 2, 0.5, whole))} aria-label="zoom in">+</button>
				<button type="button" onClick={() => setSpan(zoomed(span, (span.from + span.to) / 2, 2, whole))} aria-label="zoom out">−</button>
				<button type="button" onClick={() => setSpan(whole)}>all</button>
				{timeline?.has_python && !isEmbedded && <button type="button" aria-pressed={place.python} onClick={() => store.go({ python: !place.python })}>Python functions</button>}
				<ul class="legend" aria-label="kinds of spans">
					{kinds.map((kind) => <li key={kind}><span class="key" style={{ background: kindColour(kind, isDark) }} aria-hidden="true" />{KINDS[kind]}</li>)}
				</ul>
				<span class="soft">{briefly(span.from + begin, (span.to - span.from) / 1000)} – {briefly(span.to + begin, (span.to - span.from) / 1000)}</span>
			</div>
			<Wait answer={answer}>
				{(data) =>
					data.lanes.length ? (
						<div class="time-scroll">
							{isAligned && <Samples begin={data.begin_s as number} span={span} asked={isEmbedded ? whole : { from: window.from ?? 0, to: window.to ?? whole.to }} width={width} px={px} />}
							<div class="time-row">
								<div class="labels">{places.map((one) => <span key={one.label} class="lane-label" style={{ top: `${one.y}px` }} title={one.label}>{one.label}</span>)}</div>
								<Canvas timeline={data} places={places} span={span} whole={whole} width={width} links={links} onSpan={setSpan} />
							</div>
							<Longest timeline={data} places={places} span={span} whole={whole} onSpan={setSpan} />
						</div>
					) : (
						<Notice title="No spans" text="The trace has no operators and nothing that ran on a device." />
					)
				}
			</Wait>
			<p class="foot soft">
				Scroll to zoom, Shift+scroll to move, drag to zoom into a range, click to select.
				{!!timeline?.too_deep && ` ${plural(timeline.too_deep, "span")} nested too deeply to show.`}
				{isEmbedded && " This page has the whole trace at low resolution. To zoom in further: leadline view TRACE."}
			</p>
			{details && <Details details={details} places={places} whole={whole} begin={begin} onSpan={setSpan} />}
		</div>
	);
}
