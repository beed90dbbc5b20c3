import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, createMetrics, readOnce, watchFiles } from "@countersign/runtime";
import { afterEach, describe, expect, it } from "vitest";
import { DEFAULT_POLICY, parsePolicy, RULES_VERSION } from "./policy.ts";
import { startPolicies } from "./start-policies.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-policy-"));
const file = join(directory, "policy.json");
const content = (version: string, change: object = {}) => ({
  version,
  mode: "standard",
  caps: { gasLimit: 9999 },
  switches: { authorizer: true, paymaster: true, creation: true },
  ...change,
});
const write = (policy: unknown) => writeFileSync(file, typeof policy === "string" ? policy : JSON.stringify(policy));

let closing: (() => unknown)[] = [];
let text = "";
const logger = createLogger({
  name: "test",
  level: "info",
  destination: {
    write: (line: string) => {
      text += line;
    },
  },
});
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
  text = "";
});
function watch(path: string | undefined = file) {
  const metrics = createMetrics("test", { defaults: false });
  const files = watchFiles({ logger, metrics, intervalMs: 20 });
  closing.push(() => files.close());
  return startPolicies(path, { files, logger, metrics, onClose: (_name, close) => closing.push(close) });
}
const refused = () => text.split("\n").filter((line) => line.includes("file-refused"));

describe("the policy file", { timeout: 60_000 }, () => {
  it("is reloaded when it changes, also by being replaced", async () => {
    write(content("1"));
    const policies = watch();
    expect(policies.current().version).toBe(`${RULES_VERSION}/1`);
    write(content("2", { mode: "strict" }));
    await expect.poll(() => policies.current().version, { timeout: 20_000 }).toBe(`${RULES_VERSION}/2`);
    expect(policies.current().mode).toBe("strict");
    writeFileSync(`${file}.new`, JSON.stringify(content("three")));
    renameSync(`${file}.new`, file);
    await expect.poll(() => policies.current().version, { timeout: 20_000 }).toBe(`${RULES_VERSION}/three`);
    expect(refused()).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ["no JSON", "{", /JSON/],
    ["an unknown field", content("2", { budget: 1 }), /budget/],
    ["an unknown mode", content("2", { mode: "lenient" }), /mode/],
    ["no open fees at all", content("2", { caps: { gasLimit: 1, openFeesFlow: 0 } }), /caps\.openFeesFlow/],
    ["a cap above what the chain takes", content("2", { caps: { gasLimit: 10_000 } }), /caps\.gasLimit/],
    ["a switch that is neither on nor off", content("2", { switches: { authorizer: "no" } }), /switches\.authorizer/],
    ["a contract without its address", content("2", { contracts: { mayGetAccount: ["FlowToken"] } }), /a contract is/],
    ["a script that is no hash", content("2", { scripts: { allowed: ["transaction {}"] } }), /a script is/],
    ["a budget that limits nothing", content("2", { budgets: { app: [{ windowSeconds: 60 }] } }), /limits nothing/],
    [
      "a budget below nothing",
      content("2", { budgets: { app: [{ windowSeconds: 60, count: -1 }] } }),
      /budgets\.app\.0/,
    ],
    ["a window without end", content("2", { budgets: { app: [{ count: 1 }] } }), /windowSeconds/],
    [
      "a budget of creations in FLOW, which nobody settles",
      content("2", { budgets: { creation: [{ windowSeconds: 60, feesFlow: 1 }] } }),
      /budgets\.creation\.0/,
    ],
    ...[1, 9].map((count): [string, object, RegExp] => [
      `a budget of ${count} creations, into which a full batch never fits`,
      content("2", {
        budgets: {
          creation: [
            { windowSeconds: 60, count: 10 },
            { windowSeconds: 600, count },
          ],
        },
      }),
      /budgets\.creation\.1.*10/,
    ]),
    ["a budget of nobody", content("2", { budgets: { device: [] } }), /device/],
    ["a price that is none", content("2", { prices: { c: { inclusionFlow: -1, computationFlow: 0 } } }), /prices\.c/],
    ["no version", { ...content("2"), version: "" }, /version/],
  ])("keeps the old policy and alerts: %s", async (_, policy, why) => {
    write(content("1"));
    const policies = watch();
    write(policy);
    await expect.poll(() => refused().at(-1), { timeout: 20_000 }).toMatch(why);
    expect(policies.current().version).toBe(`${RULES_VERSION}/1`);
    expect(() => watch()).toThrow(why);
  });

  it("may be gone for a while", async () => {
    write(content("1"));
    const policies = watch();
    rmSync(file);
    await expect.poll(refused, { timeout: 20_000 }).not.toEqual([]);
    expect(policies.current().version).toBe(`${RULES_VERSION}/1`);
  });

  it("may be none: then the default decides", () => {
    const metrics = createMetrics("test", { defaults: false });
    const never = { files: readOnce, logger, metrics, onClose: () => undefined };
    expect(startPolicies(undefined, never).current()).toBe(DEFAULT_POLICY);
  });

  it("has an example in deploy/", () => {
    const example = JSON.parse(
      readFileSync(join(import.meta.dirname, "../../../../deploy/policy.example.json"), "utf8"),
    );
    expect(parsePolicy(example).mode).toBe("standard");
  });
});

describe("budgets in the policy", () => {
  it("are finite where the file says nothing, and absent only where it says so", () => {
    for (const policy of [DEFAULT_POLICY, parsePolicy(content("1"))])
      for (const [scope, rules] of Object.entries(policy.budgets)) {
        const fees = scope === "creation" ? undefined : expect.any(Number);
        expect(rules).toEqual([expect.objectContaining({ fees, count: expect.any(Number) })]);
      }
    const own = parsePolicy(content("2", { budgets: { app: [], account: [{ windowSeconds: 60, feesFlow: 0.1 }] } }));
    expect(own.budgets).toMatchObject({ app: [], account: [{ windowSeconds: 60, fees: 10_000_000 }] });
    expect(own.budgets.service).toEqual(DEFAULT_POLICY.budgets.service);
  });

  it("of creations are for none at all, or for a full batch and more", () => {
    for (const count of [0, 10, 11]) {
      const { budgets } = parsePolicy(content("2", { budgets: { creation: [{ windowSeconds: 60, count }] } }));
      expect(budgets.creation).toMatchObject([{ windowSeconds: 60, count }]);
    }
  });

  it("know what a chain asks for, and mainnet's prices for all others", () => {
    const { pricesOf } = parsePolicy(
      content("1", { prices: { "flow-testnet": { inclusionFlow: 0.001, computationFlow: 0 } } }),
    );
    expect(pricesOf("flow-testnet")).toEqual({ inclusion: 100_000, computation: 0 });
    expect(pricesOf("flow-mainnet")).toEqual({ inclusion: 10_000, computation: 4_000 });
  });
});
