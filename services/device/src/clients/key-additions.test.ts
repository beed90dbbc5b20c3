import { newTrace } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import type { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { publicKeyToProto, type RpcClient } from "@countersign/rpc";
import { describe, expect, it, vi } from "vitest";
import { ATTEMPT_TIMEOUT_MS } from "../domain/two-factor/two-factor-state.ts";
import { keyAdditions } from "./key-additions.ts";

const transaction = { id: "ab".repeat(32), chainName: "flow-emulator", refUrl: "http://127.0.0.1/1" };
const expected = { id: transaction.id, refUrl: transaction.refUrl };
const userKey = generateKeyPair().publicKey;
const approverKey = generateKeyPair().publicKey;
const addition = { accountId: "a", chainName: "flow-emulator", userKey, recovering: true };
const wire = { accountId: "a", chainName: "flow-emulator", userKey: publicKeyToProto(userKey) };
const call = { requestId: "r", trace: newTrace(), rawToken: "token" };

function withAnswers(answers: Partial<Record<keyof RpcClient<KeyAdditionsService>, unknown>>) {
  const client = Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, vi.fn(async () => answer)]));
  return { client, port: keyAdditions(client as unknown as RpcClient<KeyAdditionsService>) };
}

describe("the client of account.v1.KeyAdditions", () => {
  it("prepares and may ask again", async () => {
    const { client, port } = withAnswers({ prepareKeyAddition: { message: Buffer.from("new") } });
    expect(await port.prepare(addition, Buffer.from("old"))).toEqual(Buffer.from("new"));
    const request = { ...wire, recovering: true, currentMessage: Buffer.from("old") };
    expect(client.prepareKeyAddition).toHaveBeenCalledWith(request, expect.objectContaining({ idempotent: true }));
  });

  it("submits once, with the user's token also after their connection has ended", async () => {
    const { client, port } = withAnswers({ submitKeyAddition: { transaction } });
    const signed = { signature: "01".repeat(64), extensionData: "01c0" };
    const submission = { ...addition, attemptId: "t", message: Buffer.from("m"), approverKey, signature: signed };
    expect(await port.submit(submission, call)).toEqual(expected);
    const [[request, options]] = client.submitKeyAddition!.mock.calls as unknown as [[object, Record<string, never>]];
    const signature = Buffer.alloc(64, 1);
    const extensionData = Buffer.of(1, 0xc0);
    expect(request).toMatchObject({
      ...wire,
      attemptId: "t",
      signature,
      extensionData,
      approverKey: publicKeyToProto(approverKey),
    });
    expect(options).toMatchObject({ onBehalfOf: { rawToken: "token", requestId: "r" } });
    expect(options).not.toHaveProperty("idempotent");
    expect(options.onBehalfOf).not.toHaveProperty("deadline");
    expect(Number(options.deadlineMs)).toBeLessThan(ATTEMPT_TIMEOUT_MS);
  });

  it.each([
    [1, { status: "submitted", transaction: expected }],
    [2, { status: "sealed", transaction: expected, keyIndex: 3 }],
    [3, { status: "failed", transaction: expected }],
    [4, { status: "abandoned" }],
  ])("reads status %s", async (status, settlement) => {
    const { port } = withAnswers({ reconcileKeyAddition: { status, transaction, keyIndex: 3 } });
    expect(await port.reconcile({ accountId: "a", attemptId: "t" })).toEqual(settlement);
  });

  it.each([
    ["an unknown status", { status: 0, transaction, keyIndex: 0 }],
    ["no transaction", { status: 1, transaction: undefined, keyIndex: 0 }],
  ])("believes nothing of an answer with %s", async (_, answer) => {
    const { port } = withAnswers({ reconcileKeyAddition: answer });
    await expect(port.reconcile({ accountId: "a", attemptId: "t" })).rejects.toMatchObject({ reason: "Internal" });
  });

  it("verifies with the user's token", async () => {
    const { client, port } = withAnswers({ verifyKeyAddition: { transaction, keyIndex: 2 } });
    const notBefore = new Date(0);
    const firstMessage = Buffer.from("first");
    const seen = await port.verify({ ...addition, transactionId: transaction.id, notBefore, firstMessage }, call);
    expect(seen).toEqual({ transaction: expected, keyIndex: 2 });
    const onBehalfOf = expect.objectContaining({ rawToken: "token" });
    const options = expect.objectContaining({ onBehalfOf, deadlineMs: 8_000 });
    const request = { ...wire, transactionId: transaction.id, notBefore, firstMessage };
    expect(client.verifyKeyAddition).toHaveBeenCalledWith(request, options);
  });
});
