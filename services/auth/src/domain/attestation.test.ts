import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { attestationHash } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { type Attestation, type AttestedCommand, requireAttestation } from "./attestation.ts";

const [accountKey, deviceKey] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
const attestation = { type: "app-attest", keyId: "key", token: "object" } as const;
const command: AttestedCommand = {
  login: { token: "login" },
  chainName: "flow",
  accountKey,
  deviceKey,
  idempotencyKey: "",
  attestation,
};
const refused = (reason: string) => expect.objectContaining({ reason });

describe("requireAttestation", () => {
  const clock = new FixedClock("2026-11-20T10:00:00Z");
  let uses: Map<string, string>;
  let verified: { attestation: Attestation; hash: Uint8Array; now: Date }[];
  let problem: AppError | undefined;
  /** Two replicas on one database. */
  const replicas = [0, 1].map(() =>
    requireAttestation({
      policyOf: (appId) =>
        appId === "attested"
          ? async (each, hash, now) => {
              verified.push({ attestation: each, hash, now });
              if (problem) throw problem;
              return each.keyId;
            }
          : undefined,
      attestations: {
        async use({ id, fingerprint }) {
          const earlier = uses.get(id);
          if (earlier === undefined) uses.set(id, fingerprint);
          return earlier === undefined ? "first" : earlier === fingerprint ? "same" : "other";
        },
      },
      clock,
    }),
  );
  const require = (
    change: Partial<AttestedCommand> = {},
    operation: "sign-up" | "enrollment" = "sign-up",
    replica = 0,
  ) => replicas[replica]!(operation, "attested", { ...command, ...change });

  beforeEach(() => {
    uses = new Map();
    verified = [];
    problem = undefined;
  });

  it("asks nothing of an app without a policy, also where an attestation is sent", async () => {
    await replicas[0]!("sign-up", "another-app", { ...command, attestation: undefined });
    await replicas[0]!("sign-up", "another-app", command);
    expect([verified, uses.size]).toEqual([[], 0]);
  });

  it("refuses a request without an attestation, and passes on why one is refused", async () => {
    await expect(require({ attestation: undefined })).rejects.toEqual(refused("AttestationRequired"));
    problem = new AppError("InvalidAttestation");
    await expect(require()).rejects.toBe(problem);
    expect(uses.size).toBe(0);
  });

  it("has it verified against the operation, the chain, the login token and both keys", async () => {
    const other = generateKeyPair().publicKey;
    const requests = [
      [command, "sign-up"],
      [command, "enrollment"],
      [{ ...command, chainName: "flow-2" }, "sign-up"],
      [{ ...command, login: { token: "another" } }, "sign-up"],
      [{ ...command, accountKey: other }, "sign-up"],
      [{ ...command, deviceKey: other }, "sign-up"],
      [{ ...command, accountKey: deviceKey, deviceKey: accountKey }, "sign-up"],
    ] as const;
    for (const [at, [each, operation]] of requests.entries()) {
      await require({ ...each, attestation: { ...attestation, keyId: `key ${at}` } }, operation);
    }
    const hashes = verified.map(({ hash }) => Buffer.from(hash).toString("hex"));
    expect(new Set(hashes).size).toBe(requests.length);
    const { login, chainName } = command;
    const first = attestationHash({ operation: "sign-up", chainName, loginToken: login.token, accountKey, deviceKey });
    expect(verified[0]).toMatchObject({ hash: first, now: clock.now() });
  });

  it("takes an attestation once, on whichever replica, and of two at once one", async () => {
    await require();
    await expect(require()).rejects.toEqual(refused("InvalidAttestation"));
    await expect(require({}, "sign-up", 1)).rejects.toEqual(refused("InvalidAttestation"));
    await expect(require({}, "enrollment")).rejects.toEqual(refused("InvalidAttestation"));
    const raced = { attestation: { ...attestation, keyId: "raced" } };
    const answers = await Promise.allSettled([require(raced), require(raced, "sign-up", 1)]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("takes it again for a repetition with the same Idempotency-Key, and for no other request with it", async () => {
    const idempotencyKey = "k";
    await require({ idempotencyKey });
    await require({ idempotencyKey }, "sign-up", 1);
    const others = [{}, { idempotencyKey: "l" }, { idempotencyKey, login: { token: "another" } }];
    for (const other of others) await expect(require(other)).rejects.toEqual(refused("InvalidAttestation"));
    await expect(require({ idempotencyKey }, "enrollment")).rejects.toEqual(refused("InvalidAttestation"));
  });

  it("keeps the ids of the platforms apart", async () => {
    await require();
    await require({ attestation: { ...attestation, type: "play-integrity" } });
  });
});
