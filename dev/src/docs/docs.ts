import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import express from "express";
import { runInForeground } from "../foreground.ts";
import { runProject } from "../test.ts";
import { writeErrorPage } from "./error-catalogue.ts";

const VITEPRESS = join(root, "node_modules/vitepress/bin/vitepress.js");
const SITE = join(root, "docs/.vitepress/dist");

/** Builds the documentation's site. Errors: Failure with the dead links. */
const buildSite = (): Promise<string> => run(process.execPath, [VITEPRESS, "build", "docs"]);

/** Serves the built site on loopback; port 0 takes a free one. */
async function serveSite(port: number): Promise<{ url: string; close: () => void }> {
  const app = express().use(express.static(SITE, { extensions: ["html"] }));
  const server = createServer(app).listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as { port: number };
  return { url: `http://127.0.0.1:${address.port}`, close: () => void server.close() };
}

/** `npm run docs`: builds and serves the site, serves pages under work, or writes docs/errors.md. */
export async function docs(options: { port: string; watch: boolean; write: boolean }): Promise<void> {
  if (options.write) return writeErrorPage(root);
  const port = Number(options.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Failure(`--port ${options.port} is not a port.`);
  if (options.watch) {
    const args = [VITEPRESS, "dev", "docs", "--host", "127.0.0.1", "--port", options.port];
    await runInForeground(args);
    return;
  }
  console.log("building the documentation, about half a minute …");
  await buildSite();
  const { url, close } = await serveSite(port);
  console.log(`documentation: ${url} (Ctrl-C stops it)`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => resolve());
  });
  close();
}

/** `npm run test:docs`: tests/docs, against the real stack. */
export const testDocs = (args: readonly string[]): Promise<number> => runProject("docs", args);
