import { randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Watched } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { createLogger, createMetrics, watchFiles } from "@countersign/runtime";
import { describe, expect, it } from "vitest";
import { type Keyring, loadKeyring, watchKeyring } from "../clients/keyring-file.ts";
import { seal, unseal } from "./keyring.ts";
import { createTokenKeys, type StoredTokenKey, type TokenKeyStore } from "./token-keys.ts";

const [a, b, c] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
const plain = Buffer.from("a private key");

describe("a keyring", () => {
  it("encrypts under its first key and decrypts with each", () => {
    const old = seal([a], "label", plain);
    expect(unseal([b, a], "label", old)).toEqual({ plain, isFirst: false });
    expect(unseal([b, a], "label", seal([b, a], "label", plain))).toEqual({ plain, isFirst: true });
    expect(unseal([a], "label", seal([b, a], "label", plain))).toBeUndefined();
  });

  it("decrypts nothing that was changed, cut off or put in another one's place", () => {
    const sealed = seal([a], "label", plain);
    expect(unseal([a], "other", sealed)).toBeUndefined();
    for (const at of [0, 12, 28]) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(unseal([a], "label", changed)).toBeUndefined();
    }
    expect(unseal([a], "label", sealed.subarray(0, 20))).toBeUndefined();
  });

  const file = join(mkdtempSync(join(tmpdir(), "countersign-keyring-")), "keyring");
  const hex = (key: Buffer) => key.toString("hex");
  it("is a file with a key in each line", () => {
    writeFileSync(file, `${hex(a)}\n`);
    expect(loadKeyring(file)).toEqual([a]);
    writeFileSync(file, `${hex(b)}\r\n${hex(a)}`);
    expect(loadKeyring(file)).toEqual([b, a]);
  });

  it.each([
    ["a short key", hex(a).slice(2)],
    ["an empty line", `${hex(a)}\n\n${hex(b)}`],
    ["a key twice", `${hex(a)}\n${hex(a).toUpperCase()}`],
    ["nothing", ""],
  ])("is refused with %s, and no key is shown", (_, content) => {
    writeFileSync(file, content);
    expect(() => loadKeyring(file)).toThrow("secret file");
    expect(() => loadKeyring(file)).not.toThrow(hex(a).slice(2));
  });
});

it("a keyring without any key of the one in use is refused", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "countersign-keyring-")), "keyring");
  const put = (...keys: Buffer[]) => writeFileSync(path, keys.map((key) => key.toString("hex")).join("\n"));
  put(a);
  const files = watchFiles({
    logger: createLogger({ name: "test", level: "silent" }),
    metrics: createMetrics("test", { defaults: false }),
  });
  const keyring = watchKeyring(files, path);
  put(b);
  keyring.refresh();
  expect(keyring.current()).toEqual([a]);
  put(b, a);
  keyring.refresh();
  put(b);
  keyring.refresh();
  expect(keyring.current()).toEqual([b]);
  await files.close();
});

describe("stored token keys", () => {
  /** A replica with a keyring that a test changes; all have one database. */
  function replica(rows: StoredTokenKey[], first: Keyring, clock: FixedClock) {
    let keys = first;
    let onFile: Keyring | undefined;
    const listeners: ((keyring: Keyring) => void)[] = [];
    const set = (changed: Keyring) => {
      keys = changed;
      for (const listener of listeners) listener(changed);
    };
    const keyring: Watched<Keyring> = {
      current: () => keys,
      onChange: (listener) => {
        listeners.push(listener);
        return () => undefined;
      },
      refresh: () => onFile && set(onFile),
    };
    const list = async (since: Date) => rows.filter(({ signsUntil }) => signsUntil > since);
    const store: TokenKeyStore = {
      list,
      exclusively: (work) =>
        work({
          list,
          insert: async (key) => void rows.push(key),
          update: async (kid, encryptedPrivate) => {
            const at = rows.findIndex((row) => row.kid === kid);
            rows[at] = { ...rows[at]!, encryptedPrivate };
          },
        }),
    };
    const putOnFile = (next: Keyring) => {
      onFile = next;
    };
    const tokenKeys = createTokenKeys({ store, keyring, clock, periodMs: 30 * 86_400_000 });
    return { tokenKeys, set, putOnFile };
  }

  it("are encrypted again after all replicas have the keyring, all of them, and the old key can then go", async () => {
    const clock = new FixedClock("2026-11-23T00:00:00Z");
    const rows: StoredTokenKey[] = [];
    const { tokenKeys, set } = replica(rows, [a], clock);
    await tokenKeys.rotate();
    // A key that signs no more and is not listed any more is encrypted again as well.
    clock.advance(80 * 86_400_000);
    await tokenKeys.rotate();
    const { kid } = await tokenKeys.signingKey();
    set([b, a]);
    expect(await tokenKeys.reEncrypt()).toEqual({ first: 0, other: 2, unknown: 0 });
    clock.advance(119_000);
    expect(await tokenKeys.reEncrypt()).toEqual({ first: 0, other: 2, unknown: 0 });
    clock.advance(1_000);
    expect(await tokenKeys.reEncrypt()).toEqual({ first: 2, other: 0, unknown: 0 });
    const started = replica(rows, [b], clock).tokenKeys;
    expect((await started.signingKey()).kid).toBe(kid);
    expect(await replica(rows, [c], clock).tokenKeys.reEncrypt()).toEqual({ first: 0, other: 0, unknown: 2 });
  });

  it("are decrypted by a replica that has the new keyring in its file and has not looked yet", async () => {
    const clock = new FixedClock("2026-11-23T00:00:00Z");
    const rows: StoredTokenKey[] = [];
    await replica(rows, [b, a], clock).tokenKeys.rotate();
    const late = replica(rows, [a], clock);
    await expect(late.tokenKeys.signingKey()).rejects.toThrow("no key of AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE");
    late.putOnFile([b, a]);
    expect(await late.tokenKeys.signingKey()).toMatchObject({ kid: rows[0]!.kid });
  });
});
