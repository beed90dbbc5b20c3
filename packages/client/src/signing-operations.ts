import type { ApiRequest } from "./http.ts";
import type { Account, CompositeSignature, Key, UserKey } from "./resources.ts";
import type { ClientSession } from "./session.ts";
import {
  type AccountProofDescription,
  type SignUserMessageOptions,
  signAccountProof,
  signUserMessage,
  type UserMessageDescription,
} from "./user-message.ts";

/** The signatures that a signed-in device gets from the service. */
export abstract class SigningOperations {
  /**
   * This device's key.
   * @example console.log(client.deviceKey.publicKey);
   */
  readonly deviceKey: UserKey;
  readonly #session: ClientSession;

  constructor(deviceKey: UserKey, session: ClientSession) {
    this.deviceKey = deviceKey;
    this.#session = session;
  }

  // User messages need the account as the service lists it.
  abstract me(): Promise<Account>;
  abstract keys(): Promise<Key[]>;

  /**
   * Returns the server key's signature over a transaction's payload; `message` is hex of domain tag and RLP.
   * @example
   * const message = bytesToHex(payloadMessage(transaction));
   * const { signature, keyId } = await client.signTransaction(message, chainName);
   */
  signTransaction(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("signTransaction", "/sign/v1/cadence/transaction", { message, chainName });
  }

  /**
   * Returns the paymaster's signature over a transaction's envelope; `message` is hex of domain tag and RLP.
   * @example
   * const { signature } = await client.signPaymaster(bytesToHex(envelopeMessage(transaction)), chainName);
   */
  signPaymaster(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("signPaymaster", "/sign/v1/cadence/paymaster", { message, chainName });
  }

  /**
   * Signs a text with this device's key and the account's server key: FCL's user signatures. It moves
   * nothing; a backend verifies it by `fcl.AppUtils.verifyUserSignatures`. The text has at most 4096 bytes,
   * not exactly 32, and no hidden characters. A passkey's user gets the server key's signature alone, which
   * suffices there. Errors: InvalidMessageError before anything is signed; SigningRefused with the rule as
   * `reason`.
   * @example
   * const text = "I agree to the terms of 2026-11-20";
   * const signatures = await client.signUserMessage(text, { chainName: network.chainName });
   */
  signUserMessage(
    text: string,
    options: SignUserMessageOptions<UserMessageDescription>,
  ): Promise<CompositeSignature[]> {
    const path = "/sign/v1/cadence/user-message";
    return signUserMessage(this, text, options, (body) => this.#sign("signUserMessage", path, body));
  }

  /**
   * Proves to an app that the account belongs to its user, with this device's key and the account's server
   * key: FCL's account proof. The app's backend chooses the nonce, accepts each one once, and verifies by
   * `fcl.AppUtils.verifyAccountProof`. Errors: as `signUserMessage`.
   * @example
   * const proof = { appIdentifier: "https://my-app.example", nonce: "75".repeat(32) };
   * const signatures = await client.signAccountProof(proof, { chainName: network.chainName });
   */
  signAccountProof(
    proof: { appIdentifier: string; nonce: string },
    options: SignUserMessageOptions<AccountProofDescription>,
  ): Promise<CompositeSignature[]> {
    const path = "/sign/v1/cadence/account-proof";
    return signAccountProof(this, proof, options, (body) => this.#sign("signAccountProof", path, body));
  }

  async #sign(operation: ApiRequest["operation"], path: string, body: object): Promise<CompositeSignature> {
    const request = { operation, method: "POST", path, body } as const;
    return (await this.#session.send<{ signature: CompositeSignature }>(request, "unfrozen")).signature;
  }
}
