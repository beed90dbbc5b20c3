import { type KeyChange, payloadMessage } from "@countersign/flow";
import { expect, it } from "vitest";
import { addition, newDevice } from "../testing/key-addition-fixture.ts";
import { account, asked, transaction, tx } from "../testing/policy-fixture.ts";
import { changing, refusalOf } from "../testing/template-fixture.ts";

it("a recovery key's session enrolls a device, after a time lock, and signs nothing else", async () => {
  const recovering = (message: Parameters<typeof payloadMessage>[0]) =>
    refusalOf(transaction(asked(payloadMessage(message), { scope: "recover" })));
  expect(await recovering(addition())).toBe("TimeLockRequired");
  const oldKey = newDevice.publicKey.publicKey;
  const revocation = changing({ template: "revoke-user-key", oldKey } as KeyChange);
  expect(await recovering(revocation)).toBe("OutsideEphemeralScope");
  expect(await recovering(tx())).toBe("OutsideEphemeralScope");
});

it("a new user key is paid for by the paymaster, a full session's as well", async () => {
  const message = addition(newDevice.publicKey, { payer: account.address });
  for (const scope of ["full", "recover"] as const)
    expect(await refusalOf(transaction(asked(payloadMessage(message), { scope })))).toBe("UnknownPayer");
});
