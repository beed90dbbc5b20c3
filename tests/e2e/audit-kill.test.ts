import { hash as digest, randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createAccessApi } from "@countersign/flow";
import { parsePublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { verifyChain } from "../../services/signer/src/testing/verify-chain.ts";
import { readAudit } from "../faults/books.ts";
import { chain, chainName, type Person, signUpPerson, stack } from "../support/person.ts";
import { type ExtraSigner, harmless, startExtraSigner } from "./extra-signer.ts";

const EXAMPLE = JSON.parse(readFileSync("deploy/policy.example.json", "utf8"));
const ROUNDS = 5;
const AT_ONCE = 8;

interface Answer {
  readonly message: Buffer;
  readonly signature: Uint8Array;
  readonly chainId: string;
  readonly sequence: bigint;
  readonly hash: string;
}

/** Requests signatures without a pause until the signer has ended; collects the answers in `answers`. */
async function askUntilDeath(
  { signing, child }: ExtraSigner,
  person: Person,
  messages: () => Buffer,
  answers: Answer[],
): Promise<void> {
  const token = person.client.credentials!.accessToken;
  const one = async () => {
    while (child.running()) {
      const message = messages();
      try {
        const { signature, audit } = await signing.signTransaction({ message, chainName }, { token, deadlineMs: 3000 });
        const { chainId, sequence, recordHash } = audit!;
        const hash = recordHash.toString("hex");
        answers.push({ message, signature: signature!.signature, chainId, sequence, hash });
      } catch {
        await sleep(5);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

it("when the signer is killed at any moment, every returned signature has a durable record", {
  timeout: 240_000,
}, async () => {
  const person = await signUpPerson();
  const base = await Promise.all(Array.from({ length: 64 }, (_, i) => harmless(person, BigInt(100 + i))));
  let next = 0;
  const messages = () => base[next++ % base.length]!;
  // So many signatures are above what one account may have in an hour.
  const policy = join(mkdtempSync(join(tmpdir(), "countersign-kill-")), "policy.json");
  const budgets = { account: [], app: [], service: [], backend: [], creation: [] };
  writeFileSync(policy, JSON.stringify({ ...EXAMPLE, version: "kill", budgets }));
  const answers: Answer[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const signer = await startExtraSigner({ SIGNER_POLICY_FILE: policy });
    const before = answers.length;
    const work = askUntilDeath(signer, person, messages, answers);
    // The first answer of a new process may take its time on a busy machine.
    await expect.poll(() => answers.length, { timeout: 20_000, interval: 20 }).toBeGreaterThan(before);
    await sleep(randomInt(0, 550));
    await signer.child.kill();
    await work;
    signer.signing.close();
  }
  // Without answers before each death, nothing was tried.
  expect(new Set(answers.map(({ chainId }) => chainId)).size).toBeGreaterThanOrEqual(ROUNDS);

  const { publicKey } = await createAccessApi({ baseUrl: chain.accessNode }).accountKey(person.address, 0);
  const key = parsePublicKey(publicKey, "ES256");
  const chains = new Map((await readAudit(stack)).map((each) => [each.head.chainId, each]));
  const records = new Map(
    [...chains.values()].flatMap((each) => each.records.map((row) => [`${each.head.chainId}/${row.sequence}`, row])),
  );
  for (const { message, signature, chainId, sequence, hash } of answers) {
    expect(verifySignature(key, message, signature, "sha3-256")).toBe(true);
    expect(records.get(`${chainId}/${sequence}`)).toMatchObject({
      hash,
      verdict: "signed",
      messageHash: digest("sha256", message),
      accountId: person.signedUp.account.id,
      caller: "demo-backend",
    });
  }
  for (const chainId of new Set(answers.map((each) => each.chainId))) {
    const { head, records: own } = chains.get(chainId)!;
    expect(verifyChain(own, head)).toBe("");
  }
});
