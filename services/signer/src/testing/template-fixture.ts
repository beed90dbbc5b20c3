import type { VerifiedToken } from "@countersign/core";
import {
  addUserKeyPayload,
  encodeCadence,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  type TransactionPayload,
} from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { account, clock, policy, state, tx } from "./policy-fixture.ts";

export const HOUR = 3_600_000;

const proposed = {
  account: account.address,
  referenceBlockId: "ab".repeat(32),
  proposalKey: { address: account.address, keyId: 0, sequenceNumber: 3n },
  payer: policy.paymaster.address,
};

/** Returns a template as the server key proposes it. */
export const changing = (change: KeyChange): TransactionPayload => ({
  ...tx(),
  ...addUserKeyPayload(generateKeyPair().publicKey, proposed),
  script: keyTemplateScript(change.template),
  arguments: keyChangeArguments(change).map(encodeCadence),
});

/** Returns a login of now. */
export const fresh = (): Partial<VerifiedToken> => ({ authTime: clock.now() });

/** Sets the account's age. */
export const ageIs = (ms: number): void => {
  state.bindings = [{ ...account, boundAt: new Date(clock.now().getTime() - ms) }];
};

/** "signed", or why not. */
export const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "signed",
    ({ reason, metadata }) => (reason === "SigningRefused" ? metadata.reason : reason),
  );
