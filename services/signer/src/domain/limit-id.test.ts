import { uuidv4 } from "@countersign/core";
import { payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { createLogger } from "@countersign/runtime";
import { beforeEach, describe, expect, it } from "vitest";
import { createAuditLog } from "../audit/audit-log.ts";
import { sha256 } from "../audit/record.ts";
import { newWriter } from "../testing/audit-fixture.ts";
import { addition, ephemeral } from "../testing/key-addition-fixture.ts";
import {
  account,
  asked,
  chain,
  chainName,
  clock,
  device,
  policies,
  signedTemplates,
  signing,
  store,
  tx,
  vault,
} from "../testing/policy-fixture.ts";
import { refusalOf } from "../testing/template-fixture.ts";
import { createDecide } from "./decide.ts";
import { signTransaction } from "./sign-transaction.ts";
import { signVoid } from "./sign-void.ts";

const LIMIT = 3;
/** The counts in the database, by id. */
const counted = new Map<string, number>();
const newDecide = () =>
  createDecide({
    vault,
    clock,
    policies,
    audit: createAuditLog({
      store: {
        startChain: async () => undefined,
        commit: async (_head, _batch, charge) => {
          for (const [id, count] of charge?.counted.counts ?? []) counted.set(id, (counted.get(id) ?? 0) + count);
          return true;
        },
        commitWithinLimits: () => expect.unreachable("nothing is over a limit of the database"),
      },
      writer: newWriter(),
      clock,
      logger: createLogger({ name: "test", level: "silent" }),
      signaturesPerMinute: LIMIT,
    }),
  });
let decide: ReturnType<typeof createDecide>;
beforeEach(() => {
  counted.clear();
  decide = newDecide();
});
/** A custom script, which only a full session may have signed. */
const ordinary = payloadMessage(tx());
const sign = (by: Parameters<typeof asked>[1], message = ordinary) =>
  refusalOf(signTransaction({ ...signing, decide })(asked(message, by)));

describe("the limit of signatures per minute", () => {
  const sessionId = "01900000-0000-7000-8000-0000000000aa";
  it.each([
    ["an ephemeral token, which takes only a login", { ...ephemeral, sessionId }],
    ["a recovery session", { scope: "recover", sessionId } as const],
  ])("is its own for %s: its refusals do not stop the account's devices", async (_, thief) => {
    for (let i = 0; i < LIMIT; i++) expect(await sign(thief)).toBe("OutsideEphemeralScope");
    expect(await sign(thief)).toBe("RateLimited");
    expect(await sign({})).toBe("signed");
    const [ofThief, [id, count] = []] = counted;
    expect([ofThief, count]).toEqual([[sessionId, LIMIT], 1]);
    // As Postgres returns it: the commit looks its counts up by it.
    expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const text = `${account.accountId}/${device.publicKey.publicKey}`;
    expect(id?.replaceAll("-", "")).toBe(sha256(text).slice(0, 32));
  });

  it("is a device's, over its sessions: a stolen phone does not stop the owner's other device", async () => {
    const stolen = { deviceKey: generateKeyPair().publicKey };
    const refused = payloadMessage(tx({ gasLimit: 0n }));
    for (let i = 0; i < LIMIT; i++) {
      expect(await sign({ ...stolen, sessionId: uuidv4() }, refused)).toBe("GasLimit");
    }
    expect(await sign(stolen)).toBe("RateLimited");
    expect(await sign({})).toBe("signed");
  });

  it("holds for requests at once: those under way count before any of them has its answer", async () => {
    let started = 0;
    let running = 0;
    let most = 0;
    const find: typeof store.find = async (accountId) => {
      started += 1;
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running -= 1;
      return store.find(accountId);
    };
    const refused = payloadMessage(tx({ gasLimit: 0n }));
    const ask = () => refusalOf(signTransaction({ ...signing, decide, bindings: { ...store, find } })(asked(refused)));
    const answers = await Promise.all(Array.from({ length: 10 * LIMIT }, ask));
    expect([started, most]).toEqual([LIMIT, LIMIT]);
    expect(answers.filter((answer) => answer === "GasLimit")).toHaveLength(LIMIT);
    expect(answers.filter((answer) => answer === "RateLimited")).toHaveLength(9 * LIMIT);
  });

  it("counts no request under way once it is over, however it ended", async () => {
    const failing = { ...store, find: () => Promise.reject(new Error("the database does not answer")) };
    for (let i = 0; i < 3 * LIMIT; i++) {
      await expect(signTransaction({ ...signing, decide, bindings: failing })(asked(ordinary))).rejects.toThrow();
    }
    expect(await sign({})).toBe("signed");
  });

  it("does not hold up what a freeze voids: a thief who has used it up would win that minute", async () => {
    const kept = addition();
    const { sequenceNumber } = kept.proposalKey;
    const open = { sessionId, limit: 1, openSince: new Date(0), unfrozenAt: undefined };
    await signedTemplates.record({ ...account, serverKeyIndex: 0 }, { number: sequenceNumber, ...open }, clock.now());
    const refused = payloadMessage(tx({ gasLimit: 0n }));
    for (let i = 0; i < LIMIT; i++) expect(await sign({}, refused)).toBe("GasLimit");
    expect(await sign({})).toBe("RateLimited");
    const freezes = { current: () => true, isFrozen: () => true };
    const voiding = signVoid({ decide, bindings: store, signedTemplates, freezes, chain });
    const command = { accountId: account.accountId, chainName, referenceBlockId: "cd".repeat(32), sequenceNumber };
    expect(await voiding({ ...command, caller: "account" })).toMatchObject({ payload: { keyId: 0 } });
  });
});
