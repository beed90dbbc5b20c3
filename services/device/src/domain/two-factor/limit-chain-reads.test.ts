import { AppError, newTrace } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { limitChainReads } from "./limit-chain-reads.ts";
import type { KeyAdditions } from "./ports.ts";

const shown = Buffer.from("shown");
const renewed = Buffer.from("renewed");
const call = { requestId: "test", trace: newTrace() };
const ofAccount = () => ({
  accountId: v7(),
  chainName: "flow-emulator",
  userKey: generateKeyPair().publicKey,
  recovering: false,
});

describe("one request's reads of the chain in a minute", () => {
  let clock: FixedClock;
  let read: number;
  let limited: KeyAdditions;
  const addition = ofAccount();
  const verify = (of = addition) =>
    limited.verify({ ...of, transactionId: "ab".repeat(32), notBefore: new Date(0), firstMessage: shown }, call);

  beforeEach(() => {
    clock = new FixedClock();
    read = 0;
    const chain = {
      prepare: async () => {
        read += 1;
        return renewed;
      },
      verify: async () => {
        read += 1;
        throw new AppError("TransactionPending");
      },
    } as unknown as KeyAdditions;
    limited = limitChainReads(chain, clock, 2);
  });

  it("stay within the limit by reading: then a message is shown as it is", async () => {
    const messages = [];
    for (let i = 0; i < 4; i++) messages.push(await limited.prepare(addition, shown));
    expect(messages).toEqual([renewed, renewed, shown, shown]);
    expect(read).toBe(2);
    expect(await limited.prepare(ofAccount(), shown)).toBe(renewed);
    expect(await limited.prepare(addition, new Uint8Array())).toBe(renewed);
    clock.advance(60_000);
    expect(await limited.prepare(addition, shown)).toBe(renewed);
  });

  it("renew its message while another request of the account is read all the time", async () => {
    for (let i = 0; i < 4; i++) await limited.prepare(addition, shown);
    const other = { ...addition, userKey: generateKeyPair().publicKey };
    expect(await limited.prepare(other, shown)).toBe(renewed);
  });

  it("stay within the limit by naming transactions, which reading does not use up", async () => {
    for (let i = 0; i < 4; i++) await limited.prepare(addition, shown);
    for (let i = 0; i < 2; i++) await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending" });
    await expect(verify()).rejects.toMatchObject({ reason: "RateLimited" });
    await expect(verify(ofAccount())).rejects.toMatchObject({ reason: "TransactionPending" });
    expect(read).toBe(5);
  });
});
