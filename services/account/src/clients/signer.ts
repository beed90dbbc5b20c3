import { bytesToHex, hexToBytes } from "@countersign/keys";
import type { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import type { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import type { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import type { ServerKeysService, ServerKeyVersion } from "@countersign/proto/signer/v1/server_keys.ts";
import type { Signature, SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { publicKeyFromProto, type RpcCallOptions, type RpcClient } from "@countersign/rpc";
import type { BudgetSigner } from "../domain/budgets/settle-budgets.ts";
import type { VoidSigner } from "../domain/freeze/void-templates.ts";
import type { KeyAdditionSigner } from "../domain/key-additions/key-addition.ts";
import type { CreationSigner } from "../domain/ports.ts";
import type { RotationSigner } from "../domain/server-keys/server-key-rotation.ts";

/** The options of a call that may be sent again: two have the effect of one. */
const REPEATABLE = { idempotent: true } as const;

/** Calls signer.v1.Creation for the creation saga. */
export const creationSigner = (client: RpcClient<CreationService>): CreationSigner => ({
  async deriveServerKeys(chainName, accountIds) {
    const { serverKeys } = await client.deriveServerKeys({ chainName, accountIds: [...accountIds] }, REPEATABLE);
    const version = serverKeys[0]?.version ?? 0;
    if (serverKeys.some((key) => key.version !== version)) throw new Error("server keys of several versions");
    return { version, publicKeys: serverKeys.map(({ publicKey }) => publicKeyFromProto(publicKey)) };
  },
  async signCreation(chainName, message, accountIds) {
    const request = { chainName, message: Buffer.from(message), accountIds: [...accountIds] };
    const { signature } = await client.signCreation(request);
    return compositeSignature(signature);
  },
  async bindAddress({ accountId, chainName, address, serverKeyIndex, serverKeyVersion }) {
    await client.bindAddress(
      { accountId, chainName, address: Buffer.from(hexToBytes(address)), serverKeyIndex, serverKeyVersion },
      REPEATABLE,
    );
  },
});

/** Calls signer.v1.ServerKeys and signer.v1.Signing for rotations. */
export const rotationSigner = (
  client: RpcClient<ServerKeysService>,
  signing: RpcClient<SigningService>,
): RotationSigner => ({
  ...keyAdditionSigner(signing),
  async serverKeys(accountId, chainName) {
    const { current, next, retired } = await client.getServerKeyRotation({ accountId, chainName }, REPEATABLE);
    if (!current) throw new Error("the signer answered no server key");
    const fromWire = ({ version, publicKey, keyIndex: index }: ServerKeyVersion) => ({
      version,
      index,
      publicKey: publicKeyFromProto(publicKey).publicKey,
    });
    return { current: fromWire(current), next: next && fromWire(next), retired: retired.map(fromWire) };
  },
  async rotateBinding({ accountId, chainName, version: serverKeyVersion }, serverKeyIndex, replacesVersion = 0) {
    const binding = { accountId, chainName, serverKeyIndex, serverKeyVersion, replacesVersion };
    await client.rotateBinding(binding, REPEATABLE);
  },
});

/** Calls signer.v1.Signing on behalf of a user, with the token of their request. */
export function keyAdditionSigner(client: RpcClient<SigningService>): KeyAdditionSigner {
  const sign =
    (method: "signTransaction" | "signPaymaster"): KeyAdditionSigner["signTransaction"] =>
    async (chainName, message, call) => {
      const options = { onBehalfOf: call as NonNullable<RpcCallOptions["onBehalfOf"]> };
      const { signature } = await client[method]({ chainName, message: Buffer.from(message) }, options);
      return compositeSignature(signature);
    };
  return { signTransaction: sign("signTransaction"), signPaymaster: sign("signPaymaster") };
}

/** Calls signer.v1.Budgets to settle budgets. */
export const budgetSigner = (client: RpcClient<BudgetsService>): BudgetSigner => ({
  async begin(chainName) {
    const { mark, open } = await client.beginSettlement({ chainName }, REPEATABLE);
    if (!mark) throw new Error("the signer answered no mark");
    return { mark, open };
  },
  async settle({ executed, ...settlement }) {
    const toWire = (proposer: string) => Buffer.from(hexToBytes(proposer));
    const reported = executed.map((each) => ({ ...each, proposer: toWire(each.proposer) }));
    await client.settleReservations({ ...settlement, executed: reported }, REPEATABLE);
  },
});

/** Calls signer.v1.Freezing to void templates. */
export const voidSigner = (client: RpcClient<FreezingService>): VoidSigner => ({
  async signVoid({ accountId, chainName, referenceBlockId, sequenceNumber }) {
    const block = Buffer.from(hexToBytes(referenceBlockId));
    const wanted = { accountId, chainName, referenceBlockId: block, sequenceNumber };
    const { payload, envelope } = await client.signVoid(wanted);
    return payload && { payload: compositeSignature(payload), envelope: compositeSignature(envelope) };
  },
});

function compositeSignature(signature: Signature | undefined) {
  if (!signature) throw new Error("the signer answered no signature");
  const { address, keyId } = signature;
  return { address: bytesToHex(address), keyId, signature: bytesToHex(signature.signature) };
}
