// SPDX-License-Identifier: MIT
// Opens a profile in speedscope itself, in Chromium, as its own command line does, and prints as JSON what it shows:
//
//	node speedscope.mjs FOLDER-OF-ITS-PAGE PROFILE TIMEOUT-S
//
// {"ms": until the profile is there, "heap_mb", "title", "rows": [[total, self, function], …] of its sandwich view}, or {"failed": why}.
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const { chromium } = createRequire(new URL("../../ui/", import.meta.url))("playwright-core");
const [folder, profile, timeout] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "speedscope-"));

async function rows(page) {
	await page.getByText("Sandwich").click(); // a table of functions
	await page.waitForFunction(() => [...document.querySelectorAll("tr td")].some((cell) => /%/.test(cell.textContent ?? "")), undefined, { timeout: timeout * 1000 });
	return page.$$eval("tr", (all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent)).filter((cells) => /%/.test(cells[0] ?? "")));
}

async function look(browser) {
	const script = join(scratch, "profile.js");
	writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(profile))}, "${readFileSync(profile).toString("base64")}")`);
	const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
	const errors = [];
	page.on("pageerror", (error) => errors.push(String(error)));
	page.on("crash", () => errors.push("the page crashed"));
	const begun = performance.now();
	await page.goto(`file://${folder}/index.html#localProfilePath=${script}`, { waitUntil: "commit", timeout: timeout * 1000 });
	await page.waitForFunction(() => /Sandwich/.test(document.body.innerText), undefined, { timeout: timeout * 1000 });
	const ms = performance.now() - begun;
	const metrics = await (await page.context().newCDPSession(page)).send("Runtime.getHeapUsage");
	const title = await page.title();
	return { ms, heap_mb: metrics.usedSize / 1e6, title, rows: await rows(page), errors };
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader", "--allow-file-access-from-files"] });
try {
	console.log(JSON.stringify(await look(browser)));
} catch (error) {
	console.log(JSON.stringify({ failed: String(error).split("\n")[0] }));
} finally {
	await browser.close();
	rmSync(scratch, { recursive: true });
}
