import { isAppError } from "@countersign/errors";
import { type DecodedMessage, decodeMessage, InvalidMessageError } from "@countersign/flow";

/** What a message is, as far as it can be told without an account. */
export interface Explanation {
  /** Empty where the message could not be decoded. */
  readonly kind: DecodedMessage["kind"] | "";
  readonly refusalReason: string;
  readonly detail: string;
}

/** Decodes a message and says what it is; signs nothing and knows no account, so rules that need one are not applied. */
export function explain(message: Uint8Array): Explanation {
  try {
    const { kind, authorizers, payer, proposalKey, gasLimit } = decodeMessage(message);
    const detail = `authorizers ${authorizers.join(", ")}; proposer ${proposalKey.address}; payer ${payer}; gas limit ${gasLimit}`;
    return { kind, refusalReason: "", detail };
  } catch (error) {
    if (error instanceof InvalidMessageError)
      return { kind: "", refusalReason: "InvalidMessage", detail: error.message };
    if (isAppError(error)) return { kind: "", refusalReason: error.reason, detail: error.detail };
    throw error;
  }
}
