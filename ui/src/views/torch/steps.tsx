// SPDX-License-Identifier: MIT
// The steps one by one: how long each took, what it went to, and what made the slow ones slow.
import { PARTS, Row, SlowStep, Step, Steps } from "../../api/torch";
import { amount, plural, signed } from "../../model/format";
import { Field, slowerBy } from "../../model/torch";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { StepChart } from "./overview";
import { PART_NAMES, TorchTable } from "./parts";

const FIELDS: Field[] = [
	{ key: "name", title: "step", kind: "text" },
	{ key: "duration_s", title: "time", kind: "s" },
	...PARTS.map((part): Field => ({ key: part, title: PART_NAMES[part], kind: "s", isOptional: true })),
	{ key: "slower", title: "slower by", kind: "text", hint: "for steps at least a fifth above the median: the part that grew most" },
];

export function rowOf(step: Step, steps: Steps): Row {
	const slow = slowerBy(step, steps.step_times.median_s, steps.step_times.median_parts_s);
	return { name: step.name, duration_s: step.duration_s, ...step.parts_s, slower: slow ? `${PART_NAMES[slow.part]} ${amount(slow.seconds, "s")}` : "" };
}

/** What the slow steps had more of than the median one. */
function SlowSteps({ slow, medianS }: { slow: SlowStep[]; medianS: number }) {
	const store = useStore();
	return (
		<section class="slow" aria-labelledby="slow-steps">
			<h2 id="slow-steps">Why some steps took longer</h2>
			<div class="two">
				{slow.map((step) => (
					<div key={step.name}>
						<h3>{step.name}: {amount(step.duration_s, "s")}, {signed(step.duration_s - medianS, "s")} against {step.median}</h3>
						<ul class="neighbours">
							{step.more.map((row) => (
								<li key={`${row.name}${row.on_device}`}>
									<span class="num">{signed(row.total_s - row.median_s, "s")}</span>
									<span class="num soft">{row.times === row.median_times ? `${row.times} ×` : `${row.median_times} → ${row.times} ×`}</span>
									<button type="button" class="link code clip" title={row.on_device ? "on the device" : "its own time on the host"} onClick={() => store.go({ pane: row.on_device ? "kernels" : "operators", q: row.name })}>{row.name}{row.on_device ? " (GPU)" : ""}</button>
								</li>
							))}
						</ul>
					</div>
				))}
			</div>
		</section>
	);
}

export function StepsPane() {
	const place = usePlace();
	const store = useStore();
	const answer = useAnswer<Steps>("torch", { r: place.r, what: "steps", phase: place.phase });
	return (
		<div class="tableview">
			<Wait answer={answer}>
				{(steps) => {
					const rows = steps.steps.map((step) => rowOf(step, steps));
					const slow = rows.filter((row) => row.slower).length;
					return (
						<>
							<p class="answer">
								median {amount(steps.step_times.median_s, "s")}, p99 {amount(steps.step_times.p99_s, "s")}, longest {amount(steps.step_times.max_s, "s")}
								{slow > 0 && <span class="soft">; {plural(slow, "step")} a fifth or more above the median</span>}
							</p>
							{steps.steps.length > 1 && <StepChart steps={steps} selected={place.step} onSelect={(step) => store.go({ step }, true)} />}
							<TorchTable fields={FIELDS} rows={rows} n={steps.step_times.n} caption="steps" order="" keyOf={(row) => String(row.name)} isSelected={(row) => row.name === place.step} onSelect={(row) => store.go({ step: String(row.name) }, true)} />
							{!!steps.slow_steps?.length && <SlowSteps slow={steps.slow_steps} medianS={steps.step_times.median_s} />}
						</>
					);
				}}
			</Wait>
		</div>
	);
}
