import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { startChild } from "@countersign/local-stack/child.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { buildDirectory, type Peer, type PeerOptions, untilAnswers } from "./peer.ts";

/** Somebody who signs in with a key. */
export interface KeyHolder {
  /** 0x and 40 hex digits: better-auth names accounts so. */
  walletAddress: string;
  privateKey: KeyObject;
}

/** Starts better-auth with so many people who can sign in by signature. */
export async function startBetterAuth(
  { databaseUrl, directory, say }: PeerOptions,
  count: number,
): Promise<Peer & { people: KeyHolder[] }> {
  const home = buildDirectory("better-auth");
  cpSync(join(import.meta.dirname, "better-auth"), home, { recursive: true });
  if (!existsSync(join(home, "node_modules"))) {
    say("installing better-auth, once …");
    await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: home });
  }
  const port = await freePort();
  const pairs = Array.from({ length: count }, () => ({
    walletAddress: `0x${randomBytes(20).toString("hex")}`,
    ...generateKeyPairSync("ec", { namedCurve: "P-256" }),
  }));
  const keysFile = join(directory, "better-auth-keys.json");
  const spki = pairs.map(({ walletAddress, publicKey }) => [
    walletAddress,
    publicKey.export({ format: "der", type: "spki" }).toString("base64"),
  ]);
  writeFileSync(keysFile, JSON.stringify(Object.fromEntries(spki)));
  const child = await startChild({
    name: "better-auth",
    command: process.execPath,
    args: [join(home, "server.mjs")],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      PUBLIC_KEYS: keysFile,
      NODE_ENV: "production",
    },
    logFile: join(directory, "better-auth.log"),
  });
  const peer = { url: `http://127.0.0.1:${port}`, child };
  await untilAnswers(peer, "/api/auth/ok");
  return { ...peer, people: pairs };
}

/** Returns the message of ERC-4361 that answers a nonce, and its signature. */
export function answerNonce({ walletAddress, privateKey }: KeyHolder, url: string, nonce: string) {
  const message = [
    `${new URL(url).host} wants you to sign in with your Ethereum account:`,
    walletAddress,
    "",
    `URI: ${url}`,
    "Version: 1",
    "Chain ID: 1",
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join("\n");
  return { message, signature: sign("sha256", Buffer.from(message), privateKey).toString("base64") };
}
