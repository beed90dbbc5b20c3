import { decodeMessage, envelopeMessage, payloadMessage, voidPayload } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, expect, it } from "vitest";
import { MAX_OPEN_TEMPLATES_PER_SESSION } from "../policy/effects.ts";
import { addition } from "../testing/key-addition-fixture.ts";
import { memoryEffects } from "../testing/memory-effects.ts";
import {
  account,
  asked,
  chain,
  chainName,
  decide,
  policy,
  refusal,
  server,
  signedTemplates,
  signing,
  state,
  store,
  stores,
  transaction,
  tx,
  uses,
  verifies,
} from "../testing/policy-fixture.ts";
import { signTransaction } from "./sign-transaction.ts";
import { signVoid } from "./sign-void.ts";

let frozen: boolean;
let current: boolean;
const sign = signVoid({
  decide,
  bindings: store,
  signedTemplates,
  freezes: { current: () => current, isFrozen: (accountId) => frozen && accountId === account.accountId },
  chain,
});
const referenceBlockId = "cd".repeat(32);
const command = {
  accountId: account.accountId,
  chainName,
  referenceBlockId,
  sequenceNumber: addition().proposalKey.sequenceNumber,
  caller: "account",
};
const at = (sequenceNumber: bigint) => ({ proposalKey: { ...addition().proposalKey, sequenceNumber } });
beforeEach(async () => {
  [frozen, current] = [true, true];
  await transaction(asked(payloadMessage(addition())));
  state.records = [];
});

it("signs the empty transaction of that number, and pays for it", async () => {
  const signed = await sign(command);
  const payload = voidPayload({
    referenceBlockId,
    proposalKey: { address: account.address, keyId: 0, sequenceNumber: command.sequenceNumber },
    payer: policy.paymaster.address,
  });
  expect(decodeMessage(payloadMessage(payload))).toMatchObject({ script: "transaction {}", authorizers: [] });
  expect(await verifies(server, payloadMessage(payload), signed!.payload.signature)).toBe(true);
  const { address, keyId, signature } = signed!.payload;
  const envelope = envelopeMessage({
    ...payload,
    payloadSignatures: [{ address, keyId, signature: bytesToHex(signature) }],
  });
  expect(await verifies({ role: "paymaster", chainName }, envelope, signed!.envelope.signature)).toBe(true);
  expect(state.records).toMatchObject([
    { operation: "transaction", verdict: "signed", caller: "account", accountId: account.accountId },
    { operation: "paymaster", verdict: "signed", caller: "account", accountId: account.accountId },
  ]);
});

it("a thief with a token has us pay for few voids: a server key has no more numbers open than it may", async () => {
  const first = command.sequenceNumber;
  for (let n = 1n; n < BigInt(MAX_OPEN_TEMPLATES_PER_SESSION); n++)
    await transaction(asked(payloadMessage(addition(undefined, at(first + n)))));
  state.records = [];
  const more = BigInt(MAX_OPEN_TEMPLATES_PER_SESSION) + first;
  expect(await refusal(transaction(asked(payloadMessage(addition(undefined, at(more))))))).toBe("TooManyOpenTemplates");
  // The one that is next on chain, made again, is signed as ever.
  await transaction(asked(payloadMessage(addition())));
  let voids = 0;
  for (let number = first; await sign({ ...command, sequenceNumber: number }); number++) voids += 1;
  expect(voids).toBe(MAX_OPEN_TEMPLATES_PER_SESSION);
});

it("a thief's session leaves the owner's every number: revoking the thief's key is signed", async () => {
  for (let n = 0n; n < BigInt(MAX_OPEN_TEMPLATES_PER_SESSION); n++)
    await transaction(asked(payloadMessage(addition(undefined, at(1_000n + n))), { sessionId: "thief" }));
  state.records = [];
  const far = () => asked(payloadMessage(addition(undefined, at(2_000n))), { sessionId: "thief" });
  expect(await refusal(transaction(far()))).toBe("TooManyOpenTemplates");
  await transaction(asked(payloadMessage(addition(undefined, at(command.sequenceNumber + 1n)))));
});

it("a request refused for its number does not use up an ephemeral token", async () => {
  const full = signTransaction({
    ...signing,
    effects: memoryEffects({ ...stores, signedTemplates: { record: async () => false } }),
  });
  const { publicKey } = generateKeyPair();
  const own = asked(payloadMessage(addition(publicKey)), { scope: "sign", accountKey: publicKey });
  expect(await refusal(full(own))).toBe("TooManyOpenTemplates");
  expect(uses.size).toBe(0);
  await transaction(own);
  expect(uses.size).toBe(1);
});

it("is signed again when it is asked for again", async () => {
  expect(await sign(command)).toBeDefined();
  expect(await sign(command)).toBeDefined();
});

it("signs nothing for a number that nothing was signed for, nor for one of a refused template or a user's transaction", async () => {
  expect(await sign({ ...command, sequenceNumber: 4n })).toBeUndefined();
  await transaction(asked(payloadMessage({ ...addition(undefined, at(5n)), gasLimit: 0n }))).catch(() => undefined);
  await transaction(asked(payloadMessage(tx())));
  for (const sequenceNumber of [5n, 7n]) expect(await sign({ ...command, sequenceNumber })).toBeUndefined();
});

it("refuses while the account is not frozen, and while it cannot know", async () => {
  frozen = false;
  await expect(sign(command)).rejects.toMatchObject({ reason: "SigningRefused", metadata: { reason: "NotFrozen" } });
  expect(state.records).toMatchObject([{ verdict: "NotFrozen" }]);
  [frozen, current] = [true, false];
  await expect(sign(command)).rejects.toMatchObject({ reason: "SignerNotCurrent" });
});

it("refuses an account that it does not know there", async () => {
  state.bindings = [{ ...account, chainName: "another" }];
  await expect(sign(command)).rejects.toMatchObject({ reason: "AccountNotReady" });
});
