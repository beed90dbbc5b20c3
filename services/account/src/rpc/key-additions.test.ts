import { AccessApiError } from "@countersign/flow";
import type { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";
import { expect, it } from "vitest";
import { accountId, chainName, signal } from "../testing/chain-account.ts";
import { approver, attemptId, chain, newDevice, options, plain, prepare, submit } from "../testing/key-additions.ts";
import { keyAdditionsHandlers } from "./key-additions.ts";

type Call = Parameters<Handlers<KeyAdditionsService>["submitKeyAddition"]>[1];
const call = { token: { accountId, accountKey: approver.publicKey, appId: "demo" }, signal } as Call;

const away = async () => {
  throw new AccessApiError("no answer from the access node", 0);
};
const handlers = keyAdditionsHandlers({
  ...options,
  chains: new Map([
    [chainName, { ...chain, latestBlock: away, blockHeight: away, accountKeys: away, keyAdditionOutcome: away }],
  ]),
  firstAskedAt: (_chain, _id, height) => height,
  transactionUrl: () => "",
});
const target = { accountId, chainName, userKey: publicKeyToProto(newDevice) };
const transactionId = "ab".repeat(32);

it.each([
  [
    "prepare",
    async () => handlers.prepareKeyAddition({ ...target, recovering: false, currentMessage: Buffer.alloc(0) }, call),
  ],
  [
    "submit",
    async () => {
      const message = Buffer.from(await prepare());
      const signature = Buffer.from(plain(approver.privateKey, message).signature, "hex");
      const approverKey = publicKeyToProto(approver.publicKey);
      const signed = { message, approverKey, signature, extensionData: Buffer.alloc(0) };
      return handlers.submitKeyAddition({ ...target, attemptId, ...signed }, call);
    },
  ],
  [
    "reconcile",
    async () => {
      await submit();
      return handlers.reconcileKeyAddition({ attemptId, accountId }, call);
    },
  ],
  [
    "verify",
    async () => {
      const firstMessage = Buffer.from(await prepare());
      return handlers.verifyKeyAddition({ ...target, transactionId, notBefore: new Date(0), firstMessage }, call);
    },
  ],
])("%s says that the chain did not answer", async (_, ask) => {
  await expect(ask()).rejects.toMatchObject({ reason: "ChainUnavailable" });
});
