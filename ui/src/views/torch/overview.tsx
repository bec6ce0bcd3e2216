// SPDX-License-Identifier: MIT
// The overview of a trace: what the moments of its steps went to, how busy the device was, and what to change.
import { PARTS, Steps, TorchOverview } from "../../api/torch";
import { amount, digits, percent, plural, ticks } from "../../model/format";
import { columnsOf } from "../../model/torch";
import { Findings } from "../../parts/findings";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useSize, useStore } from "../../store";
import { PART_NAMES, PartBar } from "./parts";

const HEIGHT = 160;
const LABELS = 62;
/** Columns thinner than that could not be pointed at. */
const MOST_COLUMNS = 180;

/** Steps as columns, what they went to stacked in the order of the legend. */
export function StepChart({ steps, selected, onSelect }: { steps: Steps; selected: string; onSelect: (name: string) => void }) {
	const [holder, size] = useSize<HTMLElement>();
	const width = Math.max(0, size.width - LABELS - 4);
	const columns = columnsOf(steps.steps, Math.min(MOST_COLUMNS, Math.max(10, width / 5)));
	const most = Math.max(...columns.map((column) => column.seconds), 1e-12);
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
					const isSelected = column.n === 1 && column.name === selected;
					return (
						<g key={column.first} class={`column${isSelected ? " chosen" : ""}`} onClick={() => column.n === 1 && onSelect(column.name)}>
							<title>{`${column.name}: ${amount(column.seconds, "s")}${column.n > 1 ? " on average" : ""}\n${PARTS.filter((part) => column.parts[part] > 0).map((part) => `${PART_NAMES[part]} ${amount(column.parts[part], "s")}`).join("\n")}`}</title>
							{PARTS.map((part) => {
								const value = column.parts[part] ?? 0;
								top += value;
								return value > 0 && <rect key={part} class={`part ${part}`} x={i * step + (step - wide) / 2} width={wide} y={y(top)} height={Math.max(0.2, (value / most) * HEIGHT)} />;
							})}
							<rect class="frame" x={i * step + (step - wide) / 2} width={wide} y={y(column.seconds)} height={(column.seconds / most) * HEIGHT} />
						</g>
					);
				})}
				<path class="median" d={`M0 ${y(steps.step_times.median_s)}H${width}`} />
			</svg>
			<figcaption class="soft small">
				{columns[0]?.n > 1 ? `Each column is the mean of ${columns[0].n} steps in a row. ` : ""}Dashed: the median. From the bottom: {PARTS.filter((part) => columns.some((column) => column.parts[part] > 0)).map((part) => <span class="in-line" key={part}><span class={`key part ${part}`} aria-hidden="true" />{PART_NAMES[part]} </span>).flatMap((one) => [one, " "])}
			</figcaption>
		</figure>
	);
}

/** "12.3 GFLOP/s" */
export function flopsInWords(perS: number): string {
	const unit = ["", "k", "M", "G", "T", "P", "E"];
	const size = Math.min(unit.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(perS, 1)) / 3)));
	return `${digits(perS / 1000 ** size)}\u00a0${unit[size]}FLOP/s`;
}

function Device({ overview }: { overview: TorchOverview["overview"] }) {
	const { busy_s, kernel_s, tensor_core_s } = overview;
	if (kernel_s === null || !(kernel_s > 0)) return <p class="soft">Nothing ran on a device, or it was not profiled.</p>;
	const facts: [string, string, string, number | null][] = [
		["busy", percent((busy_s ?? 0) / overview.total_s), "of the steps a kernel, copy or fill ran", busy_s],
		["SM efficiency", percent(overview.sm_efficiency_share), "estimate: multiprocessors with work", overview.sm_efficiency_share],
		["occupancy", percent(overview.occupancy_share), "estimate, of kernel time", overview.occupancy_share],
		["tensor cores", percent((tensor_core_s ?? 0) / kernel_s), "of kernel time, by the names of kernels", tensor_core_s],
		["peak memory", amount(overview.peak_bytes, "bytes"), "most that was allocated at a time", overview.peak_bytes],
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
	if (!overview.advice.length) return <p class="soft">No rule that this trace can decide has anything to say.</p>;
	const known = overview.advice.filter((one) => one.saving?.unit === "s").length;
	return (
		<>
			{known > 1 && overview.together_s != null && <p class="soft">Savings overlap and do not add up: together at most <b data-fact="together" data-value={overview.together_s}>{amount(overview.together_s, "s")}</b>, {percent(overview.together_s / overview.total_s)} of the steps.</p>}
			<Findings findings={overview.advice} pages={data.advice_pages ?? {}} />
		</>
	);
}

/** Numbers of the training: by the steps of the trace, and what the program told of itself. */
function Training({ data }: { data: TorchOverview }) {
	const { training, overview, work } = data;
	const facts: [string, number | null | undefined, string, string][] = [
		["steps/s", overview.steps_per_s, digits(overview.steps_per_s ?? 0), "steps of the trace, by their time"],
		["steps/s told", training?.steps_per_s, digits(training?.steps_per_s ?? 0), "by leadline.torch.step(), of one process"],
		["samples/s", training?.samples_per_s, digits(training?.samples_per_s ?? 0), "of all processes together"],
		["tokens/s", training?.tokens_per_s, digits(training?.tokens_per_s ?? 0), "of all processes together"],
		["FLOP/s", work?.flops_per_s, flopsInWords(work?.flops_per_s ?? 0), "in the steps, by the shapes of operators with known formulas"],
		["MFU", work?.peak_flops_share, percent(work?.peak_flops_share ?? 0), work?.peak_flops_per_s ? `of ${flopsInWords(work.peak_flops_per_s)}, the ${work.peak}` : ""],
	];
	const known = facts.filter(([, value]) => value !== null && value !== undefined);
	if (!known.length) return <p class="soft">Steps are not marked, and none could be found: prof.step() marks them.</p>;
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
	const steps = useAnswer<Steps>(overview.steps > 1 ? "torch" : null, { r: place.r, what: "steps" });
	const length = amount(overview.total_s, "s");
	return (
		<div class="overview torch-overview">
			<section class="wide" aria-labelledby="torch-where">
				<h2 id="torch-where">Where the time of the steps went</h2>
				<p class="answer">
					{overview.steps_marked || overview.steps > 1 ? `${plural(overview.steps, "step")} in ${length}, the median ${amount(overview.median_s, "s")}, 99 of 100 within ${amount(overview.p99_s, "s")}` : `${length} without marked steps: prof.step() marks them`}
					{!overview.steps_marked && overview.steps > 1 && <span class="soft">; steps found by {overview.steps_found}</span>}
				</p>
				<PartBar parts={overview.parts_s} label="what the moments of the steps went to" />
				<p class="soft small">Each moment counts for the first of these that ran, on whatever thread or stream.</p>
				{overview.steps > 1 && <Wait answer={steps}>{(all) => <StepChart steps={all} selected={place.step} onSelect={(name) => store.go({ pane: "steps", step: name })} />}</Wait>}
			</section>
			<section aria-labelledby="torch-change">
				<h2 id="torch-change">What to change</h2>
				<Recommendations data={data} />
			</section>
			<section aria-labelledby="torch-device">
				<h2 id="torch-device">Device</h2>
				<Device overview={overview} />
			</section>
			<section aria-labelledby="torch-training">
				<h2 id="torch-training">Training</h2>
				<Training data={data} />
			</section>
		</div>
	);
}
