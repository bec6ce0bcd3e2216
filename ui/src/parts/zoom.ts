// SPDX-License-Identifier: MIT
// Steps in a window of time, the same in every picture over it: keys, the wheel, and the rest before the server is asked.
import { useEffect, useRef, useState } from "preact/hooks";
import { moved, Span, zoomed } from "../model/timeline";

/** Until the window rests that long nothing is asked. */
const REST_MS = 80;

export function useRested<T>(value: T, key: string): T {
	const [rested, set] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => set(value), REST_MS);
		return () => clearTimeout(timer);
	}, [key]);
	return rested;
}

/** Where a key leads; null: it is none of them. */
export function keyStep(event: KeyboardEvent, span: Span, whole: Span): Span | null {
	if (event.ctrlKey || event.metaKey || event.altKey) return null;
	const middle = (span.from + span.to) / 2;
	switch (event.key) {
		case "+": case "=": case "w": return zoomed(span, middle, 0.5, whole);
		case "-": case "s": return zoomed(span, middle, 2, whole);
		case "a": case "ArrowLeft": return moved(span, -0.25, whole);
		case "d": case "ArrowRight": return moved(span, 0.25, whole);
		case "0": return whole;
	}
	return null;
}

/** The wheel zooms around the pointer; with shift, or sideways, it moves. */
export function useWheel(canvas: { current: HTMLCanvasElement | null }, span: Span, whole: Span, width: number, onSpan: (span: Span) => void): void {
	const onWheel = (event: WheelEvent) => {
		const at = span.from + (event.offsetX / width) * (span.to - span.from);
		if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) onSpan(moved(span, (event.deltaX || event.deltaY) / width, whole));
		else onSpan(zoomed(span, at, Math.exp(event.deltaY * 0.0015), whole));
		event.preventDefault();
	};
	const wheel = useRef(onWheel);
	wheel.current = onWheel;
	useEffect(() => {
		// Preact's listener would be passive, and the page would scroll instead.
		const listener = (event: WheelEvent) => wheel.current(event);
		const element = canvas.current;
		element?.addEventListener("wheel", listener, { passive: false });
		return () => element?.removeEventListener("wheel", listener);
	}, []);
}
