import type { VerifiedToken } from "@countersign/core";
import {
  encodeCadence,
  envelopeMessage,
  type FlowTransaction,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  payloadMessage,
} from "@countersign/flow";
import { bytesToHex, type PublicKey } from "@countersign/keys";
import { type generateKeyPair, signMessage } from "@countersign/keys/node";
import { addition } from "./key-addition-fixture.ts";
import { account, asked, device, paymaster, transaction } from "./policy-fixture.ts";

type KeyPair = ReturnType<typeof generateKeyPair>;

/** Returns the full session of a device. */
export const sessionOf = ({ publicKey }: KeyPair): Partial<VerifiedToken> => ({
  deviceKey: publicKey,
  accountKey: publicKey,
});

export const changeOf = (change: KeyChange): FlowTransaction => ({
  ...addition(),
  script: keyTemplateScript(change.template),
  arguments: keyChangeArguments(change).map(encodeCadence),
  payloadSignatures: [],
  envelopeSignatures: [],
});

/** Returns the envelope with the server key's signature and these devices' beside it. */
export async function envelopeBy(
  payload: FlowTransaction,
  signers: readonly KeyPair[],
  token: Partial<VerifiedToken>,
): Promise<Uint8Array> {
  const message = payloadMessage(payload);
  const server = await transaction(asked(message, token));
  const { address } = account;
  return envelopeMessage({
    ...payload,
    payloadSignatures: [
      { address, keyId: 0, signature: bytesToHex(server.signature) },
      ...signers.map(({ privateKey }, i) => ({
        ...{ address, keyId: i + 1 },
        signature: bytesToHex(signMessage(privateKey, message)),
      })),
    ],
  });
}

/** Both signatures of an addition, approved with the session of a device that is on the account. */
export const addKey = async (key: PublicKey, by: KeyPair = device): Promise<void> => {
  const payload = changeOf({ template: "add-user-key", newKey: key });
  await paymaster(asked(await envelopeBy(payload, [by], sessionOf(by)), sessionOf(by)));
};

/** The same for a revocation, of which the paymaster asks after the authorizer. */
export const revokeKey = async ({ publicKey }: PublicKey, by: KeyPair): Promise<void> => {
  const payload = changeOf({ template: "revoke-user-key", oldKey: publicKey });
  await paymaster(asked(await envelopeBy(payload, [by], sessionOf(by)), sessionOf(by)));
};
