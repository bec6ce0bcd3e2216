// SPDX-License-Identifier: MIT
// What ran on the device, by name, and what its streams waited for.
import { Kernels, Row, Streams } from "../../api/torch";
import { amount, count, percent } from "../../model/format";
import { KERNEL_FIELDS, STREAM_FIELDS } from "../../model/torch";
import { Wait } from "../../parts/states";
import { useAnswer, usePlace, useStore } from "../../store";
import { TorchTable } from "./parts";

const number = (row: Row, key: string) => Number(row[key] ?? 0);

export function KernelsPane() {
	const place = usePlace();
	const store = useStore();
	const answer = useAnswer<Kernels>("torch", { r: place.r, what: "kernels" });
	return (
		<div class="tableview">
			<Wait answer={answer}>
				{(data) => {
					const all = data.kernels.reduce((sum, row) => sum + number(row, "seconds"), 0);
					const rows = data.kernels.map((row): Row => ({ ...row, share: all > 0 ? number(row, "seconds") / all : null, mean_s: number(row, "seconds") / Math.max(1, number(row, "times")) }));
					return (
						<TorchTable
							fields={KERNEL_FIELDS} rows={rows} caption="kernels, copies and fills" order="seconds" keyOf={(row) => String(row.name)}
							isSelected={(row) => !!place.op && row.operator === place.op} onSelect={(row) => store.go({ op: String(row.operator ?? "") }, true)}
							onOpen={(row) => row.operator && store.go({ pane: "operators", op: String(row.operator) })}
						/>
					);
				}}
			</Wait>
		</div>
	);
}

export function StreamsPane() {
	const place = usePlace();
	const answer = useAnswer<Streams>("torch", { r: place.r, what: "streams" });
	return (
		<div class="tableview">
			<Wait answer={answer}>
				{({ streams, launches }) => (
					<>
						{launches.launches > 0 && (
							<p class="answer">
								{count(launches.launches)} launches: the median took {amount(launches.median_launch_s, "s")} on the host, and its work began {amount(launches.median_delay_s, "s")} after it; {percent(launches.short / launches.launches)} launched what took less time than that
							</p>
						)}
						<TorchTable
							fields={STREAM_FIELDS} caption="streams" order="busy_s" keyOf={(row) => String(row.name)} isSelected={() => false} onSelect={() => undefined}
							rows={streams.map((row): Row => ({ ...row, name: `device ${row.device}, stream ${row.stream}`, share: number(row, "span_s") > 0 ? number(row, "busy_s") / number(row, "span_s") : null }))}
						/>
					</>
				)}
			</Wait>
		</div>
	);
}
