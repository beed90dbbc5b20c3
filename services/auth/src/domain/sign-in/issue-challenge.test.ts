import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import type { Login } from "../login.ts";
import { type Answerer, type IssueChallengeOptions, issueChallenge } from "./issue-challenge.ts";
import type { Challenge, SignInKey } from "./ports.ts";

const ACCOUNT = "01900000-0000-7000-8000-000000000001";
const CHAIN = "flow-emulator";
const device = generateKeyPair().publicKey;
const passkey = generateKeyPair().publicKey;
const unregistered = generateKeyPair().publicKey;
const authTime = new Date("2026-11-21T09:59:00Z");
const refused = (reason: string) => expect.objectContaining({ reason });
const login = (method: Login["method"] = "id_token_channel"): Login => ({
  method,
  token: "token",
  provider: "",
  redirectUri: "",
  codeVerifier: "",
  nonce: "",
});
const byKey = (publicKey = device): Answerer => ({ type: "device-key", publicKey });
const byName = (username: string): Answerer => ({ type: "passkey", username });

let clock: FixedClock;
let email: string;
/** The account of the login; undefined where the identity has none. */
let accountId: string | undefined;
/** The keys that the account has registered on the chain. */
let registered: SignInKey[];
let left: boolean;
let requireLoginToken: boolean;
let blocked: PublicKey[];
/** The keys that each login was verified for. */
let boundTo: unknown[];
/** The accounts that the key service was asked about. */
let askedAbout: unknown[];
let issued: Challenge[];
let issue: (answerer?: Answerer, change?: { login?: Login; chainName?: string }) => Promise<Challenge>;
beforeEach(() => {
  clock = new FixedClock("2026-11-21T10:00:00Z");
  [email, accountId, left, requireLoginToken] = ["ann@example.org", ACCOUNT, false, true];
  [blocked, boundTo, askedAbout, issued] = [[], [], [], []];
  registered = [
    { type: "device", accountKey: device, deviceKey: device, origin: "sign-up" },
    { type: "passkey", accountKey: passkey, deviceKey: generateKeyPair().publicKey, origin: "sign-up" },
  ];
  const holds = (key: unknown) => registered.find((each) => each.accountKey === key || each.deviceKey === key);
  const options: Omit<IssueChallengeOptions, "requireLoginToken"> = {
    async verifyLogin({ method }, keys) {
      if (method === "") throw new AppError("InvalidLoginToken");
      boundTo.push(keys);
      return {
        issuer: "https://idp.example",
        subject: "ann",
        email,
        name: "",
        picture: "",
        app: { appId: "demo", appName: "Demo" },
        authTime,
      };
    },
    identities: {
      accountOf: async (issuer, subject) =>
        issuer === "https://idp.example" && subject === "ann" ? accountId : undefined,
      accountByKey: async (key) => (holds(key) ? accountId : undefined),
      accountByEmail: async (address) => (address === email ? accountId : undefined),
    },
    challenges: {
      insert: async (challenge) => void issued.push(challenge),
      find: async () => undefined,
      countWrongAnswer: async () => false,
      succeed: async () => false,
    },
    async findSignInKey(of, chainName, key) {
      askedAbout.push(of);
      const found = of === ACCOUNT && chainName === CHAIN ? holds(key) : undefined;
      if (!found) throw new AppError("PleaseRegisterKey");
      return found;
    },
    listPasskeys: async (of, chainName) =>
      of === ACCOUNT && chainName === CHAIN ? registered.filter(({ type }) => type === "passkey") : [],
    chains: new Set([CHAIN, "flow-other"]),
    clock,
    blockedKeys: async (of) => (of === ACCOUNT ? blocked : []),
    hasLeft: async (of) => left && of === ACCOUNT,
  };
  issue = (answerer = byKey(), change = {}) =>
    issueChallenge({ ...options, requireLoginToken })({ login: login(), chainName: CHAIN, answerer, ...change });
});

describe("a challenge", () => {
  it("names the account, its key and the login, and ends after five minutes", async () => {
    const challenge = await issue();
    expect(challenge).toMatchObject({
      type: "device-key",
      accountId: ACCOUNT,
      chainName: CHAIN,
      app: { appId: "demo" },
      signer: device,
      key: { ...registered[0], readAt: new Date("2026-11-21T10:00:00Z") },
      authTime,
      expiresAt: new Date("2026-11-21T10:05:00Z"),
    });
    expect(challenge.data).toMatch(/^[0-9a-f]{32}$/);
    expect((await issue()).data).not.toBe(challenge.data);
    expect(issued[0]).toEqual(challenge);
    expect(issued).toHaveLength(2);
  });

  it("is bound to the key that the request names; a login by e-mail names none", async () => {
    await issue();
    expect((await issue(byName("ann@example.org"))).signer).toBeUndefined();
    expect(boundTo).toEqual([[device], []]);
  });

  it("is for configured chains only, and for the keys of that chain", async () => {
    await expect(issue(byKey(), { chainName: "elsewhere" })).rejects.toEqual(refused("UnknownChain"));
    await expect(issue(byKey(), { chainName: "flow-other" })).rejects.toEqual(refused("PleaseRegisterKey"));
    const elsewhere = issue(byName("ann@example.org"), { chainName: "flow-other" });
    await expect(elsewhere).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it("needs an identity that has an account, and a key of that account", async () => {
    await expect(issue(byKey(unregistered))).rejects.toEqual(refused("PleaseRegisterKey"));
    accountId = undefined;
    await expect(issue()).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(askedAbout).toEqual([ACCOUNT]);
    accountId = "01900000-0000-7000-8000-000000000002";
    await expect(issue()).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(issued).toEqual([]);
  });

  it("is answered by a key of the kind that was asked for", async () => {
    expect((await issue({ type: "passkey", publicKey: passkey })).type).toBe("passkey");
    await expect(issue(byKey(passkey))).rejects.toEqual(refused("PleaseRegisterKey"));
    await expect(issue({ type: "passkey", publicKey: device })).rejects.toEqual(refused("PleaseRegisterKey"));
    const besidePasskey = registered[1]!.deviceKey;
    expect((await issue(byKey(besidePasskey))).signer).toEqual(besidePasskey);
    await expect(issue({ type: "passkey", publicKey: besidePasskey })).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it("by e-mail is for the login's own address only", async () => {
    expect(await issue(byName(" Ann@Example.org "))).toMatchObject({ accountId: ACCOUNT, type: "passkey" });
    await expect(issue(byName("eve@example.org"))).rejects.toEqual(refused("PleaseRegisterKey"));
    email = "";
    await expect(issue(byName(""))).rejects.toEqual(refused("PleaseRegisterKey"));
    email = " ANN@example.org";
    expect(await issue(byName("ann@example.org"))).toMatchObject({ accountId: ACCOUNT });
  });

  it("by e-mail needs a passkey of the account", async () => {
    registered = registered.slice(0, 1);
    await expect(issue(byName("ann@example.org"))).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it("is refused to a blocked key, by the account's key and by the device's", async () => {
    const deviceKey = generateKeyPair().publicKey;
    registered[0] = { ...registered[0]!, deviceKey };
    for (const each of [device, deviceKey]) {
      blocked = [each];
      await expect(issue()).rejects.toEqual(refused("PleaseRegisterKey"));
    }
    expect(issued).toEqual([]);
  });

  it("by e-mail is issued while one of the account's passkeys is not blocked", async () => {
    registered.push({ ...registered[1]!, accountKey: unregistered, deviceKey: unregistered });
    blocked = [passkey];
    await issue(byName("ann@example.org"));
    blocked = [passkey, unregistered];
    await expect(issue(byName("ann@example.org"))).rejects.toEqual(refused("PleaseRegisterKey"));
  });

  it("says that the account has left to its own keys only, also to blocked ones", async () => {
    left = true;
    blocked = [device];
    await expect(issue()).rejects.toEqual(refused("AccountLeft"));
    for (const key of [unregistered, passkey])
      await expect(issue(byKey(key))).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(issued).toEqual([]);
  });
});

describe("without a login token", () => {
  it("no challenge is issued", async () => {
    await expect(issue(byKey(), { login: login("") })).rejects.toEqual(refused("InvalidLoginToken"));
    const named = issue(byName("ann@example.org"), { login: login("") });
    await expect(named).rejects.toEqual(refused("InvalidLoginToken"));
    expect(issued).toEqual([]);
  });

  it("key or e-mail names the account in development, and the login is not fresh", async () => {
    requireLoginToken = false;
    const expected = { accountId: ACCOUNT, app: { appId: "development" }, authTime: undefined };
    expect(await issue(byKey(), { login: login("") })).toMatchObject(expected);
    expect(await issue(byName("ann@example.org"), { login: login("") })).toMatchObject(expected);
    expect(boundTo).toEqual([]);
    await expect(issue(byKey(unregistered), { login: login("") })).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(await issue(byKey(), { login: login() })).toMatchObject({ app: { appId: "demo" }, authTime });
  });
});
