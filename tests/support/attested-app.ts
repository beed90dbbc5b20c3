import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Attest } from "@countersign/client";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";
import {
  createAppAttest,
  createPlayIntegrity,
  integrityPayload,
} from "@countersign/local-stack/testing/attestations.ts";
import * as people from "@countersign/testing";
import { expect, vi } from "vitest";
import { chainName, logIn, newEmail, pollOptions, problemOf, stack } from "./person.ts";

export const PACKAGE = "com.example.wallet";
export const APP_ID = `A1B2C3D4E5.${PACKAGE}`;
export const DIGEST = createHash("sha256").update("the app's certificate").digest("base64url");

/** Makes the app `demo` of a stack attest itself, with authorities in the place of Apple and Google. */
export async function attestedApp(stateDir: string) {
  const apple = await createAppAttest();
  const google = await createPlayIntegrity();
  const put = (name: string, content: string) => {
    const path = join(stateDir, "keys", name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const policy = {
    appId: "demo",
    mode: "required",
    appAttest: {
      teamId: "A1B2C3D4E5",
      bundleIds: [PACKAGE],
      rootFile: put("app-attest-root.pem", apple.root),
    },
    playIntegrity: {
      packageName: PACKAGE,
      certificateDigests: [DIGEST],
      decryptionKeyFile: put("play-decryption.key", google.decryptionKey),
      verificationKeyFile: put("play-verification.key", google.verificationKey),
    },
  };
  const onIos: Attest = ({ clientDataHash }) => apple.attest(APP_ID, clientDataHash);
  const tokenOf = (nonce: string) => google.token(integrityPayload(PACKAGE, DIGEST, nonce));
  const onAndroid: Attest = async ({ nonce }) => ({ type: "play-integrity", token: await tokenOf(nonce) });

  /** Writes policies, and waits until auth follows them: a request that opens nothing is answered so. */
  async function write(apps: object[], expected: string, attest?: Attest): Promise<void> {
    writeFileSync(stateFiles(stateDir).attestation, JSON.stringify({ apps }));
    await vi.waitFor(async () => {
      const { client } = people.createPhone(stack, attest && { attest });
      const asked = client.requestTwoFactor({ login: await logIn(newEmail()), chainName });
      expect(await problemOf(asked)).toMatchObject({ error: expected });
    }, pollOptions);
  }

  return {
    apple,
    google,
    policy,
    onIos,
    onAndroid,
    write,
    require: () => write([policy], "AttestationRequired"),
    stop: () => write([], "AccountNotFound"),
    /** The native modules of docs/attestation.md. */
    appIntegrity: {
      generateKeyAsync: () => apple.generateKey(),
      async attestKeyAsync(keyId: string, challenge: string): Promise<string> {
        const hash = createHash("sha256").update(challenge).digest();
        return (await apple.attest(APP_ID, hash, { keyId })).token;
      },
    },
    playIntegrity: { requestIntegrityToken: tokenOf },
  };
}
