import { hexToBytes } from "@countersign/keys";
import { isMatchingCodeOf, type KeyAddition, readKeyAddition } from "./key-addition.ts";
import { ProblemError } from "./problem-error.ts";
import type { Account, TwoFactorAuth, UserKey } from "./resources.ts";
import { approvalOf } from "./user-key.ts";

/**
 * How this device agrees. Either by the code that the new device shows, as the person typed it; or by a
 * transaction that this device has sent itself and that adds the key (64 hex digits).
 */
export type TwoFactorApproval = { matchingCode: string } | { txId: string };

/**
 * The message to sign was not built for the device that shows the code, or not for this account. Nothing was
 * signed.
 * @example
 * await client.approveTwoFactor(id, { matchingCode: typed }).catch((error) => {
 *   if (error instanceof MatchingCodeError) return alert("The codes differ: reject the request.");
 *   throw error;
 * });
 */
export class MatchingCodeError extends Error {
  override readonly name = "MatchingCodeError";
}

/** Messages are renewed while a person reads: the new one, checked again, adds the same key. */
const TRIES = 3;

/** The parts of a client that an approval needs. */
interface Approver {
  readonly deviceKey: UserKey;
  me(): Promise<Account>;
  twoFactor(id: string): Promise<TwoFactorAuth>;
}

/** Approves a 2FA request after checking that its message is what the person agrees to. */
export async function approveTwoFactor(
  client: Approver,
  id: string,
  approval: TwoFactorApproval,
  approve: (id: string, body: object) => Promise<void>,
): Promise<void> {
  // A `prompt` that was cancelled answers null.
  const { txId, matchingCode } = Object(approval) as Partial<Record<"txId" | "matchingCode", unknown>>;
  if (typeof txId === "string") return approve(id, { txId });
  if (typeof matchingCode !== "string")
    throw new TypeError("the approval is missing: give { matchingCode } as the person typed it, or { txId }");

  const account = await client.me();
  let checked: KeyAddition | undefined;
  for (let tries = 1; ; tries++) {
    const auth = await client.twoFactor(id);
    checked = check(auth, account, matchingCode, checked);
    const signed = await approvalOf(client.deviceKey, hexToBytes(auth.request.message));
    try {
      // By the id of exactly this message: if the request has another one by now, the server rejects it.
      return await approve(auth.request.id, signed);
    } catch (error) {
      const renewed = error instanceof ProblemError && error.error === "MessageRenewed";
      if (!renewed || tries === TRIES) throw error;
    }
  }
}

/**
 * Returns what the message adds, if this device may sign it. Errors: KeyAdditionError, MatchingCodeError.
 */
function check(auth: TwoFactorAuth, account: Account, code: string, earlier: KeyAddition | undefined): KeyAddition {
  const addition = readKeyAddition(auth.request.message);
  const own = account.addresses.some(
    ({ address, chainType }) => chainType === "cadence" && address === addition.address,
  );
  if (!own || auth.accountId !== account.id) throw new MatchingCodeError("the message is about another account");
  if (!isMatchingCodeOf(auth, code)) throw new MatchingCodeError("the codes are not the same");
  if (earlier !== undefined && (earlier.publicKey !== addition.publicKey || earlier.algorithm !== addition.algorithm)) {
    throw new MatchingCodeError("the renewed message adds another key");
  }
  return addition;
}
