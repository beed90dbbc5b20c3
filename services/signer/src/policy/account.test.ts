import { type KeyChange, payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { account, asked, clock, server, state, transaction, vault } from "../testing/policy-fixture.ts";
import { changing, fresh, HOUR, refusalOf } from "../testing/template-fixture.ts";
import type { Binding } from "./account.ts";

describe("the age of an account with several chains", () => {
  const bound = (ms: number | undefined, change: Partial<Binding> = {}): Binding => ({
    ...account,
    ...change,
    ...(ms !== undefined && { boundAt: new Date(clock.now().getTime() - ms) }),
  });
  const elsewhere = { chainName: "flow-other", address: "179b6b1cb6755e31" };
  /** Adds a recovery key, which a young account may do at once. */
  const addRecoveryKey = async () => {
    const serverKey = (await vault.publicKey(server)).publicKey;
    const newKey = generateKeyPair().publicKey;
    const message = changing({ template: "add-recovery-key", serverKey, newKey } as KeyChange);
    return refusalOf(transaction(asked(payloadMessage(message), fresh())));
  };

  it("is that of its first chain: a further one makes it no younger", async () => {
    for (const [here, there] of [
      [0, 48 * HOUR],
      [48 * HOUR, 0],
    ] as const) {
      state.bindings = [bound(here), bound(there, elsewhere)];
      expect(await addRecoveryKey()).toBe("TimeLockRequired");
    }
    state.bindings = [bound(0), bound(HOUR, elsewhere)];
    expect(await addRecoveryKey()).toBe("signed");
  });

  it("is old where it is not known of one of them", async () => {
    state.bindings = [bound(0), bound(undefined, elsewhere)];
    expect(await addRecoveryKey()).toBe("TimeLockRequired");
  });
});
