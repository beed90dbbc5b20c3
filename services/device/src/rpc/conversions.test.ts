import { generateKeyPair } from "@countersign/keys/node";
import { KeyAlgorithm } from "@countersign/proto/common/v1/types.ts";
import { deviceAttributes, parseRequest, publicKeyField, publicKeyToProto, uuidField } from "@countersign/rpc";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { someAttributes } from "../testing/samples.ts";
import { identityKey } from "./conversions.ts";

describe("parseRequest", () => {
  it("names every field at fault", () => {
    const shape = z.object({ accountId: uuidField, attributes: deviceAttributes });
    const request = { accountId: "1", attributes: { ...someAttributes, name: "a".repeat(257), lang: "e\nn" } };
    expect(() => parseRequest(shape, request)).toThrow(
      expect.objectContaining({
        reason: "InvalidRequest",
        fields: [
          { pointer: "/accountId", detail: "is not a UUID in lower case" },
          { pointer: "/attributes/name", detail: "has more than 256 characters" },
          { pointer: "/attributes/lang", detail: "has control characters" },
        ],
      }),
    );
  });

  it("takes strings at their limits, and a device without a type as a mobile", () => {
    const attributes = { ...someAttributes, name: "a".repeat(256), pushToken: "p".repeat(4096) };
    expect(parseRequest(deviceAttributes, { ...attributes, type: "" })).toEqual({ ...attributes, type: "mobile" });
    expect(() => parseRequest(deviceAttributes, { ...attributes, pushToken: "p".repeat(4097) })).toThrow(
      "InvalidRequest",
    );
    expect(() => parseRequest(deviceAttributes, { ...attributes, type: "toaster" })).toThrow("InvalidRequest");
  });
});

describe("publicKey", () => {
  const shape = z.object({ publicKey: publicKeyField("/publicKey") });

  it.each(["ES256", "ES256K", "EdDSA"] as const)("takes a key of %s", (algorithm) => {
    const key = generateKeyPair(algorithm).publicKey;
    expect(parseRequest(shape, { publicKey: publicKeyToProto(key) })).toEqual({ publicKey: key });
  });

  it.each([
    ["absent", undefined],
    ["off the curve", { algorithm: KeyAlgorithm.KEY_ALGORITHM_ES256, bytes: Buffer.alloc(64, 1) }],
    ["too short", { algorithm: KeyAlgorithm.KEY_ALGORITHM_ES256, bytes: Buffer.alloc(32, 1) }],
    ["without an algorithm", { ...publicKeyToProto(generateKeyPair().publicKey), algorithm: 0 }],
    ["of another curve", { ...publicKeyToProto(generateKeyPair("ES256K").publicKey), algorithm: 1 }],
  ])("refuses a key that is %s", (_, wire) => {
    const refused = expect.objectContaining({ reason: "InvalidPublicKey" });
    expect(() => parseRequest(shape, { publicKey: wire })).toThrow(refused);
  });
});

describe("identityKey", () => {
  it("is 64 or 32 bytes", () => {
    expect(parseRequest(identityKey, Buffer.alloc(32, 0xab))).toBe("ab".repeat(32));
    expect(() => parseRequest(identityKey, Buffer.alloc(33))).toThrow("InvalidRequest");
  });
});
