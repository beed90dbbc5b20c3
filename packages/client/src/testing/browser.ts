import { toKeyObject } from "@countersign/keys/node";
import { simulatedPasskey } from "@countersign/keys/testing";
import type { PasskeyCredentials, RequestOptions } from "../browser-passkey.ts";

export const authenticator = simulatedPasskey();
export const { publicKey } = authenticator.publicKey;
export const rawId = Uint8Array.from([1, 2, 3, 250]);

/** Returns a browser whose person always agrees. */
export function browser() {
  const asked: RequestOptions[] = [];
  const spki = toKeyObject(authenticator.publicKey).export({ format: "der", type: "spki" });
  const credentials: PasskeyCredentials = {
    create: async () => ({ rawId: rawId.buffer, response: { getPublicKey: () => new Uint8Array(spki).buffer } }),
    async get({ publicKey: options }) {
      asked.push(options);
      const { clientDataJSON, authenticatorData, signature } = authenticator.assert(options.challenge);
      return { response: { clientDataJSON, authenticatorData, signature } };
    },
  };
  return { asked, credentials };
}
