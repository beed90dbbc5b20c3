import { limitPerMinute, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { accessHandlers } from "./access.ts";

it("a device asks so many times a minute to lift a freeze, each with events; others go on, and freezing has no limit", async () => {
  const clock = new FixedClock();
  const decided: string[] = [];
  const freezes = {
    async change({ by }: { by: string }) {
      decided.push(by);
      return { type: "nothing" } as const;
    },
  };
  const limit = limitPerMinute(clock);
  const limits = { unfreezes: (id: string) => limit(id, 3) };
  const options = { freezes, clock, limits, timeLocks: { deviceMs: 1, recoveryMs: 1 } };
  const { freezeAccount, unfreezeAccount } = accessHandlers(options as never);
  const deviceOf = (accountId: string) => {
    const token = { accountId, deviceKey: generateKeyPair().publicKey, scope: "full" } as VerifiedToken;
    return { token, requestId: "r" } as never;
  };
  const [thief, owner] = [deviceOf("account"), deviceOf("account")];
  for (let count = 0; count < 3; count++) {
    await unfreezeAccount({}, thief);
    await freezeAccount({}, thief);
  }
  await expect(unfreezeAccount({}, thief)).rejects.toMatchObject({ reason: "RateLimited" });
  expect(decided).toHaveLength(6);
  await freezeAccount({}, thief);
  await unfreezeAccount({}, owner);
  clock.advance(60_000);
  await unfreezeAccount({}, thief);
  expect(decided).toHaveLength(9);
});
