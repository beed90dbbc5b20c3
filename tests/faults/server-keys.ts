import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type ClientNetwork, ProblemError, rotateServerKeys, sendTransaction } from "@countersign/client";
import { createAccessApi, payloadMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { expect } from "vitest";
import { createKeystoreVault, readKeystore, type Vault } from "../../services/signer/src/vault/index.ts";
import { type FaultStack, type Program, replicasOf } from "./fault-stack.ts";
import { AGAIN_MS, completePerson, type Person, persist, RETRY_TIMEOUT_MS } from "./person.ts";

const NOTHING = "transaction { prepare(account: &Account) {} }";

/** Returns the steps of operators and clients when an account's server key changes, on this stack. */
export function serverKeys(stack: FaultStack) {
  const [chain] = stack.stack.chains;
  const { chainName, accessNode, paymaster } = chain!;
  const network: ClientNetwork = { chainName, accessNode, paymaster };
  const access = createAccessApi({ baseUrl: accessNode });
  const keystoreFile = join(stack.stack.stateDir, "keys/signer-keystore.json");
  const passphraseFile = join(stack.stack.stateDir, "keys/signer-keystore.passphrase");

  async function restartBoth(program: Program): Promise<void> {
    for (const name of replicasOf(program)) {
      await stack.bounce(name);
      await stack.allUp();
    }
  }

  /** Performs the operator's steps of docs/vaults.md; returns the new version. */
  async function wantNextVersion(): Promise<number> {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["services/signer/src/cli.ts", "keys", "rotate", "--role", "server"],
      {
        env: {
          PATH: process.env.PATH,
          SIGNER_KEYSTORE_FILE: keystoreFile,
          SIGNER_KEYSTORE_PASSPHRASE_FILE: passphraseFile,
        },
      },
    );
    const { version } = JSON.parse(stdout) as { version: number };
    await restartBoth("signer");
    const file = stack.stack.networksFile;
    const { networks } = JSON.parse(readFileSync(file, "utf8"));
    const changed = networks.map((entry: object) => ({ ...entry, serverKeyVersion: version }));
    writeFileSync(file, JSON.stringify({ networks: changed }));
    await restartBoth("signer");
    return version;
  }

  const newPerson = (n: number) => completePerson(stack.stack, n, { idempotent: true });

  /** Returns the server keys of an account on chain, by index. */
  const serverKeysOf = async ({ address }: Person) =>
    (await access.accountKeys(address)).filter(({ hashAlgorithm }) => hashAlgorithm === "SHA3_256");

  /** Opened once for each version: a keystore costs most of a second, and only ever gains versions. */
  let vault: Vault | undefined;
  const derived = async ({ accountId }: Person, version: number): Promise<string> => {
    if (!vault?.versions("server").includes(version))
      vault = createKeystoreVault(readKeystore(keystoreFile, readFileSync(passphraseFile, "utf8").trim()));
    return (await vault.publicKey({ role: "server", chainName, accountId, version })).publicKey;
  };

  /** Sends a transaction that the server key signs, too. */
  const send = (person: Person) => sendTransaction(person.client, { network, cadence: NOTHING });

  /**
   * Returns a function that requests a signature and returns the index of the key that made it. The proposal
   * key is the person's, with a sequence number that no transaction can use.
   */
  async function signatureRequester(person: Person): Promise<() => Promise<number>> {
    const { address } = person;
    const keys = await access.accountKeys(address);
    const { index: keyId } = keys.find((key) => key.publicKey === person.deviceKey.publicKey)!;
    const { id: referenceBlockId } = await access.latestSealedBlock();
    const payload = payloadMessage({
      script: NOTHING,
      arguments: [],
      referenceBlockId,
      gasLimit: 100n,
      proposalKey: { address, keyId, sequenceNumber: 1_000_000n },
      payer: paymaster.replace("0x", ""),
      authorizers: [address],
    });
    return async () => (await person.client.signTransaction(bytesToHex(payload), chainName)).keyId;
  }

  /** Rotates as a client does: retries until nothing is left to sign and the chain has the version. */
  async function rotateTo(person: Person, version: number): Promise<void> {
    const wanted = await derived(person, version);
    const end = performance.now() + RETRY_TIMEOUT_MS;
    for (;;) {
      await persist(person, "rotation", async () => {
        await rotateServerKeys(person.client, { networks: [network] }).catch((error: unknown) => {
          if (!(error instanceof ProblemError) || error.error !== "MessageRenewed") throw error;
        });
      });
      const onChain = await persist(person, "keys on chain", () => serverKeysOf(person));
      const active = onChain.filter(({ revoked }) => !revoked);
      expect(active).toHaveLength(1);
      if (active[0]!.publicKey === wanted) return;
      if (performance.now() > end) throw new Error(`no rotation:\n${person.story.join("\n")}`);
      await sleep(AGAIN_MS);
    }
  }

  return { network, wantNextVersion, newPerson, serverKeysOf, derived, send, signatureRequester, rotateTo };
}
