import { verifySignature } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import type { TwoFactorAuth } from "./resources.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";
import { ADDRESS, additionPayload, askedBy, codeOf, messageOf } from "./testing/two-factor.ts";

const deviceKey = generateDeviceKey();
const asking = generateDeviceKey();
const unregistered = generateDeviceKey();
const auth = askedBy(asking);
const code = codeOf(asking);
const me: Answer = [
  200,
  { account: { id: auth.accountId, addresses: [{ chainType: "cadence", address: `0x${ADDRESS}` }] } },
];
const shown = (twoFactorAuth: TwoFactorAuth): Answer => [200, { twoFactorAuth }];
const renewed: Answer = [409, { error: "MessageRenewed" }];

function approver(...answers: Answer[]) {
  const { seen, fetch } = fakeServer(...answers);
  const credentials = { accessToken: "access", refreshToken: "refresh" };
  let signatures = 0;
  const counting = {
    ...deviceKey,
    sign(bytes: Uint8Array) {
      signatures += 1;
      return deviceKey.sign(bytes);
    },
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey: counting, fetch, credentials });
  return { client, seen, signatures: () => signatures };
}

/** Returns the same request with a later message. */
function renewal(key = asking): TwoFactorAuth {
  const payload = additionPayload(key, { referenceBlockId: "cd".repeat(32) });
  const request = { ...auth.request, id: "d9428888-122b-4f5e-8a70-000000000005", message: messageOf(payload) };
  return { ...auth, request };
}

describe("approving by signature", () => {
  it("signs the message whose key makes the code, by the id of that message", async () => {
    const { client, seen } = approver(me, shown(auth), [204]);
    await client.approveTwoFactor(auth.id, { matchingCode: code.toLowerCase().replace("-", " ") });
    expect(seen[1]!.path).toBe(`/device/v1/2fa/${auth.id}`);
    expect(seen[2]).toMatchObject({ method: "POST", path: `/device/v1/2fa/${auth.request.id}/approve` });
    const { signature } = seen[2]!.body as { signature: string };
    const message = Buffer.from(auth.request.message, "hex");
    expect(verifySignature(deviceKey, message, Buffer.from(signature, "hex"))).toBe(true);
    expect(Object.keys(seen[2]!.body)).toEqual(["signature"]);
  });

  it.each<[string, TwoFactorAuth, Answer?]>([
    ["of another key", askedBy(asking, { message: messageOf(additionPayload(unregistered)) })],
    ["of an unknown device", askedBy(unregistered)],
    ["of another identity key", askedBy(asking, { device: { publicKey: unregistered.publicKey } })],
    ["said to be of another account", { ...auth, accountId: "0197a1b2-0000-7000-8000-00000000000f" }],
    [
      "about another account",
      auth,
      [200, { account: { id: auth.accountId, addresses: [{ chainType: "cadence", address: "0x1" }] } }],
    ],
    ["while the account has no address", auth, [200, { account: { id: auth.accountId, addresses: [] } }]],
  ])("refuses to sign a message %s", async (_, request, account = me) => {
    const { client, seen, signatures } = approver(account, shown(request), [204]);
    const work = client.approveTwoFactor(auth.id, { matchingCode: code });
    await expect(work).rejects.toMatchObject({ name: "MatchingCodeError" });
    expect(signatures()).toBe(0);
    expect(seen).toHaveLength(2);
  });

  it("refuses to sign anything but the addition of a key", async () => {
    const message = messageOf(
      additionPayload(asking, { script: "transaction { prepare(a: auth(Keys) &Account) {} }" }),
    );
    const { client, signatures } = approver(me, shown(askedBy(asking, { message })), [204]);
    const work = client.approveTwoFactor(auth.id, { matchingCode: code });
    await expect(work).rejects.toMatchObject({ name: "KeyAdditionError" });
    expect(signatures()).toBe(0);
  });

  it.each([undefined, null, "7K3F-9Q0X", {}, { matchingCode: null }, { txId: undefined }])(
    "names what is missing in %j, and asks the server nothing",
    async (approval) => {
      const { client, seen } = approver();
      const work = client.approveTwoFactor(auth.id, approval as unknown as { matchingCode: string });
      await expect(work).rejects.toThrow("give { matchingCode } as the person typed it, or { txId }");
      expect(seen).toEqual([]);
    },
  );

  it("refuses what is no code", async () => {
    for (const wrong of ["", "0000-0000", code.slice(1)]) {
      const { client, signatures } = approver(me, shown(auth), [204]);
      await expect(client.approveTwoFactor(auth.id, { matchingCode: wrong })).rejects.toThrow("codes");
      expect(signatures()).toBe(0);
    }
  });

  it("signs a renewed message after the same checks", async () => {
    const { client, seen } = approver(me, shown(auth), renewed, shown(renewal()), [204]);
    await client.approveTwoFactor(auth.id, { matchingCode: code });
    expect(seen.at(-1)!.path).toBe(`/device/v1/2fa/${renewal().request.id}/approve`);

    const swapped = approver(me, shown(auth), renewed, shown(renewal(unregistered)), [204]);
    const work = swapped.client.approveTwoFactor(auth.id, { matchingCode: code });
    await expect(work).rejects.toMatchObject({ name: "MatchingCodeError" });
    expect(swapped.signatures()).toBe(1);
  });

  it("gives up where the message never holds still", async () => {
    const { client } = approver(me, shown(auth), renewed, shown(auth), renewed, shown(auth), renewed, shown(auth));
    const work = client.approveTwoFactor(auth.id, { matchingCode: code });
    await expect(work).rejects.toMatchObject({ error: "MessageRenewed" });
  });
});

describe("the other methods of an approver", () => {
  it("name what they are about", async () => {
    const { client, seen, signatures } = approver(
      [204],
      [200, { twoFactorAuths: [auth] }],
      shown(auth),
      shown(auth),
      ...Array(4).fill([204]),
    );
    await client.approveTwoFactor(auth.id, { txId: "ab".repeat(32) });
    expect(await client.pendingTwoFactor()).toEqual([auth]);
    expect(await client.twoFactor(auth.id)).toEqual(auth);
    expect(await client.redirectTwoFactor(auth.id, "device-2")).toEqual(auth);
    await client.rejectTwoFactor(auth.id);
    await client.reopenTwoFactor();
    await client.freeze();
    await client.unfreeze();
    const path = `/device/v1/2fa/${auth.id}`;
    expect(seen.map((each) => [each.method, each.path, each.body])).toEqual([
      ["POST", `${path}/approve`, { txId: "ab".repeat(32) }],
      ["GET", "/device/v1/2fa?status=pending", {}],
      ["GET", path, {}],
      ["PUT", path, { destDeviceId: "device-2" }],
      ["DELETE", path, {}],
      ["POST", "/device/v1/2fa/reopen", {}],
      ["POST", "/account/v1/freeze", {}],
      ["POST", "/account/v1/unfreeze", {}],
    ]);
    expect(signatures()).toBe(0);
  });
});
