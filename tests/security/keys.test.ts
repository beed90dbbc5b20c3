import { beforeAll, describe, expect, it } from "vitest";
import { chainName, newEmail } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, idTokenOf, newVictim, remember, type Victim } from "./attacker.ts";
import { compressed, hex32, negated, noPoint, P256, SECP256K1, smallPoint } from "./curves.ts";
import { secret } from "./secrets.ts";
import { mintAccessToken, query } from "./token-forge.ts";

let victim: Victim;
let token: string;
/** A login of a person without an account, who also gets none. */
let outsider: { idToken: string; nonce: string };
const outsiderEmail = newEmail();
beforeAll(async () => {
  [victim, outsider] = await Promise.all([newVictim(), idTokenOf(outsiderEmail)]);
  token = await mintAccessToken(victim);
});

const honest = attackerPhone().deviceKey.publicKey;
const honestK = attackerPhone("ES256K").deviceKey.publicKey;
const honestEd = attackerPhone("EdDSA").deviceKey.publicKey;
const small = smallPoint(P256);
const smallK = smallPoint(SECP256K1);
const off = honest.slice(0, 127) + (honest[127] === "0" ? "1" : "0");
const zeros = "00".repeat(32);

/** `[description, key, algorithm]`: none is a valid key. */
const BAD_KEYS: [string, string, string?][] = [
  ["a point off the curve", off],
  ["a point off the curve, uncompressed", `04${off}`],
  ["a point of the other curve", honestK],
  ["a point of this curve as the other's", honest, "ES256K"],
  ["x and y exchanged", honest.slice(64) + honest.slice(0, 64)],
  ["zero", zeros + zeros],
  ["zero, uncompressed", `04${zeros}${zeros}`],
  ["infinity", "00"],
  ["infinity, padded", `00${zeros}${zeros}`],
  ["an x without a point, compressed", `02${hex32(noPoint(P256))}`],
  ["x plus p", hex32(small.x + P256.p) + hex32(small.y)],
  ["x plus p, compressed", `02${hex32(small.x + P256.p)}`],
  ["x plus p of the other curve", hex32(smallK.x + SECP256K1.p) + hex32(smallK.y), "ES256K"],
  ["x of p", hex32(P256.p) + hex32(small.y)],
  ["y of p", hex32(small.x) + hex32(P256.p)],
  ["all ones", "ff".repeat(64)],
  ["a hybrid encoding", `06${honest}`],
  ["a hybrid encoding of odd y", `07${honest}`],
  ["a compressed encoding of no sign", `05${honest.slice(0, 64)}`],
  ["a compressed key without its sign", `04${honest.slice(0, 64)}`],
  ["a byte too few", honest.slice(2)],
  ["a byte too many", `${honest}00`],
  ["half a byte", honest.slice(1)],
  ["nothing behind 0x", "0x"],
  ["0x twice", `0x0x${honest}`],
  ["no hex", "zz".repeat(64)],
  ["fullwidth hex", "\uff10".repeat(128)],
  ["a space before it", ` ${honest.slice(1)}`],
  ["a line break behind it", `${honest}\n`],
  ["PEM", "-----BEGIN PUBLIC KEY-----"],
  ["a JWK", '{"kty":"EC"}'],
  ["a P-256 key as Ed25519", honest, "EdDSA"],
  ["Ed25519: the identity", `01${"00".repeat(31)}`],
  ["Ed25519: order two", `ec${"ff".repeat(30)}7f`],
  ["Ed25519: order four", zeros],
  ["Ed25519: order four, negative", `${"00".repeat(31)}80`],
  ["Ed25519: order eight", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"],
  ["Ed25519: order eight, negative", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"],
  ["Ed25519: order eight, the other", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"],
  ["Ed25519: y of p", `ed${"ff".repeat(30)}7f`],
  ["Ed25519: y of p plus one", `ee${"ff".repeat(30)}7f`],
  ["Ed25519: the identity with a sign", `01${"00".repeat(30)}80`],
  ["Ed25519: no point", `02${"00".repeat(31)}`],
];

const login = () => ({ method: "id_token_channel", token: outsider.idToken, chainName });
const signUp = (userKey: Record<string, unknown>) =>
  send({
    method: "POST",
    path: "/auth/v1/signup",
    body: { ...login(), userKey: { type: "device", device: {}, ...userKey } },
  });
const challenge = (publicKey: string, algorithm?: string, idToken = victim.idToken) =>
  send({
    method: "POST",
    path: "/auth/v1/signin/challenge",
    body: {
      challengeType: "deviceKey",
      request: { ...login(), token: idToken },
      publicKey,
      ...(algorithm && { algorithm }),
    },
  });
const BAD = ["InvalidPublicKey", "UnsupportedKey", "InvalidRequest"];

describe("an invalid key", () => {
  it.each(BAD_KEYS)("%s: refused at sign-up, by challenges and as a device", async (_, publicKey, algorithm) => {
    const named = algorithm === undefined ? {} : { algorithm };
    expectProblem(await signUp({ publicKey, ...named }), 400, BAD);
    expectProblem(await signUp({ publicKey: honest, device: { publicKey, ...named } }), 400, BAD);
    expectProblem(await challenge(publicKey, algorithm), 400, BAD);
    const path = `/device/v1/devices/${encodeURIComponent(publicKey)}?${new URLSearchParams(named)}`;
    for (const [method, body] of [
      ["PUT", { name: "x" }],
      ["DELETE", undefined],
    ] as const) {
      const answer = await send({ method, path, token, body });
      // A path need not name the curve: a point of the other curve is a key, and no device has it.
      const otherCurve = algorithm === undefined && answer.status === 404;
      if (otherCurve) expect(publicKey === honestK || publicKey.length === 66).toBe(true);
      expectProblem(answer, otherCurve ? 404 : 400, otherCurve ? "DeviceNotFound" : BAD);
    }
  });

  it("a valid key of an algorithm that the chain does not support", async () => {
    expectProblem(await signUp({ publicKey: honestEd }), 400, "UnsupportedKey");
    expectProblem(await signUp({ publicKey: honestEd, algorithm: "ES256" }), 400, "UnsupportedKey");
  });

  it("a malformed key in the path", async () => {
    for (const key of ["..", "%2e%2e", "a%2fb", "%00", "x".repeat(257), "0".repeat(1_000)]) {
      const answer = await send({ method: "PUT", path: `/device/v1/devices/${key}`, token, body: { name: "x" } });
      expectProblem(answer, [400, 404], [...BAD, "RouteNotFound"]);
    }
  });

  it("none of them created an account", async () => {
    expect(await query("auth", "SELECT 1 FROM identity WHERE email = $1", [outsiderEmail])).toEqual([]);
  });
});

describe("the non-canonical encodings of a key", () => {
  const spellings = (key: string): [string, string][] => [
    ["upper case", key.toUpperCase()],
    ["0x", `0x${key}`],
    ["0x and upper case", `0x${key.toUpperCase()}`],
    ["uncompressed", `04${key}`],
    ["compressed", compressed(key)],
    ["compressed, 0x, upper case", `0x${compressed(key).toUpperCase()}`],
  ];

  it("name the same device and the same right to a challenge", async () => {
    for (const [name, key] of spellings(victim.deviceKey.publicKey)) {
      const asked = await challenge(key);
      expect(asked.status, `${name}: ${asked.text}`).toBe(200);
      const renamed = await send({ method: "PUT", path: `/device/v1/devices/${key}`, token, body: { name } });
      expect(renamed.status, `${name}: ${renamed.text}`).toBe(200);
      expect(renamed.body.device).toMatchObject({ publicKey: victim.deviceKey.publicKey, name });
    }
  });

  it("sign nobody up twice", async () => {
    for (const [, key] of spellings(victim.deviceKey.publicKey)) {
      const userKey = { type: "device", publicKey: key, device: { publicKey: key } };
      const body = { ...login(), token: victim.idToken, userKey };
      expectProblem(await send({ method: "POST", path: "/auth/v1/signup", body }), 409, "AccountExists");
    }
  });

  it("at once and at sign-up make one account, one device, one key, in the canonical spelling", async () => {
    const phone = attackerPhone();
    const { publicKey } = phone.deviceKey;
    const { idToken } = await idTokenOf(newEmail());
    const answers = await Promise.all(
      spellings(publicKey).map(([, key], index, all) =>
        send({
          method: "POST",
          path: "/auth/v1/signup",
          body: {
            ...login(),
            token: idToken,
            userKey: { type: "device", publicKey: key, device: { publicKey: all[all.length - 1 - index]![1] } },
          },
        }),
      ),
    );
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeGreaterThan(0);
    for (const { body } of good) remember(body);
    for (const answer of answers) {
      if (answer.status !== 200) expectProblem(answer, 409, "AccountExists");
    }
    expect(new Set(good.map(({ body }) => body.account.id)).size).toBe(1);
    const { id } = good[0]!.body.account;
    const bearer = await mintAccessToken({ accountId: id, deviceKey: phone.deviceKey });
    const { devices } = (await send({ method: "GET", path: "/device/v1/devices", token: bearer })).body;
    const { keys } = (await send({ method: "GET", path: "/key/v1/keys", token: bearer })).body;
    expect(devices.map((each: { publicKey: string }) => each.publicKey)).toEqual([publicKey]);
    expect(keys.map((each: { publicKey: string }) => each.publicKey)).toEqual([publicKey]);
    const asked = await challenge(compressed(publicKey), undefined, idToken);
    const signature = Buffer.from(await phone.deviceKey.sign(Buffer.from(asked.body.challengeData, "hex")));
    secret("signature of a challenge", signature.toString("hex"));
    const body = {
      challengeType: "deviceKey",
      challengeData: asked.body.challengeData,
      deviceKey: { signature: `0x${signature.toString("hex").toUpperCase()}` },
    };
    const signedIn = await send({ method: "POST", path: "/auth/v1/signin/challenge/respond", body });
    expect(signedIn.body.account.id).toBe(id);
    remember(signedIn.body);
  });

  it("the negated point is another key, and nobody's", async () => {
    const other = negated(victim.deviceKey.publicKey, P256);
    expectProblem(await challenge(other), 400, "PleaseRegisterKey");
    expectProblem(await challenge(compressed(other)), 400, "PleaseRegisterKey");
    const path = `/device/v1/devices/${other}`;
    expectProblem(await send({ method: "PUT", path, token, body: { name: "x" } }), 404, "DeviceNotFound");
    expectProblem(await send({ method: "DELETE", path, token }), 404, "DeviceNotFound");
  });

  it("the wrong algorithm for the curve is refused", async () => {
    const { publicKey } = victim.deviceKey;
    expectProblem(await challenge(publicKey, "ES256K"), 400, "InvalidPublicKey");
    expectProblem(await challenge(publicKey, "EdDSA"), 400, "InvalidPublicKey");
    for (const algorithm of ["RS256", "es256", "none", ""]) {
      expectProblem(await challenge(publicKey, algorithm || "\u0000"), 400, "InvalidRequest");
    }
    const path = `/device/v1/devices/${publicKey}?algorithm=ES256K`;
    expectProblem(await send({ method: "PUT", path, token, body: { name: "x" } }), 400, "InvalidPublicKey");
  });
});

afterwards();
