import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import type { Page } from "playwright-core";
import { build } from "vite";
import { expect, it } from "vitest";
import { addAuthenticator, openBrowser } from "../e2e/browser.ts";
import { newEmail, stack } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";

/** Bundles a page's blocks as its reader does; returns the files by their paths. */
async function bundle(page: string): Promise<Map<string, string>> {
  const folder = join(root, ".local/docs-pages", page);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const textOf = (language: string) =>
    blocksOf(page)
      .filter((block) => block.language === language)
      .map(({ text }) => text)
      .join("\n");
  const program = textOf("ts")
    .replaceAll("http://localhost:8080", stack.gateway)
    .replaceAll("http://localhost:9000", stack.identityProvider.issuer);
  writeFileSync(join(folder, "index.html"), textOf("html"));
  writeFileSync(join(folder, "app.ts"), program);
  const built = await build({ root: folder, configFile: false, logLevel: "error", build: { write: false } });
  const { output } = (Array.isArray(built) ? built[0] : built) as {
    output: { fileName: string; code?: string; source?: string | Uint8Array }[];
  };
  return new Map(output.map(({ fileName, code, source }) => [`/${fileName}`, code ?? String(source)]));
}

async function logIn(page: Page): Promise<void> {
  await page.locator("input[name=email]").fill(newEmail());
  await page.locator("button").first().click();
  const allow = page.locator("button", { hasText: "Allow" });
  await allow.or(page.locator("output")).waitFor({ state: "attached" });
  if (await allow.isVisible()) await allow.click();
}

it("the page of docs/web.md signs a person up with a passkey and has a transaction sealed", {
  timeout: 120_000,
}, async () => {
  const files = await bundle("web");
  const server = createServer(({ url = "" }, response) => {
    const { pathname } = new URL(url, "http://localhost");
    const path = pathname === "/" ? "/index.html" : pathname;
    const type = path.endsWith(".js") ? "text/javascript" : "text/html";
    response.writeHead(files.has(path) ? 200 : 404, { "content-type": type }).end(files.get(path));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // The page takes the place of the example page, whose origin the stack knows.
  const { origin, host } = new URL(stack.webWallet!);
  const browser = await openBrowser([`--host-resolver-rules=MAP ${host} 127.0.0.1:${port}`]);
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  await addAuthenticator(context, page);
  await page.goto(`${origin}/`);
  await page.locator("button").click();
  await logIn(page);
  await page.locator("output", { hasText: /^Sealed: [0-9a-f]{64}$/ }).waitFor({ timeout: 60_000 });
  expect(complaints).toEqual([]);
  await browser.close();
  server.close();
});
