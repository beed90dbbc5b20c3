import { type DecodedMessage, MAX_COMPUTATION, readAddUserKey, TemplateError } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { refuse } from "./refusal.ts";

/** A transaction of ours: known text, typed arguments, proposed by the account's server key. */
export interface Template {
  readonly name: "add-user-key";
  readonly userKey: PublicKey;
  readonly gasLimit: bigint;
}

/**
 * Which template a message runs, if any. Its conditions stand in its Cadence: the signer does not see the chain. Errors: SigningRefused
 * (BadTemplateArguments) where the text is a template's and the arguments are not what we would write.
 */
export function templateOf(message: DecodedMessage): Template | undefined {
  try {
    const userKey = readAddUserKey(message);
    return userKey && { name: "add-user-key", userKey, gasLimit: MAX_COMPUTATION };
  } catch (error) {
    if (error instanceof TemplateError) return refuse("BadTemplateArguments", error.message);
    throw error;
  }
}

/** A key with the x of one of ours is ours, or its negation: one holder of both roles would act alone. */
export function checkNotOurs(userKey: PublicKey, ours: readonly PublicKey[]): void {
  const x = (key: PublicKey) => key.publicKey.slice(0, 64);
  if (ours.some((key) => x(key) === x(userKey))) refuse("BadTemplateArguments", "the key is one of the service's");
}
