import { systemClock } from "@countersign/core";
import {
  chainLine,
  changedAccounts,
  command,
  EVENTS_ARGUMENTS,
  type EventLine,
  type Found,
  RESTORE_ARGUMENTS,
  RESTORE_MS,
  readJsonLines,
  runRestore,
  signedUpLine,
  UsageError,
  writeJsonLines,
} from "@countersign/runtime";
import { signText } from "../audit/audit-key.ts";
import { beginEpoch, type Epoch } from "../audit/begin-epoch.ts";
import { checkpointText, type SignedCheckpoint } from "../audit/checkpoint.ts";
import { type Prisma, PrismaClient } from "../store/generated/client.ts";
import { readForEpoch, writeEpoch } from "../store/prisma-checkpoint-store.ts";
import { boundAt, restartTimeLocks, restoreBinding, restoreKeys } from "../store/restore-keys.ts";
import { auditPublicKeys, createKeystoreVault, openVaults, readKeystore, type Vault } from "../vault/index.ts";
import { readCheckpoints } from "./audit-verify.ts";
import { candidatesOf, findAccount, serverVersions } from "./find-accounts.ts";
import { keystorePlace } from "./keystore-place.ts";

const AUDIT = { role: "audit" } as const;

/**
 * `signer restore`: states in the audit log what was lost, begins running time locks again, and finds the
 * accounts and keys again that the chain shows: an account is its id's where it has the server key that the
 * vault derives for that id.
 */
export const restore = command({
  usage: `restore ${RESTORE_ARGUMENTS.usage} --chain <file of chain-report> --signed-up <file of auth restore> ${EVENTS_ARGUMENTS.usage} --out <file of accounts> (--checkpoints <file>… | --no-checkpoints)`,
  about: "Opens signer's database after a restore: states losses in the audit log, finds accounts and keys on chain.",
  options: {
    ...RESTORE_ARGUMENTS.options,
    ...EVENTS_ARGUMENTS.options,
    chain: { type: "string" },
    "signed-up": { type: "string" },
    out: { type: "string" },
    checkpoints: { type: "string", multiple: true, default: [] },
    "no-checkpoints": { type: "boolean", default: false },
  },
  async run({ values, env, print }) {
    const { chain, "signed-up": signedUp, out, checkpoints } = values;
    if (!chain || !signedUp || !out || checkpoints.length > 0 === values["no-checkpoints"])
      throw new UsageError(this.usage);
    const stated = RESTORE_ARGUMENTS.read(this.usage, values);
    const published = EVENTS_ARGUMENTS.read(this.usage, values);
    const ofEvents: SignedCheckpoint[] = [];
    for (const line of published) ofEvents.push(...checkpointOf(line));
    const elsewhere = [...checkpoints.map(readCheckpoints), { name: "the events", checkpoints: ofEvents }];
    const lines = readJsonLines(chain, chainLine);
    const candidates = candidatesOf(readJsonLines(signedUp, signedUpLine), published, lines);
    const { file, passphrase } = keystorePlace(env);
    const { vault, close } = await openVaults(
      createKeystoreVault(readKeystore(file, passphrase)),
      env.SIGNER_VAULTS_FILE,
    );
    const now = systemClock.now();
    try {
      await runRestore("signer", env, stated, PrismaClient, async ({ postgres, prisma, wentBack }) => {
        // Also where the timeline shows nothing: checkpoints that only a file has prove a loss.
        const proof = { elsewhere, wentBack, keys: await auditPublicKeys(vault) };
        const statement = { by: stated.by, reason: stated.reason, time: now, keyVersion: vault.version(AUDIT) };
        const isProven = await prisma.$transaction(
          async (tx) => {
            const epoch = await beginEpoch({ ...(await readForEpoch(tx)), ...proof }, statement);
            if (!epoch) {
              print("the database lost no checkpoint that is known");
              return false;
            }
            print(await recordEpoch(tx, epoch, vault));
            print(`${await restartTimeLocks(tx, now)} time locks begin again`);
            if (stated.nothingLost) throw new Error("--nothing-lost: checkpoints are lost, as said above");
            return true;
          },
          { timeout: RESTORE_MS },
        );
        const found: Found[] = [];
        for (const line of lines) {
          if (line.kind !== "created") continue;
          const { address, chainName, userKey } = line;
          const bound = (await boundAt(postgres, chainName, address)).map(({ accountId }) => accountId);
          const account = await findAccount(vault, line, [...bound, ...candidates(line)]);
          if (account && (await restoreBinding(postgres, account, { now, since: stated.since }))) found.push(account);
          else
            print(`UNKNOWN  0x${address} on ${chainName} is no account that is known; user key ${userKey.publicKey}`);
        }
        await writeJsonLines(out, found);
        print(`${found.length} accounts that were created since, in ${out}`);
        const changed = changedAccounts(lines, found);
        for (const each of changed) await restoreKeys(prisma, each, serverVersions(vault, each), now);
        print(`the keys of ${changed.length} accounts are as the chain has them`);
        return isProven;
      });
    } finally {
      close();
    }
  },
});
/** Signs and writes the checkpoint that begins an epoch. Returns a line that says what is lost. */
async function recordEpoch(tx: Prisma.TransactionClient, epoch: Epoch, vault: Vault): Promise<string> {
  const text = checkpointText(epoch.checkpoint);
  await writeEpoch(tx, epoch, await signText({ sign: (bytes) => vault.sign(AUDIT, bytes) }, text));
  const { sequence, restore } = epoch.checkpoint;
  const records = restore!.ends.reduce((sum, { size, kept }) => sum + Math.max(0, size - kept), 0);
  return `checkpoint ${sequence} begins an epoch: ${epoch.lost.length} checkpoints and ${records} records lost`;
}

/**
 * Returns the checkpoint of an event, if it has one: what it says is checked by its signature. Other services
 * may write no events of the signer, and a forged checkpoint would end the restore.
 */
function checkpointOf({ subject, event }: EventLine): SignedCheckpoint[] {
  const { auditCheckpoint } = event;
  if (!auditCheckpoint || !subject.startsWith("cs.v1.signer.")) return [];
  return [{ text: auditCheckpoint.text.toString("utf8"), signature: auditCheckpoint.signature.toString("hex") }];
}
