import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SignTransactionResponse } from "@countersign/proto/signer/v1/signing.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { query } from "../faults/books.ts";
import { chainName, type Person, signUpPerson, stack } from "../support/person.ts";
import { type ExtraSigner, harmless, startExtraSigner } from "./extra-signer.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-policy-"));
const file = join(directory, "policy.json");
const write = (text: string) => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};
const policy = (version: string, change: object = {}) =>
  write(
    JSON.stringify({
      version,
      mode: "standard",
      caps: { gasLimit: 9999 },
      switches: { authorizer: true, paymaster: true, creation: true },
      ...change,
    }),
  );

let person: Person;
let signer: ExtraSigner;
beforeAll(async () => {
  policy("first");
  [person, signer] = await Promise.all([signUpPerson(), startExtraSigner({ SIGNER_POLICY_FILE: file })]);
}, 120_000);
afterAll(async () => {
  await signer?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/**
 * Returns the rule that refuses a harmless transaction, or "signed" with the policy version of its record.
 */
async function outcome(): Promise<string> {
  const token = person.client.credentials!.accessToken;
  let answer: SignTransactionResponse;
  try {
    answer = await signer.signing.signTransaction({ message: await harmless(person), chainName }, { token });
  } catch (error) {
    const { reason, metadata } = error as { reason: string; metadata: { reason?: string } };
    return metadata?.reason ?? reason;
  }
  const { chainId, sequence } = answer.audit!;
  const rows = await query<{ policy_version: string }>(
    stack,
    "signer",
    `SELECT policy_version FROM audit_record WHERE chain_id = '${chainId}' AND sequence = ${sequence}`,
  );
  return `signed by ${rows[0]?.policy_version.split("/")[1]}`;
}
const refusedFiles = async () =>
  /^countersign_file_refused\{file="policy".*\} (\d+)$/m.exec(await signer.metrics())?.[1];
const pollOptions = { timeout: 20_000, interval: 200 };

it("a policy file takes effect without a restart, is named in each record, and stays if the next one is invalid", async () => {
  const { pid } = signer.child;
  expect(await outcome()).toBe("signed by first");

  policy("second", { switches: { authorizer: false, paymaster: true, creation: true } });
  await expect.poll(outcome, pollOptions).toBe("SwitchedOff");

  write('{ "version": "third", "switches": { "authorizer": true');
  await expect.poll(refusedFiles, pollOptions).toBe("1");
  expect(await outcome()).toBe("SwitchedOff");
  expect(await signer.metrics()).toMatch(/^countersign_signer_policy\{[^}]*version="[^"]*\/second"[^}]*\} 1$/m);

  policy("fourth", { mode: "templates" });
  await expect.poll(outcome, pollOptions).toBe("ScriptNotListed");
  policy("fifth", { caps: { gasLimit: 500 } });
  await expect.poll(outcome, pollOptions).toBe("GasLimit");
  policy("sixth");
  await expect.poll(outcome, pollOptions).toBe("signed by sixth");
  expect(signer.child.running() && signer.child.pid).toBe(pid);

  const records = await query<{ verdict: string; policy_version: string }>(
    stack,
    "signer",
    `SELECT DISTINCT verdict, policy_version FROM audit_record WHERE account_id = '${person.signedUp.account.id}' AND caller = 'demo-backend'`,
  );
  expect(new Set(records.map((row) => `${row.verdict} ${row.policy_version.split("/")[1]}`))).toEqual(
    new Set(["signed first", "SwitchedOff second", "ScriptNotListed fourth", "GasLimit fifth", "signed sixth"]),
  );
});
