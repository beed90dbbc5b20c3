import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { chain, stack } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";

/** Runs commands with bash, and ends at the first that fails. Returns all that they print. */
function runBash(commands: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-euo", "pipefail", "-c", commands], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    child.stdout.on("data", (chunk) => (printed += chunk));
    child.stderr.on("data", (chunk) => (printed += chunk));
    child.on("error", reject);
    child.on("exit", (code) => (code === 0 ? resolve(printed) : reject(new Error(`exit code ${code}:\n${printed}`))));
  });
}

it("the walk of docs/api.md leads from a login to a sealed transaction and a recovery key", {
  timeout: 120_000,
}, async () => {
  const documented = blocksOf("api").filter(({ language }) => language === "sh");
  const commands = documented.map(({ text }) => text).join("\n");
  const directory = mkdtempSync(join(tmpdir(), "countersign-walk-"));
  try {
    // The page says: in the root of the checkout.
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
    mkdirSync(join(directory, ".local"));
    writeFileSync(join(directory, ".local/stack.json"), JSON.stringify(stack));
    symlinkSync(join(root, "examples"), join(directory, "examples"));
    const printed = await runBash(commands, directory);
    expect(printed).toMatch(/"0x[0-9a-f]{16}"/);
    expect(printed.match(/[0-9a-f]{64} Sealed/g)).toHaveLength(2);
    expect(printed).toContain('["recover-key",2,false]');
    expect(printed).toContain(`payer ${chain.paymaster.replace(/^0x/, "")}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

it("docs/metrics.md asks the signer for its signatures", async () => {
  const [block] = blocksOf("metrics").filter(({ language }) => language === "sh");
  const { metrics } = stack.processes.signer!;
  expect(await runBash(block!.text.replace("http://127.0.0.1:6005/metrics", metrics!), root)).toMatch(
    /^countersign_signer_signatures_total\{operation="transaction",verdict="signed".*\} [1-9]/m,
  );
});

it("the commands of docs/vaults.md make, list, rotate and re-encrypt keys", async () => {
  const [block] = blocksOf("vaults").filter(({ language }) => language === "sh");
  const directory = mkdtempSync(join(tmpdir(), "countersign-vaults-"));
  try {
    const [keystore, passphrase, next] = ["keystore.json", "passphrase", "new.txt"].map((name) =>
      join(directory, name),
    );
    for (const file of [passphrase!, next!])
      writeFileSync(file, `a passphrase of this test: ${file}\n`, { mode: 0o600 });
    const settings = `export SIGNER_KEYSTORE_FILE=${keystore} SIGNER_KEYSTORE_PASSPHRASE_FILE=${passphrase}\n`;
    const printed = await runBash(settings + block!.text.replace("new.txt", next!), root);
    for (const role of ["paymaster", "creator", "server", "audit"]) expect(printed).toContain(role);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
