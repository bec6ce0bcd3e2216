// SPDX-License-Identifier: MIT
// Bars with the interval's whiskers, and the stacked bar of what threads did.
import { STATES } from "../model/colour";
import { amount, percent } from "../model/format";
import { spread } from "../model/interval";
import { Cost, Unit } from "../api/types";

const at = (share: number) => `${Math.min(100, Math.max(0, share * 100)).toFixed(2)}%`;

/** A value of `largest`, its interval as a whisker; without low there is none. */
export function Bar(props: { value: number; low: number | null | undefined; high: number | null | undefined; largest: number; level?: string }) {
	const { value, low, high, largest } = props;
	const share = (v: number) => (largest > 0 ? v / largest : 0);
	return (
		<span class={`bar ${props.level ?? ""}`} aria-hidden="true">
			<span class="fill" style={{ width: at(share(value)) }} />
			{low != null && high != null && high > low && (
				<span class="whisker" style={{ left: at(share(low)), width: at(share(high - low)) }} />
			)}
		</span>
	);
}

/** A function's own time, or with what it calls, and its interval; of what is known by its bounds only, the time as stamped and those. */
export function Timed({ cost, of, unit }: { cost: Cost; of: "self" | "total"; unit: Unit }) {
	const low = cost[`${of}_low`];
	const high = cost[`${of}_high`];
	const raw = cost[`raw_${of}`];
	if (!cost[`${of}_is_bound`] || raw == null || low == null || high == null)
		return <>{amount(cost[of], unit)} <span class="spread">{spread(cost[of], low, high, unit)}</span></>;
	return <>{amount(raw, unit)} <span class="spread" title="Measured with the cost of tracing in it. Without tracing, the time lies between these bounds.">{amount(low, unit)}–{amount(high, unit)}</span></>;
}

export function StateBar({ states, unit }: { states: [string, number][]; unit: Unit }) {
	const total = states.reduce((sum, [, value]) => sum + value, 0);
	if (!(total > 0)) return null;
	const shown = states.filter(([, value]) => value > 0);
	return (
		<figure class="states">
			<div class="stack" aria-hidden="true">
				{shown.map(([name, value]) => (
					<span key={name} class={`state ${STATES[name]?.className ?? "other"}`} style={{ width: at(value / total) }}>
						{value / total > 0.12 ? percent(value / total) : ""}
					</span>
				))}
			</div>
			<figcaption>
				<ul class="legend">
					{states.map(([name, value]) => (
						<li key={name} title={STATES[name]?.hint}>
							<span class={`key state ${STATES[name]?.className ?? "other"}`} aria-hidden="true" />
							{STATES[name]?.label ?? name.replaceAll("_", " ")} <b>{percent(value / total)}</b>{" "}
							<span class="soft">{amount(value, unit)}</span>
						</li>
					))}
				</ul>
			</figcaption>
		</figure>
	);
}
