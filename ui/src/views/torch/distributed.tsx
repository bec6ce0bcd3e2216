// SPDX-License-Identifier: MIT
// The ranks of a job side by side: what their time went to, how long they waited for each other, and for whom.
import { Distributed, Row } from "../../api/torch";
import { amount, baseOf, count, percent } from "../../model/format";
import { Field } from "../../model/torch";
import { Notice, Wait } from "../../parts/states";
import { useAnswer } from "../../store";
import { TorchTable } from "./parts";

/** Kinds of moments, in the order of the bar; colours as those of steps. */
const MOMENTS: [key: "computation_s" | "overlap_s" | "communication_s" | "other_s", part: string, name: string][] = [
	["computation_s", "kernel", "computes"],
	["overlap_s", "dataloader", "both"],
	["communication_s", "communication", "communicates"],
	["other_s", "other", "neither"],
];

const RANKS: Field[] = [
	{ key: "name", title: "rank", kind: "text" },
	{ key: "duration_s", title: "time", kind: "s", hint: "of its steps" },
	{ key: "steps", title: "steps", kind: "count" },
	...MOMENTS.map(([key, , title]): Field => ({ key, title, kind: "s" })),
	{ key: "transfer_s", title: "transfers", kind: "s", hint: "the shortest of the ranks' times of each collective" },
	{ key: "waiting_s", title: "waits", kind: "s", hint: "beyond the transfer: for ranks that came later" },
	{ key: "collectives", title: "collectives", kind: "count" },
	{ key: "times_last", title: "last", kind: "count", hint: "so often the others waited for it" },
	{ key: "others_waited_s", title: "others wait", kind: "s", hint: "for it, all of them together" },
	{ key: "file", title: "file", kind: "text" },
];

const COLLECTIVES: Field[] = [
	{ key: "name", title: "collective", kind: "text" },
	{ key: "total_s", title: "time", kind: "s", hint: "of all ranks" },
	{ key: "calls", title: "calls", kind: "count" },
	{ key: "matched", title: "in all ranks", kind: "count", hint: "collectives found in all their ranks" },
	{ key: "transfer_s", title: "transfers", kind: "s" },
	{ key: "waiting_s", title: "waits", kind: "s" },
	{ key: "bytes", title: "bytes", kind: "bytes", isOptional: true, hint: "input of the ranks, all calls" },
	{ key: "ranks", title: "ranks", kind: "count" },
	{ key: "group", title: "group", kind: "text" },
];

export function straggling(data: Distributed): string {
	const rank = data.ranks.find((one) => one.rank === data.straggler);
	if (!rank) return "No rank stands out: the others do not wait for one of them.";
	return `The others wait for rank ${rank.rank}: it came last to ${count(rank.times_last)} of ${count(rank.collectives)} collectives, which cost them ${amount(rank.others_waited_s, "s")} in all.`;
}

function RankBars({ data }: { data: Distributed }) {
	const longest = Math.max(...data.ranks.map((rank) => rank.duration_s), 1e-12);
	return (
		<figure class="states">
			<ul class="rankbars" aria-hidden="true">
				{data.ranks.map((rank) => (
					<li key={rank.rank}>
						<span class="num">rank {rank.rank}</span>
						<span class="stack" style={{ width: `${((rank.duration_s / longest) * 100).toFixed(2)}%` }}>
							{MOMENTS.map(([key, part]) => rank[key] > 0 && <span key={key} class={`part ${part}`} style={{ width: `${((rank[key] / rank.duration_s) * 100).toFixed(2)}%` }}>{rank[key] / rank.duration_s > 0.08 ? percent(rank[key] / rank.duration_s) : ""}</span>)}
						</span>
					</li>
				))}
			</ul>
			<figcaption><ul class="legend">{MOMENTS.map(([key, part, name]) => <li key={key}><span class={`key part ${part}`} aria-hidden="true" />{name}</li>)}</ul></figcaption>
		</figure>
	);
}

export function DistributedPane() {
	const answer = useAnswer<{ distributed: Distributed }>("ranks", {});
	const table = { isSelected: () => false, onSelect: () => undefined };
	return (
		<div class="tableview streamspane">
			<Wait answer={answer}>
				{({ distributed: data }) => (
					<>
						<p class="answer">{straggling(data)}</p>
						{data.notes.length > 0 && <Notice title="What does not match" text={data.notes.join("; ")} />}
						<RankBars data={data} />
						<section><h2>Ranks {data.backend && <span class="soft">({data.backend})</span>}</h2>
							<TorchTable {...table} fields={RANKS} rows={data.ranks.map((row): Row => ({ ...row, name: `rank ${row.rank}`, file: baseOf(row.file) }))} caption="ranks" order="" keyOf={(row) => String(row.rank)} />
						</section>
						<section><h2>Collectives</h2>
							<TorchTable {...table} fields={COLLECTIVES} rows={data.collectives} caption="collectives" order="total_s" keyOf={(row) => `${row.name} ${row.group}`} />
						</section>
						<p class="foot soft">A collective takes each rank from when it is there until the last one is, and then for the transfer. No clock of one rank is compared with another's.</p>
					</>
				)}
			</Wait>
		</div>
	);
}
