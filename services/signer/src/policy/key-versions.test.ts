import { describe, expect, it } from "vitest";
import { policy } from "../testing/policy-fixture.ts";
import { creatorVersion, paymasterVersion } from "./chain.ts";

describe("versions of the service's own keys", () => {
  it("are the first unless the networks file says otherwise", () => {
    expect(paymasterVersion(policy)).toBe(1);
    expect(creatorVersion(policy, 7)).toBe(1);
    expect(paymasterVersion({ ...policy, paymaster: { ...policy.paymaster, keyId: 1, keyVersion: 2 } })).toBe(2);
  });

  it("follow the creator's key index, so that old and new sign at the same time", () => {
    const keyVersions = [
      { firstKeyId: 0, version: 1 },
      { firstKeyId: 8, version: 2 },
    ];
    const rotating = { ...policy, creator: { ...policy.creator, keyCount: 16, keyVersions } };
    expect([0, 7, 8, 15].map((keyId) => creatorVersion(rotating, keyId))).toEqual([1, 1, 2, 2]);
  });
});
