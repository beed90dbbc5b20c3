// Loads every entry point of the installed packages and everything that it exports, then signs in.
import { readdirSync, readFileSync } from "node:fs";
import { deviceKeyFromJwk, generateDeviceKey } from "@countersign/client/node";
import { verifySignature } from "@countersign/keys/node";
import { signIn } from "./sign-in.js";

const entries = {};
for (const name of readdirSync("node_modules/@countersign")) {
  const { exports } = JSON.parse(readFileSync(`node_modules/@countersign/${name}/package.json`, "utf8"));
  for (const path of Object.keys(exports).filter((each) => each !== "./package.json")) {
    const entry = `@countersign/${name}${path.slice(1)}`;
    const loaded = await import(entry);
    entries[entry] = Object.keys(loaded).filter((key) => loaded[key] !== undefined).length;
  }
}

const deviceKey = deviceKeyFromJwk(generateDeviceKey().toJwk());
const message = new TextEncoder().encode("message");
const verified = verifySignature(deviceKey, message, await deviceKey.sign(message));
console.log(
  JSON.stringify({ version: process.versions.node, entries, verified, signedIn: await signIn(process.argv[2]) }),
);
