// SPDX-License-Identifier: MIT
// How the page of `leadline view` does in Chromium, as JSON:
//
//	node view_page.mjs URL NODE,NODE…       nodes to zoom to
//
// first_paint_ms: anything; picture_ms: the flame graph with its boxes, from the beginning of the navigation on. frame_ms: CPU time
// of the page's thread for one step of wheel in the timeline, drawn from what it has; trip_ms: a zoom to a node until the
// server's answer is drawn; trip_cpu_ms: CPU time of the page's thread for it. All as [p50, p95]. heap_mb after all of it.
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../ui/", import.meta.url))("playwright-core");
const [url, nodes] = process.argv.slice(2);
const STEPS = 40, PATIENCE = { timeout: 120000 };

const percentiles = (values) => [0.5, 0.95].map((share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]);
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function busy(session) {
	const { metrics } = await session.send("Performance.getMetrics");
	return metrics.find((m) => m.name === "TaskDuration").value * 1e3;
}

async function frames(page, session) {
	await page.evaluate(() => (location.hash = "#/timeline"));
	const canvas = page.locator(".time-canvas canvas").first();
	await canvas.waitFor(PATIENCE);
	const box = await canvas.boundingBox();
	await page.mouse.move(box.x + box.width / 2, box.y + Math.min(40, box.height / 2));
	const cost = [];
	for (let i = 0; i < STEPS; i++) {
		const before = await busy(session);
		await page.mouse.wheel(0, i % 20 < 10 ? -100 : 100);
		await drawn(page);
		cost.push((await busy(session)) - before);
	}
	return cost;
}

async function trips(page, session) {
	const waited = [], cost = [];
	for (const id of nodes.split(",")) {
		await page.evaluate(() => (location.hash = "#/flame"));
		await drawn(page);
		const before = await busy(session);
		waited.push(
			await page.evaluate(
				(node) =>
					new Promise((done) => {
						const begun = performance.now();
						const seen = new PerformanceObserver((list) => {
							if (!list.getEntries().some((e) => new URL(e.name).searchParams.get("node") === node)) return;
							seen.disconnect();
							requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
						});
						seen.observe({ type: "resource" });
						setTimeout(() => done(-1), 10000);
						location.hash = `#/flame?node=${node}`;
					}),
				id,
			),
		);
		cost.push((await busy(session)) - before);
	}
	const isAnswered = (_, i) => waited[i] >= 0;
	return [waited.filter(isAnswered), cost.filter(isAnswered)];
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
	const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
	const session = await page.context().newCDPSession(page);
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	await page.goto(`${url}/flame`);
	await page.locator(".picture canvas").first().waitFor(PATIENCE);
	await drawn(page);
	const picture = await page.evaluate(() => performance.now());
	const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
	const [waited, worked] = await trips(page, session);
	const cost = await frames(page, session);
	await session.send("HeapProfiler.collectGarbage");
	const heap = await session.send("Runtime.getHeapUsage");
	const trip = waited.length ? { trip_ms: percentiles(waited), trip_cpu_ms: percentiles(worked) } : { trip_ms: null };
	console.log(JSON.stringify({ first_paint_ms: paint, picture_ms: picture, frame_ms: percentiles(cost), ...trip, heap_mb: heap.usedSize / 1e6 }));
} finally {
	await browser.close();
}
