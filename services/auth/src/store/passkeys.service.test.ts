import { AppError, uuidv7 } from "@countersign/core";
import { hexToBytes, type PublicKey, samePublicKey } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { type Said, sha256, simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { beforeEach, describe, expect, it } from "vitest";
import type { Login } from "../domain/login.ts";
import { type Answerer, issueChallenge } from "../domain/sign-in/issue-challenge.ts";
import type { SignInKey } from "../domain/sign-in/ports.ts";
import { respondChallenge } from "../domain/sign-in/respond-challenge.ts";
import { app, clock, postgres, prisma } from "../testing/store-fixture.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";

const login: Login = {
  method: "id_token_channel",
  token: "t",
  provider: "",
  redirectUri: "",
  codeVerifier: "",
  nonce: "",
};
const profile = {
  issuer: "https://idp.example",
  subject: "ada",
  email: "ada@example.com",
  name: "",
  picture: "",
  app,
  authTime: clock.now(),
};

type Passkey = ReturnType<typeof simulatedPasskey>;
let accountId: string;
let registered: SignInKey[];
let blocked: PublicKey[];
let boundTo: (readonly PublicKey[])[];
let passkey: Passkey;
let second: Passkey;
let left = false;
const device = generateKeyPair();

function world() {
  const challenges = postgresChallengeStore(postgres);
  const shared = {
    challenges,
    clock,
    findSignInKey: async (_account: string, _chain: string, key: PublicKey) => {
      const found = registered.find(
        (each) => samePublicKey(each.accountKey, key) || samePublicKey(each.deviceKey, key),
      );
      if (!found) throw new AppError("PleaseRegisterKey");
      return found;
    },
    listPasskeys: async () => registered.filter(({ type }) => type === "passkey"),
    blockedKeys: async () => blocked,
  };
  const issue = issueChallenge({
    ...shared,
    verifyLogin: async (_login, keys) => {
      boundTo.push(keys);
      return profile;
    },
    identities: {
      accountOf: async () => accountId,
      accountByKey: async () => undefined,
      accountByEmail: async (email) => (email === profile.email ? accountId : undefined),
    },
    chains: new Set(["flow-emulator"]),
    requireLoginToken: false,
    hasLeft: async () => left,
  });
  const respond = respondChallenge({
    ...shared,
    recordKeyUse: () => undefined,
    limitSignIns: () => undefined,
    passkeys: {
      relyingPartiesOf: (appId) => (appId === "demo" || appId === "development" ? [TEST_RELYING_PARTY] : []),
    },
    issue: async ({ id }) => ({ accessToken: id, refreshToken: "" }),
  });
  return {
    ask: async (answerer: Answerer, by = login) =>
      (await issue({ login: by, chainName: "flow-emulator", answerer })).data,
    answer: (data: string, by: Passkey = passkey, said: Said = {}, challenge: Uint8Array = hexToBytes(data)) =>
      respond({ data, answer: { type: "passkey", ...by.assert(challenge, said) }, context, count, findAccount }),
    respond,
  };
}

const refused = (reason: string) => expect.objectContaining({ reason });
const findAccount = async () => undefined;
const count = async () => undefined;
const context = { requestId: "", signal: new AbortController().signal };
const byName: Answerer = { type: "passkey", username: "Ada@Example.com" };

describe("signing in with a passkey", () => {
  let { ask, answer, respond } = world();
  const byKey = (): Answerer => ({ type: "passkey", publicKey: passkey.publicKey });

  beforeEach(() => {
    ({ ask, answer, respond } = world());
    accountId = uuidv7(clock);
    [passkey, second] = [simulatedPasskey(), simulatedPasskey()];
    const entry = (type: SignInKey["type"], accountKey: PublicKey): SignInKey => ({
      origin: "sign-up",
      type,
      accountKey,
      deviceKey: accountKey,
    });
    registered = [
      entry("device", device.publicKey),
      entry("passkey", passkey.publicKey),
      entry("passkey", second.publicKey),
    ];
    blocked = [];
    boundTo = [];
  });

  it("by its public key, once", async () => {
    const data = await ask(byKey());
    expect(data).toMatch(/^[0-9a-f]{32}$/);
    expect(boundTo).toEqual([[passkey.publicKey]]);
    const signedIn = await answer(data);
    expect(signedIn).toMatchObject({ accountId, accountKey: passkey.publicKey });
    const id = signedIn.credentials.accessToken;
    expect(await prisma.session.findUnique({ where: { id } })).toMatchObject({
      accountKey: passkey.publicKey.publicKey,
    });
    await expect(answer(data)).rejects.toEqual(refused("UnknownChallenge"));
  });

  it("by the login's e-mail, with any passkey of the account and nothing else", async () => {
    expect(await answer(await ask(byName), second)).toMatchObject({ accountKey: second.publicKey });
    expect(await answer(await ask(byName), passkey)).toMatchObject({ accountKey: passkey.publicKey });
    expect(boundTo).toEqual([[], []]);
    const data = await ask(byName);
    await expect(answer(data, simulatedPasskey())).rejects.toEqual(refused("InvalidSignature"));
    await expect(answer(data, simulatedPasskey(device))).rejects.toEqual(refused("InvalidSignature"));
  });

  it("without a login token where development allows it", async () => {
    const nothing: Login = { ...login, method: "", token: "" };
    expect(await answer(await ask({ type: "passkey", username: profile.email }, nothing))).toMatchObject({ accountId });
    await expect(ask({ type: "passkey", username: "bob@example.com" }, nothing)).rejects.toEqual(
      refused("PleaseRegisterKey"),
    );
  });

  it.each<[string, () => Answerer]>([
    ["another e-mail than the login's", () => ({ type: "passkey", username: "bob@example.com" })],
    ["a key that is nobody's", () => ({ type: "passkey", publicKey: simulatedPasskey().publicKey })],
    ["a device's key", () => ({ type: "passkey", publicKey: device.publicKey })],
    ["a passkey as a device's key", () => ({ type: "device-key", publicKey: passkey.publicKey })],
  ])("is not begun with %s", async (_, answerer) => {
    await expect(ask(answerer())).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it("is not begun where there is no passkey, or none that may sign in", async () => {
    blocked = [passkey.publicKey, second.publicKey];
    await expect(ask(byName)).rejects.toEqual(refused("PleaseRegisterKey"));
    await expect(ask(byKey())).rejects.toEqual(refused("PleaseRegisterKey"));
    registered = registered.slice(0, 1);
    await expect(ask(byName)).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it("is not begun for an account that has left", async () => {
    left = true;
    try {
      await expect(ask(byName)).rejects.toEqual(refused("AccountLeft"));
      await expect(ask(byKey())).rejects.toEqual(refused("AccountLeft"));
      await expect(ask({ type: "passkey", username: "bob@example.com" })).rejects.toEqual(refused("PleaseRegisterKey"));
    } finally {
      left = false;
    }
  });

  it("ends where the passkey was blocked or revoked meanwhile", async () => {
    const [first, other] = [await ask(byKey()), await ask(byName)];
    await prisma.blockedKey.create({ data: { accountId, ...passkey.publicKey } });
    await expect(answer(first)).rejects.toEqual(refused("PleaseRegisterKey"));
    await expect(answer(other)).rejects.toEqual(refused("PleaseRegisterKey"));
    registered = registered.filter(({ accountKey }) => accountKey !== passkey.publicKey);
    await expect(answer(other)).rejects.toEqual(refused("InvalidSignature"));
  });

  it("uses the identity key of a device beside its passkey as what it is", async () => {
    registered = [{ type: "passkey", accountKey: passkey.publicKey, deviceKey: device.publicKey, origin: "sign-up" }];
    const data = await ask({ type: "device-key", publicKey: device.publicKey });
    const signature = signMessage(device.privateKey, hexToBytes(data));
    const signedIn = await respond({
      data,
      answer: { type: "device-key", signature },
      context,
      count,
      findAccount,
    });
    expect(signedIn).toMatchObject({ accountKey: passkey.publicKey });
    await expect(ask({ type: "passkey", publicKey: device.publicKey })).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it.each<[string, Said, RegExp]>([
    [
      "another origin",
      { client: { origin: "https://evil.example" } },
      /origin "https:\/\/evil\.example" .* allowed: "https:\/\/wallet\.example\.com"/,
    ],
    ["an endless origin", { client: { origin: "x".repeat(1_500) } }, /^.{1,400}$/],
    ["another RP id", { rpId: "evil.example" }, /RP id .* "wallet\.example\.com"/],
    ["nobody present", { flags: 0x1c }, /user was not present/],
    ["nobody verified", { flags: 0x19 }, /user verification is required/],
    ["another type", { client: { type: "webauthn.create" } }, /type .* "webauthn\.get"/],
    ["a member twice", { clientDataJSON: Buffer.from('{"type":"a","Type":"b"}') }, /member twice/],
  ])("is refused with %s, says so, and may be answered rightly after that", async (_, said, detail) => {
    for (const asked of [byKey(), byName]) {
      const data = await ask(asked);
      const refusal = answer(data, passkey, said);
      await expect(refusal).rejects.toEqual(refused("InvalidSignature"));
      await expect(refusal).rejects.toMatchObject({ detail: expect.stringMatching(detail) });
      expect(await answer(data)).toMatchObject({ accountId });
    }
  });

  it("is refused with what answered another challenge, or signed a transaction", async () => {
    const [data, other] = [await ask(byKey()), await ask(byKey())];
    await expect(answer(data, passkey, {}, hexToBytes(other))).rejects.toEqual(refused("InvalidSignature"));
    await expect(answer(data, passkey, {}, sha256(hexToBytes(data)))).rejects.toEqual(refused("InvalidSignature"));
    await expect(answer(data, passkey, {}, Buffer.concat([hexToBytes(data), hexToBytes(data)]))).rejects.toEqual(
      refused("InvalidSignature"),
    );
  });

  it("is refused where the other type of challenge was issued", async () => {
    const data = await ask(byKey());
    const signature = signMessage(passkey.privateKey, hexToBytes(data));
    const asDevice = respond({ data, answer: { type: "device-key", signature }, context, count, findAccount });
    await expect(asDevice).rejects.toEqual(refused("ChallengeTypeMismatch"));
    const ofDevice = await ask({ type: "device-key", publicKey: device.publicKey });
    await expect(answer(ofDevice, simulatedPasskey(device))).rejects.toEqual(refused("ChallengeTypeMismatch"));
  });

  it("ends with the fifth wrong answer", async () => {
    const data = await ask(byName);
    for (let tries = 0; tries < 5; tries++) {
      await expect(answer(data, passkey, { flags: 0 })).rejects.toEqual(refused("InvalidSignature"));
    }
    await expect(answer(data)).rejects.toEqual(refused("UnknownChallenge"));
  });
});

describe("the counter of a passkey", () => {
  let { ask, answer } = world();
  const signIn = async (signCount: number, by: Answerer = { type: "passkey", publicKey: passkey.publicKey }) =>
    answer(await ask(by), passkey, { signCount });
  const stored = async () =>
    (await prisma.passkeyCounter.findMany({ where: { accountId } })).map(({ signCount }) => Number(signCount));

  it("has to grow from one sign-in to the next, whichever way they are asked for", async () => {
    await signIn(5);
    await signIn(6, byName);
    for (const signCount of [6, 5, 0]) {
      await expect(signIn(signCount)).rejects.toEqual(refused("InvalidSignature"));
      await expect(signIn(signCount, byName)).rejects.toEqual(refused("InvalidSignature"));
    }
    expect(await stored()).toEqual([6]);
    await signIn(0xffff_ffff);
    expect(await stored()).toEqual([0xffff_ffff]);
    expect(await prisma.session.count({ where: { accountId } })).toBe(3);
  });

  it("may be none, always, and may begin", async () => {
    await signIn(0);
    await signIn(0);
    await signIn(1);
    await expect(signIn(0)).rejects.toEqual(refused("InvalidSignature"));
  });

  it("spoils nothing where it went back: the challenge is still there for the right one", async () => {
    await signIn(5);
    const data = await ask(byName);
    await expect(answer(data, passkey, { signCount: 4 })).rejects.toEqual(refused("InvalidSignature"));
    expect(await answer(data, passkey, { signCount: 6 })).toMatchObject({ accountId });
  });

  it("lets one of two copies in that answer at once", async () => {
    await signIn(1);
    const datas = await Promise.all(Array.from({ length: 8 }, () => ask(byName)));
    const answers = await Promise.allSettled(datas.map((data) => answer(data, passkey, { signCount: 2 })));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await stored()).toEqual([2]);
  });

  beforeEach(() => {
    ({ ask, answer } = world());
    accountId = uuidv7(clock);
    passkey = simulatedPasskey();
    registered = [{ type: "passkey", accountKey: passkey.publicKey, deviceKey: passkey.publicKey, origin: "sign-up" }];
    blocked = [];
    boundTo = [];
  });
});
