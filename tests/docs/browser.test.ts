import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { TEST_APP } from "@countersign/local-stack/testing/test-app.ts";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { addAuthenticator, openBrowser } from "../e2e/browser.ts";
import { newEmail, stack } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";
import { inEmptyFolder } from "./empty-folder.ts";

const origin = TEST_APP;

/** Writes a page's files as its reader does, for the addresses of this test's stack. */
function writeFiles(page: string, app: string): void {
  const textOf = (wanted: string) =>
    blocksOf(page)
      .flatMap(({ language, text }) => (language === wanted ? [text] : []))
      .join("\n")
      .replaceAll("http://localhost:8080", stack.gateway)
      .replaceAll("http://localhost:9000", stack.identityProvider.issuer);
  writeFileSync(join(app, "index.html"), textOf("html"));
  writeFileSync(join(app, "app.ts"), textOf("ts"));
}

async function logIn(page: Page): Promise<void> {
  await page.locator("input[name=email]").fill(newEmail());
  await page.locator("button").first().click();
  const allow = page.locator("button", { hasText: "Allow" });
  await allow.or(page.locator("output")).waitFor({ state: "attached" });
  if (await allow.isVisible()) await allow.click();
}

/** Signs a person up in the page at `port`, which the browser believes to be at the documented address. */
async function signUpInPage(port: number): Promise<void> {
  const { host } = new URL(origin);
  const browser = await openBrowser([`--host-resolver-rules=MAP ${host} 127.0.0.1:${port}`]);
  try {
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
  } finally {
    await browser.close();
  }
}

it("docs/web.md leads from an empty folder to a page that signs up with a passkey and seals a transaction", {
  timeout: 600_000,
}, async () => {
  await inEmptyFolder("web", `npm start -- --app ${origin}`, async (app) => {
    writeFiles("web", app);
    const [port] = await freePorts(1);
    // The page's `npx vite`, at a port of its own.
    const vite = ["vite", "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
    // With CI set, Vite writes colours into its output, also between the letters that are waited for.
    const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined };
    const server = spawn("npx", vite, { cwd: app, env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const lines = createInterface({ input: server.stdout, signal: AbortSignal.timeout(60_000) });
      for await (const line of lines) if (line.includes("Local:")) break;
      await signUpInPage(port!);
    } finally {
      const ended = once(server, "exit");
      process.kill(-server.pid!, "SIGTERM");
      await ended;
    }
  });
});
