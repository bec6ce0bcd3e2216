// SPDX-License-Identifier: MIT
// Phases of a training in Chromium: one of them is all that counts, in the views of samples and in the panes of operators.
// Wants a recording of one, made with torch: tests/e2e/test_page_torch.py names it in LEADLINE_TRAINING.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { go, launch, link, open, PATIENCE_MS, report, seriousIn, serve, Server } from "./help";

const TRAINING = process.env.LEADLINE_TRAINING ?? "";

let browser: Browser;
let server: Server;

beforeAll(async () => {
	if (!TRAINING) return;
	browser = await launch();
	server = await serve(TRAINING);
});

afterAll(async () => {
	await browser?.close();
	await server?.stop();
});

/** Calls by operator, as the table has them. */
function calls(page: Page): Promise<Record<string, number>> {
	return page.$$eval(".torchview .grid:not(.launches)", (grids) => {
		const heads = [...(grids[0]?.querySelectorAll("thead th") ?? [])].map((th) => (th.textContent ?? "").replace(/ [▾▴]$/, "").replace(/ \(.*\)$/, ""));
		const at = [heads.indexOf("operator"), heads.indexOf("calls")];
		const rows = [...(grids[0]?.querySelectorAll<HTMLElement>("tbody tr") ?? [])].map((row) => at.map((i) => row.querySelectorAll("td")[i]?.dataset.value));
		return Object.fromEntries(rows.map(([name, n]) => [name ?? "", Number(n)]));
	});
}

const told = (...options: string[]): Record<string, number> => Object.fromEntries(report(TRAINING, "--ops", "--limit=0", ...options).operators.map((row: { name: string; calls: number }) => [row.name, row.calls]));

test.skipIf(!TRAINING)("a phase is chosen by its chip, stands in the address, and counts alone", async () => {
	const { page, errors } = await open(browser, link(server, "#/torch?pane=operators"));
	const all = told();
	await expect.poll(() => calls(page), { timeout: PATIENCE_MS }).toEqual(all);
	const choice = page.locator(".phases");
	expect(await choice.locator("button").allTextContents()).toEqual(["training only", "validation only"]);
	for (const name of ["training", "validation"]) {
		await choice.locator("button", { hasText: `${name} only` }).click();
		await expect.poll(() => new URL(page.url()).hash, { timeout: PATIENCE_MS }).toContain(`phase=${name}`);
		const wanted = told(`--phase=${name}`);
		expect(wanted).not.toEqual(all);
		await expect.poll(() => calls(page), { timeout: PATIENCE_MS }).toEqual(wanted);
		expect(await choice.locator("button[aria-pressed=true]").allTextContents()).toEqual([`${name} only`]);
	}
	expect(await seriousIn(page, false)).toEqual([]);
	// Again: all of the run.
	await choice.locator("button[aria-pressed=true]").click();
	await expect.poll(() => calls(page), { timeout: PATIENCE_MS }).toEqual(all);
	expect(errors).toEqual([]);
	await page.context().close();
});

test.skipIf(!TRAINING)("the samples of a phase are its own; its chip takes it away", async () => {
	const { page, errors } = await open(browser, link(server, "#/table"));
	await page.waitForSelector(".grid tbody tr");
	const shown = () => page.$$eval(".grid tbody tr", (rows) => rows.map((row) => row.textContent));
	const before = await shown();
	await page.locator(".chips button", { hasText: "validation only" }).click();
	await page.waitForSelector(".chip-label >> text=phase");
	await expect.poll(shown, { timeout: PATIENCE_MS }).not.toEqual(before);
	expect(await page.locator(".phases button[aria-pressed=true]").getAttribute("title")).toContain("of the run");
	await page.locator('.chip[aria-label="remove phase validation"]').click();
	await expect.poll(shown, { timeout: PATIENCE_MS }).toEqual(before);
	await go(page, "#/flame?phase=validation");
	await page.waitForSelector(".picture canvas");
	await page.waitForSelector('.phases button[aria-pressed="true"] >> text=validation only');
	expect(errors).toEqual([]);
	await page.context().close();
});
