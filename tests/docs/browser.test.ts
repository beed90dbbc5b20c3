import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { run } from "@countersign/build/run.ts";
import { findChromium } from "@countersign/local-stack/chromium.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { TEST_APP } from "@countersign/local-stack/testing/test-app.ts";
import { expect, it } from "vitest";
import { stack } from "../support/person.ts";
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
  const html = textOf("html");
  writeFileSync(join(app, "index.html"), html);
  writeFileSync(join(app, /src="\/(.+)"/.exec(html)![1]!), textOf("ts"));
}

/** Uses the page at `port` by web.md's headless.ts; the browser believes it at the documented address. */
function useInChromium(app: string, port: number, lastText: string): Promise<string> {
  const [program] = blocksOf("web").filter(({ language }) => language === "typescript");
  const rule = `--host-resolver-rules=MAP ${new URL(origin).host} 127.0.0.1:${port}`;
  const flag = '"--no-sandbox"';
  writeFileSync(join(app, "headless.ts"), program!.text.replace(flag, `${flag}, ${JSON.stringify(rule)}`));
  const env = { ...process.env, CHROMIUM: findChromium() };
  return run(process.execPath, ["headless.ts", lastText], { cwd: app, env });
}

it.each([
  ["web", "a page that signs up with a passkey and seals a transaction", /^Sealed: [0-9a-f]{64}\n$/, "Sealed: "],
  [
    "fcl",
    "a page in which plain FCL seals a transaction, and signatures and proof are verified",
    /^Sealed: [0-9a-f]{64}\nUser signature verified: true\nAccount proof verified: true\n+$/,
    "Account proof verified",
  ],
])("docs/%s.md leads from an empty folder to %s", { timeout: 600_000 }, async (name, _result, shown, lastText) => {
  await inEmptyFolder(name, `npm start -- --app ${origin}`, async (app) => {
    writeFiles(name, app);
    await run("npm", ["install", "--save-dev", "playwright-core"], { cwd: app });
    const [port] = await freePorts(1);
    // The page's `npx vite`, at a port of its own.
    const vite = ["vite", "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
    // With CI set, Vite writes colours into its output, also between the letters that are waited for.
    const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined };
    const server = spawn("npx", vite, { cwd: app, env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const lines = createInterface({ input: server.stdout, signal: AbortSignal.timeout(60_000) });
      for await (const line of lines) if (line.includes("Local:")) break;
      expect(await useInChromium(app, port!, lastText)).toMatch(shown);
    } finally {
      const ended = once(server, "exit");
      process.kill(-server.pid!, "SIGTERM");
      await ended;
    }
  });
});

it("the program of docs/fcl.md for Node seals a transaction, and its signature is verified", {
  timeout: 600_000,
}, async () => {
  await inEmptyFolder("fcl", `npm start -- --app ${origin}`, async (app) => {
    const [program] = blocksOf("fcl").filter(({ language }) => language === "typescript");
    writeFileSync(join(app, "roles.ts"), program!.text);
    const printed = await run(process.execPath, ["roles.ts"], { cwd: app });
    expect(printed).toMatch(/Runs a script of the app[\s\S]*^Sealed: [0-9a-f]{64}$[\s\S]*^Verified: true$/m);
  });
});
