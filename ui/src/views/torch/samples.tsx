// SPDX-License-Identifier: MIT
// What the sampler saw of the program's threads, above the operators of the same moments: one time line for both.
import { useMemo, useRef, useState } from "preact/hooks";
import { Timeline } from "../../api/types";
import { STATES } from "../../model/colour";
import { briefly } from "../../model/format";
import { selectionOf } from "../../model/place";
import { busiest, runAt, Span } from "../../model/timeline";
import { AXIS, drawTimeline, LANE, lanesOf } from "../../parts/draw_timeline";
import { prepare, useAnswer, useDark, useDrawing, usePlace, useStore } from "../../store";

/** More threads than these push the operators out of sight; the view Timeline has all of them. */
const THREADS = 5;

interface SamplesProps {
	/** When the trace begins, in the recording's time. */
	begin: number;
	/** What is seen, and what is asked for: in the trace's time. */
	span: Span;
	asked: Span;
	width: number;
	px: number;
}

function Picture({ timeline, begin, span, width }: SamplesProps & { timeline: Timeline }) {
	const store = useStore();
	const place = usePlace();
	const isDark = useDark();
	const canvas = useRef<HTMLCanvasElement>(null);
	const [tip, setTip] = useState<{ x: number; y: number; text: string[] } | null>(null);
	const seen = { from: span.from + begin, to: span.to + begin };
	const lanes = useMemo(() => lanesOf(timeline), [timeline]);
	const height = AXIS + lanes.length * (LANE + 6);
	useDrawing(() => {
		const c = canvas.current && width > 0 ? prepare(canvas.current, width, height) : null;
		if (c) drawTimeline(c, { timeline, lanes, span: seen, width, height, isDark, nameOf: (f) => store.nameOf(f), brush: null, f: place.f, label: briefly });
	}, [timeline, seen.from, seen.to, width, height, isDark, place.f]);
	const tell = (x: number, y: number) => {
		const lane = lanes.find((one) => y >= one.y && y < one.y + one.height);
		const thread = lane && timeline.threads[lane.thread];
		const t = seen.from + (x / width) * (seen.to - seen.from);
		const i = thread ? runAt(thread, t) : -1;
		if (!thread || i < 0) return setTip(null);
		const state = timeline.states[thread.s[i]];
		setTip({ x, y, text: [store.nameOf(thread.f[i])?.[1] ?? "", STATES[state]?.label ?? state, `at ${briefly(t, (seen.to - seen.from) / width)}`].filter(Boolean) });
	};
	return (
		<div class="time-row samples">
			<div class="labels">
				{lanes.map((lane) => {
					const thread = timeline.threads[lane.thread];
					return <span key={thread.number} class="lane-label" style={{ top: `${lane.y + 3}px` }} title={`thread ${thread.tid} of process ${thread.pid}, as sampled`}>{thread.name || `thread ${thread.tid}`} <span class="soft">sampled</span></span>;
				})}
			</div>
			<div class="time-canvas">
				<canvas
					ref={canvas} role="img" aria-label="what the sampler saw of the threads at the same time; the Timeline view has it as a table"
					style={{ width: `${width}px`, height: `${height}px` }} onPointerMove={(e) => tell(e.offsetX, e.offsetY)} onPointerLeave={() => setTip(null)}
				/>
				{tip && (
					<div class="tip" role="presentation" style={{ left: `${Math.max(0, Math.min(tip.x + 12, width - 240))}px`, top: `${tip.y + 16}px` }}>
						{tip.text.map((line) => <div key={line}>{line}</div>)}
					</div>
				)}
			</div>
		</div>
	);
}

export function Samples(props: SamplesProps) {
	const place = usePlace();
	const { isEmbedded } = useStore().source;
	const { begin, asked, px } = props;
	const window = { from: Math.max(0, asked.from + begin), to: Math.max(1e-6, asked.to + begin) };
	const { idle, process, r } = selectionOf(place);
	const answer = useAnswer<Timeline>("timeline", isEmbedded ? { r } : { r, idle, process, ...window, px });
	const timeline = useMemo(() => answer.data && { ...answer.data, regions: [], threads: busiest(answer.data, window, THREADS) }, [answer.data]);
	return timeline?.threads.length ? <Picture {...props} timeline={timeline} /> : null;
}
