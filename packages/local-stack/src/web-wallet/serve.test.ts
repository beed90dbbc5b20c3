import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Faucet } from "./faucet.ts";
import { createWebWallet, fileOf } from "./serve.ts";

const outside = mkdtempSync(join(tmpdir(), "wallet-"));
const folder = join(outside, "dist");
beforeAll(() => {
  mkdirSync(join(folder, "assets"), { recursive: true });
  for (const file of ["dist/index.html", "dist/assets/index-1.js", "dist/sources.txt", "secret.js"]) {
    writeFileSync(join(outside, file), file);
  }
  symlinkSync(join(outside, "secret.js"), join(folder, "assets/linked.js"));
});
afterAll(() => rmSync(outside, { recursive: true }));

describe("files of the page", () => {
  it.each(["/index.html", "/assets/index-1.js"])("serves %s", (path) =>
    expect(fileOf(folder, path)).toContain(path.split("/").at(-1)),
  );

  it.each(["/../secret.js", "/assets/../../secret.js", "/assets/linked.js", "/sources.txt", "/nothing.js", "/"])(
    "does not serve %s",
    (path) => expect(fileOf(folder, path)).toBeUndefined(),
  );
});

describe("test tokens", () => {
  const origin = "http://localhost:8090";
  const given: unknown[] = [];
  const account = {
    async run(_script: string, args: unknown[]) {
      given.push(args);
      if (given.length === 2) throw new Error("the chain refused");
      return [{ type: "x", transactionId: `transaction ${given.length}`, fields: {} }];
    },
  };
  const server = createWebWallet({ origin, folder, config: { gateway: "here" }, faucet: new Faucet(account) });
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());
  const ask = (body: string, headers: Record<string, string> = { origin }) =>
    fetch(`${url}/faucet`, { method: "POST", headers, body });
  const ADDRESS = JSON.stringify({ address: "0x01cf0e2f2f715450" });

  it("are for this page only, and for addresses", async () => {
    expect((await ask(ADDRESS, { origin: "https://elsewhere.example" })).status).toBe(403);
    expect((await ask(ADDRESS, {})).status).toBe(403);
    expect((await ask("{}")).status).toBe(400);
    expect((await ask(JSON.stringify({ address: `0x01cf0e2f2f715450"${" ".repeat(2_000)}` }))).status).toBe(400);
    expect(given).toEqual([]);
  });

  it("come one transaction after another, also after one that failed", async () => {
    const answers = await Promise.all([ask(ADDRESS), ask(ADDRESS), ask(ADDRESS)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 502, 200]);
    expect(await answers[2]!.json()).toEqual({ id: "transaction 3" });
    expect(given[0]).toMatchObject([{ type: "UFix64" }, { type: "Address", value: "0x01cf0e2f2f715450" }]);
  });

  it("the page has its settings, and no script from elsewhere", async () => {
    const settings = await fetch(`${url}/config.json`);
    expect(await settings.json()).toEqual({ gateway: "here" });
    expect(settings.headers.get("content-security-policy")).toContain("default-src 'self'");
    expect((await fetch(`${url}/`)).headers.get("cache-control")).toBe("no-store");
    expect((await fetch(`${url}/assets/index-1.js`)).headers.get("cache-control")).toContain("immutable");
    expect((await fetch(`${url}/`, { method: "DELETE" })).status).toBe(405);
  });
});
