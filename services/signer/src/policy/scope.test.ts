import { envelopeMessage, type KeyChange, payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { addition, newDevice } from "../testing/key-addition-fixture.ts";
import { account, asked, server, transaction, tx, vault } from "../testing/policy-fixture.ts";
import { changing, fresh, refusalOf } from "../testing/template-fixture.ts";

it("a recovery key's session enrolls a device, after a time lock, and signs nothing else", async () => {
  const recovering = (message: Parameters<typeof payloadMessage>[0]) =>
    refusalOf(transaction(asked(payloadMessage(message), { scope: "recover" })));
  expect(await recovering(addition())).toBe("TimeLockRequired");
  const oldKey = newDevice.publicKey.publicKey;
  const revocation = changing({ template: "revoke-user-key", oldKey } as KeyChange);
  expect(await recovering(revocation)).toBe("OutsideEphemeralScope");
  expect(await recovering(tx())).toBe("OutsideEphemeralScope");
});

it("a change of keys is paid for by the paymaster, a full session's as well", async () => {
  const payer = account.address;
  const message = addition(newDevice.publicKey, { payer });
  for (const scope of ["full", "recover"] as const)
    expect(await refusalOf(transaction(asked(payloadMessage(message), { scope })))).toBe("UnknownPayer");
  const { publicKey: serverKey } = await vault.publicKey(server);
  const [oldKey, newKey] = [newDevice.publicKey.publicKey, generateKeyPair().publicKey];
  for (const change of [
    { template: "revoke-user-key", oldKey },
    { template: "add-recovery-key", serverKey, newKey },
    { template: "replace-recovery-key", serverKey, oldKey, newKey },
    { template: "revoke-recovery-key", serverKey, oldKey },
  ] as const) {
    const own = { ...changing(change), payer };
    for (const bytes of [payloadMessage(own), envelopeMessage({ ...own, payloadSignatures: [] })])
      expect(await refusalOf(transaction(asked(bytes, fresh())))).toBe("UnknownPayer");
  }
});
