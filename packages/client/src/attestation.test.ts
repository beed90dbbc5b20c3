import { createHash } from "node:crypto";
import { publicKeyFingerprint } from "@countersign/keys";
import { expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node.ts";
import type { Attest, AttestedClientData } from "./user-key.ts";

const login = { method: "id_token_channel", token: "login", nonce: "" } as const;

/** Returns a client of a server that refuses everything, its bodies, and the requests to attest. */
function world(attest?: Attest) {
  const bodies: Record<string, unknown>[] = [];
  const asked: AttestedClientData[] = [];
  const deviceKey = generateDeviceKey();
  const client = new CountersignClient({
    baseUrl: "http://gateway.test",
    deviceKey,
    ...(attest && {
      attest: (request) => {
        asked.push(request);
        return attest(request);
      },
    }),
    fetch: async (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return new Response('{"error":"InvalidAttestation","status":403}', { status: 403 });
    },
  });
  const refused = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ error: "InvalidAttestation" });
  return { client, deviceKey, bodies, asked, refused };
}

it("sign-up and enrollment carry the app's attestation, each about its own request", async () => {
  const { client, deviceKey, bodies, asked, refused } = world(async ({ nonce }) => ({
    type: "play-integrity",
    token: nonce,
  }));
  await refused(client.signUp({ login, chainName: "flow-emulator" }));
  await refused(client.requestTwoFactor({ login, chainName: "flow-emulator" }));
  expect(bodies).toMatchObject(
    asked.map(({ nonce }) => ({ attestationType: "play-integrity", attestationToken: nonce })),
  );
  const key = publicKeyFingerprint(deviceKey);
  const hashOfLogin = createHash("sha256").update("login").digest("base64url");
  for (const [at, operation] of ["sign-up", "enrollment"].entries()) {
    const text = ["countersign attestation v1", operation, "flow-emulator", hashOfLogin, key, key].join("\n");
    const hash = createHash("sha256").update(text).digest();
    expect(asked[at]).toEqual({
      clientData: text,
      clientDataHash: new Uint8Array(hash),
      nonce: hash.toString("base64url"),
    });
  }
});

it("without `attest`, or where the platform has none, nothing is sent; nor is it asked at sign-in", async () => {
  for (const { client, bodies, asked, refused } of [world(), world(async () => undefined)]) {
    await refused(client.signUp({ login, chainName: "flow-emulator" }));
    await refused(client.requestTwoFactor({ login, chainName: "flow-emulator" }));
    const before = asked.length;
    await refused(client.signIn({ login, chainName: "flow-emulator" }));
    expect(bodies.filter((body) => "attestationType" in body)).toEqual([]);
    expect(asked).toHaveLength(before);
  }
});

it("an attestation that the platform refuses stops the request", async () => {
  const { client, bodies } = world(() => Promise.reject(new Error("no network")));
  await expect(client.signUp({ login, chainName: "flow-emulator" })).rejects.toThrow("no network");
  expect(bodies).toEqual([]);
});
