// SPDX-License-Identifier: MIT
// What stands where a picture cannot: loading, nothing to show, not recorded, an error. Each says what to do next.
import { ComponentChildren } from "preact";
import { Answer } from "../store";

export function Skeleton({ rows = 6 }: { rows?: number }) {
	return (
		<div class="skeleton" role="status" aria-label="loading">
			{Array.from({ length: rows }, (_, i) => (
				<div key={i} />
			))}
		</div>
	);
}

/** leadline, a command of it, and what looks like an option or a file; or an option alone. */
export const COMMAND = /(leadline (?:run|view|attach|report|top)(?: (?:--?[a-z][\w-]*(?:=\S+)?|[A-Z]{2,}(?:\.py)?|\S+\.(?:py|lead|html)))*|(?<![\w-])--[a-z][\w-]*(?:=[a-z]\w*)?)/;

/** Text with commands in it, each shown as something to type. */
export function WithCommands({ text }: { text: string }) {
	const parts = text.split(COMMAND);
	return (
		<>
			{parts.map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}
		</>
	);
}

export function Notice({ title, text, children }: { title: string; text?: string; children?: ComponentChildren }) {
	return (
		<div class="notice" role="note">
			<strong>{title}</strong>
			{text && (
				<p>
					<WithCommands text={text} />
				</p>
			)}
			{children}
		</div>
	);
}

/** The answer's data through `children`, or what stands in its place. */
export function Wait<T>(props: { answer: Answer<T>; children: (data: T) => ComponentChildren }) {
	const { data, error, isSlow, isOld } = props.answer;
	if (error)
		return (
			<Notice
				title={error.status === 409 ? "Not in this recording" : error.status === 400 ? "This selection is not possible" : "No answer from leadline view"}
				text={error.message}
			/>
		);
	if (data === undefined) return isSlow ? <Skeleton /> : <div class="quiet" />;
	return <div class={isOld && isSlow ? "stale" : "fresh"}>{props.children(data)}</div>;
}
