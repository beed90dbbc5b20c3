import type { CadenceValue } from "@countersign/flow";
import { stateDir } from "../security/secrets.ts";
import { chain, chainName, type Person } from "../support/person.ts";
import { runByHand } from "./by-hand.ts";

/** Runs a script with a person's full weight on the shared stack; see runByHand. */
export const runAsOwner = (person: Person, script: string, args: readonly CadenceValue[] = []) =>
  runByHand(
    { chainName, accessNode: chain.accessNode, stateDir },
    { ...person, accountId: person.signedUp.account.id },
    script,
    args,
  );
