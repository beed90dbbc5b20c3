import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root } from "@countersign/build/paths.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openBrowser } from "../e2e/browser.ts";

/** Ten times as long as it takes on an idle machine. */
const BUILD_MS = 600_000;

let site: string;
let command: ChildProcess;
let browser: Browser;

beforeAll(async () => {
  command = spawn(process.execPath, [join(root, "dev/bootstrap.mjs"), "docs", "--port", "0"], { cwd: root });
  const printed: string[] = [];
  createInterface({ input: command.stderr! }).on("line", (line) => printed.push(line));
  for await (const line of createInterface({ input: command.stdout! })) {
    printed.push(line);
    const url = /^documentation: (http:\/\/127\.0\.0\.1:\d+) /.exec(line)?.[1];
    if (url === undefined) continue;
    site = url;
    break;
  }
  if (site === undefined) throw new Error(`npm run docs ended:\n${printed.join("\n")}`);
  browser = await openBrowser();
}, BUILD_MS);

afterAll(async () => {
  await browser?.close();
  command?.kill("SIGTERM");
});

/** Opens a page, and collects what it loads from elsewhere and the errors in it. */
async function open(path: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(site)) complaints.push(request.url());
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(site + path);
  return { page, complaints };
}

it("shows a page with its code and the sidebar's sections in order", async () => {
  const { page, complaints } = await open("/signing");
  expect(await page.locator("h1").textContent()).toContain("Signing");
  await page.locator("pre code").first().waitFor();
  const sections = await page.locator(".VPSidebarItem.level-0 > .item h2").allTextContents();
  expect(sections).toEqual(["Start", "Guides", "Concepts", "Reference", "Operating", "Changing"]);
  expect(complaints).toEqual([]);
  await page.close();
});

it("draws every diagram", async () => {
  const { page, complaints } = await open("/flows");
  const sources = await (await fetch(`${site}/flows.md`)).text();
  const diagrams = sources.match(/^```mermaid$/gm)?.length ?? 0;
  expect(diagrams).toBeGreaterThan(0);
  await page
    .locator(".mermaid svg")
    .nth(diagrams - 1)
    .waitFor();
  expect(await page.locator(".mermaid svg").count()).toBe(diagrams);
  expect(await page.locator(".mermaid").allTextContents()).not.toContainEqual(expect.stringContaining("Syntax error"));
  expect(complaints).toEqual([]);
  await page.close();
});

it("finds a page by its words", async () => {
  const { page, complaints } = await open("/");
  await page.locator(".VPNavBarSearch button").click();
  await page.locator("#localsearch-input").fill("matching code");
  await page.locator(".VPLocalSearchBox .result", { hasText: "The matching code" }).first().click();
  await page.waitForURL(/two-factor/);
  // The address changes before the page does.
  await page.locator("h1", { hasText: "Enrolling a new device" }).waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});

it("leads from an error's type to its entry, and from a page to a file of the repository", async () => {
  const { page } = await open("/errors#pleaseregisterkey");
  expect(await page.locator("#pleaseregisterkey").textContent()).toContain("PleaseRegisterKey");
  await page.goto(`${site}/policy`);
  const href = await page.locator("a", { hasText: "policy.example.json" }).first().getAttribute("href");
  const file = await fetch(site + href!);
  expect(file.headers.get("content-type")).toContain("text/plain");
  expect(await file.json()).toBeTypeOf("object");
  await page.close();
});

it("lists its pages for language models, each as Markdown", async () => {
  const list = await (await fetch(`${site}/llms.txt`)).text();
  expect(list).toMatch(/^# Countersign\n\n> .+\n\n## Start\n/);
  const links = [...list.matchAll(/^- \[.+?\]\((\/[\w/-]+\.md)\): /gm)].map(([, link]) => link!);
  expect(links.length).toBeGreaterThan(30);
  const full = await (await fetch(`${site}/llms-full.txt`)).text();
  for (const link of links) {
    const answer = await fetch(site + link);
    expect(answer.status, link).toBe(200);
    expect(full).toContain(await answer.text());
  }
});
