// SPDX-License-Identifier: MIT
// What to change: findings with all that is needed to judge them, whatever they were found in.
import { Finding, SourceFile } from "../api/types";
import { commandOf, MEANINGS, placeOf, savingOf, textOf } from "../model/finding";
import { formatPlace, Place, selectionOf, START } from "../model/place";
import { useAnswer, useOverview, usePlace, useStore } from "../store";
import { EditorLink } from "./editor";
import { Prose } from "./prose";

/** A link to the source where the recording holds it, else to the editor, else plain. */
export function Where({ at, label, files }: { at: Pick<Finding, "file" | "line">; label: string; files: SourceFile[] }) {
	const place = usePlace();
	const store = useStore();
	const text = textOf(at, files);
	const to: Partial<Place> = { view: "source", file: text, line: at.line ?? undefined, f: undefined, open: "" };
	if (!text) return <EditorLink file={at.file} line={at.line}>{label}</EditorLink>;
	return (
		<a
			href={formatPlace({ ...START, r: place.r, ...to })}
			onClick={(e) => {
				e.preventDefault();
				store.go(to);
			}}
		>
			{label}
		</a>
	);
}

function Saving({ finding }: { finding: Finding }) {
	const { saving } = finding;
	if (!saving) return finding.saving_unknown ? <span class="soft">What it saves is {finding.saving_unknown}.</span> : null;
	return (
		<span class="saving num" data-value={saving.value} data-estimate={saving.estimate ?? undefined}>{savingOf(saving)}</span>
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
					{one.file && <p class="place code"><Where at={one} label={placeOf(one)} files={files.data?.files ?? []} /></p>}
					<p class="evidence">{one.evidence}.</p>
					<p><span class="soft">Change:</span> {one.change}.</p>
					<p class="proof small"><span class="soft">See it:</span> <code>{commandOf(one.proof.shows, path)}</code> · <span class="soft">Prove the change:</span> <code>{commandOf(one.proof.proves, path)}</code></p>
					{pages[one.rule] && <details class="small"><summary>About the rule {one.rule}</summary><Prose text={pages[one.rule]} /></details>}
				</li>
			))}
		</ol>
	);
}
