// better-auth with its plugin for sign-in by signature, on Postgres, in one process. Environment:
// DATABASE_URL, PORT, and PUBLIC_KEYS, a JSON file with a P-256 key (SPKI, base64) for each address.
import { createPublicKey, randomBytes, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import { siwe } from "better-auth/plugins";
import pg from "pg";

const { DATABASE_URL, PORT, PUBLIC_KEYS } = process.env;
const keys = new Map(
  Object.entries(JSON.parse(readFileSync(PUBLIC_KEYS, "utf8"))).map(([address, key]) => [
    address.toLowerCase(),
    createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" }),
  ]),
);
const auth = betterAuth({
  baseURL: `http://127.0.0.1:${PORT}`,
  secret: randomBytes(32).toString("hex"),
  database: new pg.Pool({ connectionString: DATABASE_URL, max: 10 }),
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  plugins: [
    siwe({
      domain: `127.0.0.1:${PORT}`,
      getNonce: async () => randomBytes(16).toString("hex"),
      // The same kind of signature as ours, checked by OpenSSL: recovering an address from one of secp256k1
      // in JavaScript would cost more than everything else together.
      verifyMessage: async ({ message, signature, address }) =>
        verify("sha256", Buffer.from(message), keys.get(address.toLowerCase()), Buffer.from(signature, "base64")),
    }),
  ],
});
await (await getMigrations(auth.options)).runMigrations();
createServer(toNodeHandler(auth)).listen(Number(PORT), "127.0.0.1");
