import { changedMessage } from "./changed-message.ts";
import { drainedPayer } from "./drained-payer.ts";
import { foreignAccount } from "./foreign-account.ts";
import { foreignDevice } from "./foreign-device.ts";
import { forgedToken } from "./forged-token.ts";
import { hiddenKey } from "./hidden-key.ts";
import { replayedChallenge } from "./replayed-challenge.ts";
import { stolenLogin } from "./stolen-login.ts";
import { unknownKey } from "./unknown-key.ts";
import type { Victim } from "./victim.ts";

/** The attacks of the page by their names, each a real request; all of them reject. */
export const ATTACKS = {
  "changed-message": changedMessage,
  "foreign-device": foreignDevice,
  "unknown-key": unknownKey,
  "drained-payer": drainedPayer,
  "foreign-account": foreignAccount,
  "hidden-key": hiddenKey,
  "forged-token": forgedToken,
  "replayed-challenge": replayedChallenge,
  "stolen-login": stolenLogin,
} as const satisfies Record<string, (victim: Victim) => Promise<unknown>>;

export type AttackName = keyof typeof ATTACKS;
