import { AppError } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { twoFactorWorld } from "../../testing/two-factor-world.ts";

describe("requestTwoFactor", () => {
  let world: ReturnType<typeof twoFactorWorld>;
  let accountId: string;
  const refused = (reason: string) => expect.objectContaining({ reason });

  beforeEach(() => {
    world = twoFactorWorld();
    accountId = world.account("ann");
  });

  it("opens a request for five minutes and keeps what the session will need", async () => {
    const { opened, ephemeralAccessToken } = await world.ask();
    const row = world.store.rows.get(opened.id)!;
    expect(row).toMatchObject({ accountId, app: { appId: "demo" }, authTime: new Date("2026-11-20T09:59:00Z") });
    expect(row.expiresAt).toEqual(new Date("2026-11-20T10:05:00Z"));
    expect(ephemeralAccessToken).toBe(`${row.id}.${row.tokenId}`);
  });

  it("wants an identity that has an account, a known chain, and a key that the chain carries", async () => {
    await expect(world.ask({ token: "bob/1" })).rejects.toEqual(refused("AccountNotFound"));
    await expect(world.ask({ chainName: "elsewhere" })).rejects.toEqual(refused("UnknownChain"));
    const accountKey = generateKeyPair("EdDSA").publicKey;
    await expect(world.ask({ accountKey })).rejects.toEqual(refused("UnsupportedKey"));
    expect(world.store.rows.size).toBe(0);
  });

  it("remembers that the key is a passkey, which has to be of P-256", async () => {
    const { opened } = await world.ask({ userKeyType: "passkey" });
    expect(world.store.rows.get(opened.id)).toMatchObject({ userKeyType: "passkey" });
    const accountKey = generateKeyPair("ES256K").publicKey;
    await expect(world.ask({ userKeyType: "passkey", accountKey })).rejects.toEqual(refused("UnsupportedKey"));
  });

  it("takes no key that the account has, neither as account key nor as device key, nor one that was blocked", async () => {
    const known = generateKeyPair().publicKey;
    world.registered.push(known);
    await expect(world.ask({ accountKey: known })).rejects.toEqual(refused("KeyAlreadyRegistered"));
    await expect(world.ask({ deviceKey: known })).rejects.toEqual(refused("KeyAlreadyRegistered"));
    world.store.verdict = "blocked";
    await expect(world.ask()).rejects.toEqual(refused("KeyAlreadyRegistered"));
    expect(world.store.rows.size).toBe(0);
  });

  it("takes the keys of a device that is on another chain together only", async () => {
    const [accountKey, deviceKey] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
    world.store.known.push({ accountKey, deviceKey });
    const other = generateKeyPair().publicKey;
    for (const claimed of [
      { accountKey, deviceKey: other },
      { accountKey: other, deviceKey },
      { accountKey: deviceKey, deviceKey },
      { accountKey: other, deviceKey: accountKey },
    ]) {
      await expect(world.ask(claimed)).rejects.toEqual(refused("KeyAlreadyRegistered"));
    }
    expect(world.store.rows.size).toBe(0);
    await expect(world.ask({ accountKey, deviceKey })).resolves.toBeDefined();
    // Version 0.1 enrolled devices with another account key on another chain.
    world.store.known.push({ accountKey: other, deviceKey });
    for (const claimed of [
      { accountKey, deviceKey },
      { accountKey: other, deviceKey },
    ])
      await expect(world.ask(claimed)).resolves.toBeDefined();
  });

  it("takes no recovery key of another chain, which the removal of the device would block", async () => {
    const { publicKey } = generateKeyPair();
    world.recoveryElsewhere.push(publicKey);
    await expect(world.ask({ accountKey: publicKey })).rejects.toEqual(refused("KeyAlreadyRegistered"));
    await expect(world.ask({ deviceKey: publicKey })).rejects.toEqual(refused("KeyAlreadyRegistered"));
  });

  it("opens nothing where the app's attestation is refused, also for a repetition", async () => {
    await world.ask({ idempotencyKey: "k" });
    expect(world.attested).toEqual([["enrollment", "demo", "ann/1"]]);
    world.failing.attestation = new AppError("AttestationRequired");
    await expect(world.ask({ idempotencyKey: "k" })).rejects.toEqual(refused("AttestationRequired"));
    await expect(world.ask()).rejects.toEqual(refused("AttestationRequired"));
    expect([world.store.rows.size, world.requests.opened]).toEqual([1, 1]);
  });

  it("opens nothing while the key service cannot say whether the key is new", async () => {
    world.failing.keys = new AppError("Unavailable");
    await expect(world.ask()).rejects.toEqual(refused("Unavailable"));
    expect(world.store.rows.size).toBe(0);
  });

  it("lets nobody ask while the account is frozen", async () => {
    world.store.verdict = "frozen";
    await expect(world.ask()).rejects.toEqual(refused("AccountFrozen"));
  });

  it("lets nobody ask, nor ask again, once the account has left", async () => {
    await world.ask({ idempotencyKey: "k" });
    world.store.left = true;
    await expect(world.ask({ idempotencyKey: "k" })).rejects.toEqual(refused("AccountLeft"));
    await expect(world.ask()).rejects.toEqual(refused("AccountLeft"));
  });

  it("says whether the account's recovery key has signed in", async () => {
    await world.ask();
    expect(world.requests.from).toMatchObject({ recovering: false });
    world.store.recovering = true;
    await world.ask();
    expect(world.requests.from).toMatchObject({ recovering: true });
  });

  it("says whether it carries the token of a recovery session, of this account only", async () => {
    for (const [accessToken, byRecoverySession] of [
      [undefined, false],
      [{ accountId, scope: "full" }, false],
      [{ accountId, scope: "sign" }, false],
      [{ accountId: world.account("bob"), scope: "recover" }, false],
      [{ accountId, scope: "recover" }, true],
    ] as const) {
      await world.ask({ accessToken });
      expect(world.requests.from).toMatchObject({ byRecoverySession });
    }
  });

  it("passes on why the request was not opened", async () => {
    world.requests.refuse = new AppError("TwoFactorAuthClosed");
    await expect(world.ask()).rejects.toEqual(refused("TwoFactorAuthClosed"));
  });

  describe("with an Idempotency-Key", () => {
    const idempotencyKey = "k";
    const accountKey = generateKeyPair().publicKey;
    const ask = (change: Parameters<typeof world.ask>[0] = {}) => world.ask({ idempotencyKey, accountKey, ...change });

    it("answers the same request again, its token of the same end, also after the key came in", async () => {
      const first = await ask();
      world.registered.push(accountKey);
      world.clock.advance(60_000);
      expect(await ask()).toEqual(first);
      expect(world.requests.opened).toBe(1);
    });

    it("opens what a crash had left unopened", async () => {
      world.requests.refuse = new AppError("Unavailable");
      await expect(ask()).rejects.toEqual(refused("Unavailable"));
      world.requests.refuse = undefined;
      const { opened } = await ask();
      expect([...world.store.rows.keys()]).toEqual([opened.id]);
    });

    it("refuses another body, and knows nothing of another login's keys", async () => {
      const first = await ask();
      await expect(ask({ accountKey: generateKeyPair().publicKey })).rejects.toEqual(refused("IdempotencyKeyReused"));
      expect((await ask({ token: "ann/2" })).opened.id).not.toBe(first.opened.id);
      expect((await ask({ idempotencyKey: "" })).opened.id).not.toBe(first.opened.id);
    });

    it("answers no request of another account", async () => {
      const { id } = (await ask()).opened;
      world.store.rows.set(id, { ...world.store.rows.get(id)!, accountId: world.account("eve") });
      await expect(ask()).rejects.toEqual(refused("IdempotencyKeyReused"));
    });

    it("says so when the request is over", async () => {
      await ask();
      world.clock.advance(5 * 60_000);
      await expect(ask()).rejects.toEqual(refused("TwoFactorAuthExpired"));
    });
  });
});
