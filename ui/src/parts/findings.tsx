// SPDX-License-Identifier: MIT
// What to change: findings with all that is needed to judge them, whatever they were found in.
import { Finding, SourceFile } from "../api/types";
import { amount, percent } from "../model/format";
import { commandOf, MEANINGS, placeOf, textOf } from "../model/finding";
import { formatPlace, Place, selectionOf, START } from "../model/place";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { EditorLink } from "./editor";
import { Prose } from "./prose";

/** A link to the source where the recording holds it, else to the editor, else plain. */
function Where({ finding, files }: { finding: Finding; files: SourceFile[] }) {
	const place = usePlace();
	const store = useStore();
	const text = textOf(finding, files);
	const to: Partial<Place> = { view: "source", file: text, line: finding.line ?? undefined, f: undefined, open: "" };
	if (!text) return <EditorLink file={finding.file} line={finding.line}>{placeOf(finding)}</EditorLink>;
	return (
		<a
			href={formatPlace({ ...START, r: place.r, ...to })}
			onClick={(e) => {
				e.preventDefault();
				store.go(to);
			}}
		>
			{placeOf(finding)}
		</a>
	);
}

function Saving({ finding }: { finding: Finding }) {
	const { saving } = finding;
	if (!saving) return null;
	return (
		<span class="saving num" data-value={saving.value}>
			at most {amount(saving.value, saving.unit)}{saving.whole ? `, ${percent(saving.value / saving.whole)} of ${saving.of}` : ""}
		</span>
	);
}

/** `pages`: docs/advice by rule, as Markdown. */
export function Findings({ findings, pages }: { findings: Finding[]; pages: Record<string, string> }) {
	const place = usePlace();
	const overview = useOverview();
	const hasSource = overview.views.source === "" && findings.some((one) => one.file);
	const files = useAnswer<{ files: SourceFile[] }>(hasSource ? "files" : null, { ...selectionOf(place), filter: undefined });
	const path = overview.recordings.find((one) => one.r === place.r)?.path ?? "";
	return (
		<ol class="advice">
			{findings.map((one) => (
				<li key={one.rule} data-rule={one.rule}>
					<b class="title">{one.title}</b> <Saving finding={one} />
					<p class="small">
						<span class="confidence" data-level={one.confidence} title={MEANINGS[one.confidence]}>{one.confidence}</span>{" "}
						<span class="soft">{MEANINGS[one.confidence]}</span>
					</p>
					{one.file && <p class="place code"><Where finding={one} files={files.data?.files ?? []} /></p>}
					<p class="evidence">{one.evidence}.</p>
					<p><span class="soft">To do:</span> {one.change}.</p>
					<p class="proof small"><span class="soft">Shown by</span> <code>{commandOf(one.proof.shows, path)}</code>; <span class="soft">after the change</span> <code>{commandOf(one.proof.proves, path)}</code></p>
					{pages[one.rule] && <details class="small"><summary>More of the rule {one.rule}</summary><Prose text={pages[one.rule]} /></details>}
				</li>
			))}
		</ol>
	);
}
