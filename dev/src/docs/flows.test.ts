import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { isReason } from "@countersign/core";
import { expect, it } from "vitest";

const read = (path: string) => readFileSync(join(root, path), "utf8");

/** An arrow of a diagram of docs/flows.md. */
interface Arrow {
  readonly line: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

const arrows: Arrow[] = [...read("docs/flows.md").matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)]
  .flatMap(([, diagram]) => diagram!.split("\n"))
  .flatMap((line) => {
    const [, from, to, text] = /^\s*(\w+)-{1,2}>>(\w+): (.+)$/.exec(line) ?? [];
    return from && to && text ? [{ line: line.trim(), from, to, text }] : [];
  });

const SERVICES = ["auth", "device", "key", "account", "signer"];
const rpcs: [name: string, callers: string[]][] = Object.entries<{ callers: string[] }>(
  JSON.parse(read("deploy/peers.json")).rpcs,
).map(([name, { callers }]) => [name, callers]);

it("each call between services is an RPC that the caller table allows", () => {
  const calls = arrows.filter(({ from, to }) => SERVICES.includes(from) && SERVICES.includes(to) && from !== to);
  let checked = 0;
  for (const { line, from, to, text } of calls) {
    for (const name of text.match(/\b([A-Z][a-z]+){2,}\b/g) ?? []) {
      if (isReason(name)) continue;
      const row = rpcs.find(([rpc]) => rpc.startsWith(`${to}.v1.`) && rpc.endsWith(`/${name}`));
      expect(row, line).toBeDefined();
      expect(row![1], line).toContain(from);
      checked += 1;
    }
  }
  expect(checked).toBeGreaterThan(25);
});

it("each request is a route of the gateway", () => {
  const routes = readdirSync(join(root, "gateway/src/routes"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => [...read(`gateway/src/routes/${file}`).matchAll(/path: "([^"]+)"/g)])
    .map(([, path]) => path!);
  const requests = arrows.flatMap(({ text }) => text.match(/(?<=\b(GET|POST|PUT|DELETE) )\/[\w/{}-]+/g) ?? []);
  expect(requests.length).toBeGreaterThan(20);
  for (const request of requests) expect(routes).toContain(request);
});
