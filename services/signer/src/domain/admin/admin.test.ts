import { setImmediate as breathe } from "node:timers/promises";
import { systemClock } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { EXPORT_FORMAT } from "../../audit/export-lines.ts";
import { DEFAULT_POLICY } from "../../policy/policy.ts";
import { checkPolicy } from "./check-policy.ts";
import { auditReading } from "./read-audit.ts";

describe("a policy", () => {
  const check = checkPolicy({ policies: { current: () => DEFAULT_POLICY } });
  const policy = {
    version: "next-1",
    mode: "standard",
    caps: { gasLimit: 9999 },
    switches: { authorizer: true, paymaster: true, creation: true },
  };

  it("in effect is shown with each of its settings", () => {
    const { current, currentVersion, problem, changes } = check("");
    expect(currentVersion).toBe(DEFAULT_POLICY.version);
    expect(current).toEqual(
      expect.arrayContaining(["mode: standard", "switches.paymaster: true", "scripts.denied: none"]),
    );
    expect([problem, ...changes]).toEqual([""]);
  });

  it("in a text is compared with it", () => {
    expect(check(JSON.stringify(policy)).changes).toEqual([
      `version: script-1/next-1 instead of ${DEFAULT_POLICY.version}`,
    ]);
    const denied = "ab".repeat(32);
    const strict = { ...policy, mode: "strict", scripts: { denied: [denied] } };
    expect(check(JSON.stringify(strict)).changes).toEqual(
      expect.arrayContaining(["mode: strict instead of standard", `scripts.denied: ${denied} instead of none`]),
    );
  });

  it("in a text is compared by each app's identifiers and each chain's prices, too", () => {
    const prices = { "flow-testnet": { inclusionFlow: 0.5, computationFlow: 0 } };
    expect(
      check(JSON.stringify({ ...policy, appIdentifiers: { "app.1": ["https://evil.example"] }, prices })).changes,
    ).toEqual(
      expect.arrayContaining([
        "appIdentifiers.app.1: https://evil.example instead of absent",
        "prices.flow-testnet.inclusion: 50000000 instead of absent",
      ]),
    );
  });

  it.each(["{", "[]", "null", JSON.stringify({ ...policy, mode: "all" }), JSON.stringify({ ...policy, more: 1 })])(
    "is not in the text %s",
    (text) => {
      const { problem, version, changes } = check(text);
      expect(problem).not.toBe("");
      expect([version, ...changes]).toEqual([""]);
    },
  );
});

describe("the audit log", () => {
  const linesOf = (count: number) =>
    async function* () {
      yield EXPORT_FORMAT;
      for (let i = 0; i < count; i++) yield "end";
    };
  const signal = new AbortController().signal;
  const unused = undefined as never;
  const options = {
    archives: unused,
    actions: unused,
    twoPersons: true,
    auditSigner: { keys: new Map(), version: () => 1, sign: unused },
    archiveMinDays: 30,
    clock: systemClock,
    pause: () => breathe(),
  };

  it("is exported in parts", async () => {
    const sizes: number[] = [];
    const { exportAudit } = auditReading({
      exportLines: linesOf(1_000),
      ...options,
    });
    for await (const lines of exportAudit()) sizes.push(lines.length);
    expect(sizes).toEqual([500, 500, 1]);
  });

  it("is not verified in a process that signs where its checkpoints would not fit into the memory", async () => {
    const { verifyAudit } = auditReading({
      ...options,
      async *exportLines() {
        yield EXPORT_FORMAT;
        for (let i = 0; i < 101_000; i++) yield "checkpoint {}";
        yield "end";
      },
    });
    const verifying = async () => {
      for await (const _ of verifyAudit(signal));
    };
    await expect(verifying()).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("is verified with progress, once at a time", async () => {
    const file = { sequence: 1, sha256: "ab".repeat(32) };
    const by = { person: "ada", reason: "the quarter's archive" };
    const request = { ...by, id: "r", at: new Date(), command: "audit remove", accountId: null, arguments: file };
    const {
      exportAudit,
      verifyAudit: verify,
      removeAudit,
      decideRequest,
    } = auditReading({
      exportLines: linesOf(1),
      ...options,
      twoPersons: false,
      actions: { begin: unused, request: unused, reject: unused, findRequest: async () => request },
    });
    const first = verify(signal);
    const second = verify(signal);
    const begun = first.next();
    await expect(second.next()).rejects.toMatchObject({ reason: "RateLimited" });
    await expect(exportAudit().next()).rejects.toMatchObject({ reason: "RateLimited" });
    await expect(removeAudit(by, file, signal).next()).rejects.toMatchObject({ reason: "RateLimited" });
    const deciding = decideRequest({ ...by, person: "grace" }, { requestId: "r", approve: true, ...file }, signal);
    await expect(deciding.next()).rejects.toMatchObject({ reason: "RateLimited" });
    let last = (await begun).value;
    for await (const each of first) last = each;
    expect(last).toMatchObject({ lines: 2n, report: { problems: [], records: 0 } });
    expect((await verify(signal).next()).done).toBe(false);
  });

  it("is not verified further when nobody waits", async () => {
    const abort = new AbortController();
    let read = 0;
    async function* endless() {
      yield EXPORT_FORMAT;
      for (;;) {
        read += 1;
        if (read % 500 === 0) await breathe();
        yield "end";
      }
    }
    const { verifyAudit: verify } = auditReading({
      exportLines: endless,
      ...options,
    });
    const running = verify(abort.signal);
    await running.next();
    abort.abort();
    await expect(running.next()).rejects.toThrow();
    const before = read;
    for (let i = 0; i < 20; i++) await breathe();
    expect(read - before).toBeLessThan(2_000);
  });
});
