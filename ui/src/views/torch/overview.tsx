// SPDX-License-Identifier: MIT
// The overview of a trace: what the moments of its steps went to, how busy the device was, and what to change.
import { PARTS, Steps, TorchOverview } from "../../api/torch";
import { amount, counted, digits, percent, plural, ticks } from "../../model/format";
import { ceilingOf, columnsOf } from "../../model/torch";
import { Findings } from "../../parts/findings";
import { LineToLookAt } from "../../parts/next";
import { Wait } from "../../parts/states";
import { useAnswer, useOverview, usePlace, useSize, useStore } from "../../store";
import { PART_NAMES, PartBar } from "./parts";

const HEIGHT = 160;
const LABELS = 62;
/** Columns thinner than that could not be pointed at. */
const MOST_COLUMNS = 180;

/** Where a column is cut off: a gap across it, and how long it really took. */
function CutMark({ left, wide, seconds, isLast, isNamed }: { left: number; wide: number; seconds: number; isLast: boolean; isNamed: boolean }) {
	const wave = `M${left - 2} 12l${(wide + 4) / 4} -5l${(wide + 4) / 4} 5l${(wide + 4) / 4} -5l${(wide + 4) / 4} 5`;
	return (
		<g class="cut">
			<path d={wave} />
			{isNamed && <text x={isLast ? left - 4 : left + wide + 4} y={2} text-anchor={isLast ? "end" : "start"}>{amount(seconds, "s")} ↑</text>}
		</g>
	);
}

/** Steps as columns, what they went to stacked in the order of the legend. */
export function StepChart({ steps, selected, onSelect }: { steps: Steps; selected: string; onSelect: (name: string) => void }) {
	const [holder, size] = useSize<HTMLElement>();
	const width = Math.max(0, size.width - LABELS - 4);
	const columns = columnsOf(steps.steps, Math.min(MOST_COLUMNS, Math.max(10, width / 5)));
	const most = Math.max(ceilingOf(columns), 1e-12);
	const cut = columns.filter((column) => column.seconds > most);
	const { at } = ticks(0, most, 3);
	const step = width / columns.length;
	const wide = Math.min(60, step * 0.82);
	const y = (seconds: number) => HEIGHT - (seconds / most) * HEIGHT;
	return (
		<figure class="plot stepchart" ref={holder}>
			<svg width={width + LABELS + 4} height={HEIGHT + 18} viewBox={`${-LABELS} -10 ${width + LABELS + 4} ${HEIGHT + 18}`} role="img" aria-label={`times of ${plural(steps.steps.length, "step")}, as in the table of steps; the median is ${amount(steps.step_times.median_s, "s")}`}>
				{at.map((t) => (
					<g key={t}>
						<path class="rule" d={`M0 ${y(t)}H${width}`} />
						<text x={-6} y={y(t) + 4} text-anchor="end">{t === 0 ? "0" : amount(t, "s")}</text>
					</g>
				))}
				{columns.map((column, i) => {
					let top = 0;
					const left = i * step + (step - wide) / 2;
					const isSelected = column.n === 1 && column.name === selected;
					return (
						<g key={column.first} class={`column${isSelected ? " chosen" : ""}`} onClick={() => column.n === 1 && onSelect(column.name)}>
							<title>{`${column.name}: ${amount(column.seconds, "s")}${column.n > 1 ? " on average" : ""}\n${PARTS.filter((part) => column.parts[part] > 0).map((part) => `${PART_NAMES[part]} ${amount(column.parts[part], "s")}`).join("\n")}`}</title>
							{PARTS.map((part) => {
								const value = column.parts[part] ?? 0;
								const from = Math.min(top, most);
								top += value;
								const height = ((Math.min(top, most) - from) / most) * HEIGHT;
								return value > 0 && from < most && <rect key={part} class={`part ${part}`} x={left} width={wide} y={y(Math.min(top, most))} height={Math.max(0.2, height)} />;
							})}
							<rect class="frame" x={left} width={wide} y={y(Math.min(column.seconds, most))} height={(Math.min(column.seconds, most) / most) * HEIGHT} />
							{column.seconds > most && <CutMark left={left} wide={wide} seconds={column.seconds} isLast={left + 60 > width} isNamed={column === cut[0] || cut.length < 4} />}
						</g>
					);
				})}
				<path class="median" d={`M0 ${y(steps.step_times.median_s)}H${width}`} />
			</svg>
			<figcaption class="soft small">
				{columns[0]?.n > 1 ? `Each column is the mean of ${columns[0].n} steps in a row. ` : ""}Dashed: median.{cut.length > 0 && ` Cut off at the top: ${cut.slice(0, 3).map((column) => `${column.name} took ${amount(column.seconds, "s")}`).join(", ")}${cut.length > 3 ? ` and ${plural(cut.length - 3, "other")}` : ""}.`} From the bottom: {PARTS.filter((part) => columns.some((column) => column.parts[part] > 0)).map((part) => <span class="in-line" key={part}><span class={`key part ${part}`} aria-hidden="true" />{PART_NAMES[part]} </span>).flatMap((one) => [one, " "])}
			</figcaption>
		</figure>
	);
}

function Device({ overview }: { overview: TorchOverview["overview"] }) {
	const { busy_s, kernel_s, tensor_core_s } = overview;
	if (kernel_s === null || !(kernel_s > 0)) return <p class="soft">Nothing ran on a device, or the device was not profiled.</p>;
	const facts: [string, string, string, number | null][] = [
		["busy", percent((busy_s ?? 0) / overview.total_s), "share of step time with a kernel, copy or fill running", busy_s],
		["SM efficiency", percent(overview.sm_efficiency_share), "estimated share of multiprocessors with work", overview.sm_efficiency_share],
		["occupancy", percent(overview.occupancy_share), "estimated, over kernel time", overview.occupancy_share],
		["tensor cores", percent((tensor_core_s ?? 0) / kernel_s), "share of kernel time, judging by kernel names", tensor_core_s],
		["peak memory", amount(overview.peak_bytes, "bytes"), "most memory allocated at once", overview.peak_bytes],
	];
	return (
		<>
			{overview.device && <p class="answer">{overview.device}</p>}
			<dl class="facts device">
				{facts.filter(([, , , value]) => value !== null).map(([name, text, why, value]) => (
					<div key={name}>
						<dt title={why}>{name} <span class="small">{why}</span></dt>
						<dd data-fact={name} data-value={value}>{text}</dd>
					</div>
				))}
			</dl>
		</>
	);
}

function Recommendations({ data }: { data: TorchOverview }) {
	const { overview } = data;
	const { views, is_exact } = useOverview();
	const isSampled = views.table === "" && !is_exact;
	if (!overview.advice.length)
		return (
			<>
				{isSampled && <LineToLookAt />}
				<p class="soft">No rule found anything to change in {isSampled ? "these operators" : "this trace"}.</p>
			</>
		);
	const known = overview.advice.filter((one) => one.saving?.unit === "s").length;
	return (
		<>
			{known > 1 && overview.together_s != null && <p class="soft">These savings overlap. Together they save at most <b data-fact="together" data-value={overview.together_s}>{amount(overview.together_s, "s")}</b>, {percent(overview.together_s / overview.total_s)} of the steps.</p>}
			<Findings findings={overview.advice} pages={data.advice_pages ?? {}} />
			{isSampled && <div class="by-line"><LineToLookAt /></div>}
		</>
	);
}

/** Numbers of the training: by the steps of the trace, and what the program told of itself. */
function Training({ data }: { data: TorchOverview }) {
	const { training, overview, work } = data;
	const facts: [string, number | null | undefined, string, string][] = [
		["steps/s", overview.steps_per_s, digits(overview.steps_per_s ?? 0), "from the steps of the trace"],
		["steps/s, marked", training?.steps_per_s, digits(training?.steps_per_s ?? 0), "from leadline.torch.step(), one process"],
		["samples/s", training?.samples_per_s, digits(training?.samples_per_s ?? 0), "all processes together"],
		["tokens/s", training?.tokens_per_s, digits(training?.tokens_per_s ?? 0), "all processes together"],
		["FLOP/s", work?.flops_per_s, counted(work?.flops_per_s, "FLOP/s"), "in the steps, for operators with a known formula"],
		["MFU", work?.peak_flops_share, percent(work?.peak_flops_share ?? 0), work?.peak_flops_per_s ? `of ${counted(work.peak_flops_per_s, "FLOP/s")}, the ${work.peak}` : ""],
	];
	const known = facts.filter(([, value]) => value !== null && value !== undefined);
	if (!known.length) return <p class="soft">No steps were marked or found. Call prof.step() to mark them.</p>;
	return (
		<dl class="facts device">
			{known.map(([name, value, text, why]) => (
				<div key={name}>
					<dt title={why}>{name} <span class="small">{why}</span></dt>
					<dd data-fact={name} data-value={value}>{text}</dd>
				</div>
			))}
		</dl>
	);
}

export function TorchOverviewPane({ data }: { data: TorchOverview }) {
	const place = usePlace();
	const store = useStore();
	const { overview } = data;
	const steps = useAnswer<Steps>(overview.steps > 1 ? "torch" : null, { r: place.r, what: "steps", phase: place.phase });
	const length = amount(overview.total_s, "s");
	return (
		<div class="overview torch-overview">
			<section class="wide" aria-labelledby="torch-where">
				<h2 id="torch-where">Where the step time went</h2>
				<p class="answer">
					{overview.steps_marked || overview.steps > 1 ? `${plural(overview.steps, "step")} in ${length}, median ${amount(overview.median_s, "s")}, p99 ${amount(overview.p99_s, "s")}` : `${length} without marked steps. Call prof.step() to mark them`}
					{!overview.steps_marked && overview.steps > 1 && <span class="soft">; steps found by {overview.steps_found}</span>}
				</p>
				<PartBar parts={overview.parts_s} label="where the step time went" />
				<p class="soft small">Each moment counts once, for the first of these that was running on any thread or stream.</p>
				{overview.steps > 1 && <Wait answer={steps}>{(all) => <StepChart steps={all} selected={place.step} onSelect={(name) => store.go({ pane: "steps", step: name })} />}</Wait>}
			</section>
			<section aria-labelledby="torch-change">
				<h2 id="torch-change">What to change</h2>
				<Recommendations data={data} />
			</section>
			<div>
				<section aria-labelledby="torch-training">
					<h2 id="torch-training">Training</h2>
					<Training data={data} />
				</section>
				<section aria-labelledby="torch-device">
					<h2 id="torch-device">Device</h2>
					<Device overview={overview} />
				</section>
			</div>
		</div>
	);
}
