import type { VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { deviceParty, type Freeze } from "../freeze/freeze-rules.ts";
import { removeDevice } from "./remove-device.ts";

const clock = new FixedClock();
const [own, other] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
const token = { accountId: "account", deviceKey: own, scope: "full" } as VerifiedToken;
const TIME_LOCKS = { deviceMs: 1000 };

/** Returns the calls that a removal makes, in their order. */
function world({ frozenBy, access = "access" }: { frozenBy?: PublicKey; access?: "access" | Error } = {}) {
  const calls: string[] = [];
  const freeze: Freeze | undefined = frozenBy && {
    frozenAt: clock.now(),
    frozenBy: deviceParty(frozenBy),
    joinedBy: [],
    requests: [],
    removed: [],
  };
  const remove = removeDevice<{ requestId: string }, string>({
    access: { cutOff: async ({ deviceKey }) => void calls.push(`cut off ${deviceKey === own ? "own" : "other"}`) },
    freezes: { find: async () => freeze },
    timeLocks: TIME_LOCKS,
    clock,
    async describeAccess() {
      calls.push("described");
      if (access instanceof Error) throw access;
      return access;
    },
    async removeFromList(publicKey, left) {
      calls.push(`removed with ${left}`);
      return Buffer.from(publicKey).toString("hex") === own.publicKey ? own : other;
    },
  });
  const bytes = ({ publicKey }: PublicKey) => Buffer.from(publicKey, "hex");
  return { calls, remove: (device: PublicKey) => remove(token, bytes(device), { requestId: "r" }) };
}

describe("removeDevice", () => {
  it("says who signs in where a device removes itself, and asks nobody where it removes another", async () => {
    const { calls, remove } = world();
    await remove(own);
    await remove(other);
    expect(calls).toEqual([
      "described",
      "removed with access",
      "cut off own",
      "removed with undefined",
      "cut off other",
    ]);
  });

  it("removes no device from itself where the key service does not answer, and another one all the same", async () => {
    const { calls, remove } = world({ access: new Error("away") });
    await expect(remove(own)).rejects.toThrow("away");
    await remove(other);
    expect(calls).toEqual(["described", "removed with undefined", "cut off other"]);
  });

  it("keeps the device that froze until a device could lift the freeze, but not from itself", async () => {
    const { calls, remove } = world({ frozenBy: other });
    await expect(remove(other)).rejects.toMatchObject({ reason: "AccountFrozen" });
    expect(calls).toEqual([]);
    clock.advance(TIME_LOCKS.deviceMs);
    await remove(other);
    await world({ frozenBy: own }).remove(own);
    expect(calls).toEqual(["removed with undefined", "cut off other"]);
  });
});
