import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { readKeystore } from "../../services/signer/src/vault/index.ts";
import { signUpPerson, stack } from "../support/person.ts";

const run = promisify(execFile);
const keystoreFile = join(stack.stateDir, "keys/signer-keystore.json");
const passphraseFile = join(stack.stateDir, "keys/signer-keystore.passphrase");
const passphrase = readFileSync(passphraseFile, "utf8").trim();

/** Returns every secret of the signer in every encoding that a careless log line could have. */
const { rootSecret, audit = [], chains } = readKeystore(keystoreFile, passphrase);
const scalars = [...audit, ...Object.values(chains).flatMap(({ creator, paymaster }) => [...creator, ...paymaster])];
const secrets = [rootSecret, ...scalars.map(({ scalar }) => scalar)].flatMap((hex) => {
  const bytes = Buffer.from(hex, "hex");
  return [hex, hex.toUpperCase(), bytes.toString("base64"), bytes.toString("base64url"), BigInt(`0x${hex}`).toString()];
});
const found = (text: string) => [...secrets, passphrase].filter((secret) => text.includes(secret)).length;

function filesBelow(path: string): string[] {
  return readdirSync(path, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
}

describe("the signer's key material", () => {
  it("is in no log of any process, after signing and refusing", async () => {
    await signUpPerson();
    for (const file of filesBelow(join(stack.stateDir, "log"))) expect(found(readFileSync(file, "utf8")), file).toBe(0);
  });

  it("is in no process's environment or command line; keys and passphrase come from files", () => {
    for (const [name, { pid }] of Object.entries(stack.processes)) {
      for (const file of ["environ", "cmdline"]) {
        expect(found(readFileSync(`/proc/${pid}/${file}`, "latin1")), `${name} ${file}`).toBe(0);
      }
    }
  });

  it("is in no file of another party: certificates, NATS, networks, checkpoints", () => {
    const others = filesBelow(stack.stateDir).filter((file) => !file.includes("/postgres") && file !== passphraseFile);
    expect(others).not.toHaveLength(0);
    for (const file of others) expect(found(readFileSync(file, "latin1")), file).toBe(0);
  });

  it("is in no error or output of the commands", async () => {
    const env = {
      PATH: process.env.PATH,
      SIGNER_KEYSTORE_FILE: keystoreFile,
      SIGNER_KEYSTORE_PASSPHRASE_FILE: passphraseFile,
    };
    const asked = [
      ["keys", "list"],
      ["keys", "export-public"],
      ["keys", "create", "--chain", "flow-emulator"],
      ["keys", "rotate"],
      ["keys", "re-encrypt", "--new-passphrase-file", "/nowhere"],
      ["nonsense"],
    ];
    for (const args of asked) {
      const outputs = await run(process.execPath, ["services/signer/src/cli.ts", ...args], { env }).catch(
        (error: { stdout: string; stderr: string }) => error,
      );
      expect(found(outputs.stdout + outputs.stderr), args.join(" ")).toBe(0);
    }
    const wrong = { ...env, SIGNER_KEYSTORE_PASSPHRASE_FILE: join(stack.stateDir, "networks.json") };
    const refused = run(process.execPath, ["services/signer/src/cli.ts", "keys", "list"], { env: wrong });
    await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining("cannot be opened") });
  });

  it("would be in no core dump: the signer is started with a core limit of 0", () => {
    const limits = readFileSync(`/proc/${stack.processes.signer!.pid}/limits`, "utf8");
    expect(limits).toMatch(/^Max core file size\s+0\s+0\s/m);
  });
});
