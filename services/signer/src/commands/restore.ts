import { systemClock } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import {
  type ChainLine,
  chainLine,
  changedAccounts,
  command,
  eventLine,
  type Found,
  RESTORE_OPTIONS,
  RESTORE_USAGE,
  readJsonLines,
  readRestore,
  runRestore,
  type SignedUp,
  signedUpLine,
  UsageError,
  writeJsonLines,
} from "@countersign/runtime";
import { beginEpoch } from "../audit/begin-epoch.ts";
import { checkpointText, type SignedCheckpoint } from "../audit/checkpoint.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { readForEpoch, writeEpoch } from "../store/prisma-checkpoint-store.ts";
import { boundAt, restartTimeLocks, restoreBinding, restoreKeys } from "../store/restore-keys.ts";
import { auditPublicKeys, createKeystoreVault, openVaults, readKeystore, type Vault } from "../vault/index.ts";
import { readCheckpoints } from "./audit-verify.ts";
import { keystorePlace } from "./open-keystore.ts";

const TIMEOUT_MS = 3_600_000;

/**
 * `signer restore`: states in the audit log what was lost, begins running time locks again, and finds the
 * accounts and keys again that the chain shows: an account is its id's where it has the server key that the
 * vault derives for that id.
 */
export const restore = command({
  usage: `restore ${RESTORE_USAGE} --chain <file of chain-report> --signed-up <file of auth restore> (--events <file of export-events> | --no-events) --out <file of accounts> (--checkpoints <file>… | --no-checkpoints)`,
  about: "Opens signer's database after a restore: states losses in the audit log, finds accounts and keys on chain.",
  options: {
    ...RESTORE_OPTIONS,
    chain: { type: "string" },
    "signed-up": { type: "string" },
    events: { type: "string" },
    "no-events": { type: "boolean" },
    out: { type: "string" },
    checkpoints: { type: "string", multiple: true, default: [] },
    "no-checkpoints": { type: "boolean", default: false },
  },
  async run({ values, env, print }) {
    const { chain, "signed-up": signedUp, out, checkpoints, events } = values;
    const isWhole = chain && signedUp && out && (events === undefined) === (values["no-events"] === true);
    if (!isWhole || checkpoints.length > 0 === values["no-checkpoints"]) throw new UsageError(this.usage);
    const stated = readRestore(this.usage, values);
    const published = events === undefined ? [] : readJsonLines(events, eventLine);
    const elsewhere = [
      ...checkpoints.map(readCheckpoints),
      { name: "the events", checkpoints: published.flatMap(checkpointOf) },
    ];
    const lines = readJsonLines(chain, chainLine);
    const candidates = candidatesOf(readJsonLines(signedUp, signedUpLine), published);
    const { file, passphrase } = keystorePlace(env);
    const { vault, close } = await openVaults(
      createKeystoreVault(readKeystore(file, passphrase)),
      env.SIGNER_VAULTS_FILE,
    );
    const now = systemClock.now();
    try {
      await runRestore("signer", env, stated, async (postgres, wentBack) => {
        const prisma = new PrismaClient({ adapter: postgres.adapter });
        const keys = await auditPublicKeys(vault);
        const keyVersion = vault.version({ role: "audit" });
        const sign = async (text: string) =>
          Buffer.from(await vault.sign({ role: "audit" }, Buffer.from(text))).toString("hex");
        const isProven = await prisma.$transaction(
          async (tx) => {
            // Also where the timeline shows nothing: checkpoints that only a file has prove a loss.
            const statement = { by: stated.by, reason: stated.reason, time: now, keyVersion };
            const epoch = beginEpoch({ ...(await readForEpoch(tx)), elsewhere, keys, wentBack }, statement);
            if (epoch) {
              const { sequence, restore } = epoch.checkpoint;
              const text = checkpointText(epoch.checkpoint);
              await writeEpoch(tx, epoch, { text, signature: await sign(text) });
              const lost = restore!.ends.reduce((sum, { size, kept }) => sum + Math.max(0, size - kept), 0);
              print(
                `checkpoint ${sequence} begins an epoch: ${epoch.lost.length} checkpoints and ${lost} records lost`,
              );
            } else print("the database lost no checkpoint that is known");
            if (epoch) print(`${await restartTimeLocks(tx, now)} time locks begin again`);
            if (epoch && stated.nothingLost) throw new Error("--nothing-lost: checkpoints are lost, as said above");
            return epoch !== undefined;
          },
          { timeout: TIMEOUT_MS },
        );
        const found: Found[] = [];
        for (const line of lines) {
          if (line.kind !== "created") continue;
          const { chainName, address } = line;
          const known = [
            ...(await boundAt(postgres, chainName, address)).map(({ accountId }) => accountId),
            ...changedAccounts(lines, []).flatMap((each) => (each.address === address ? [each.accountId] : [])),
          ];
          const account = await findAccount(vault, line, [...known, ...candidates(line)]);
          if (account && (await restoreBinding(prisma, postgres, account, now))) found.push(account);
          else
            print(
              `UNKNOWN  0x${address} on ${chainName} is no account that is known; user key ${line.userKey.publicKey}`,
            );
        }
        writeJsonLines(out, found);
        print(`${found.length} accounts that were created since, in ${out}`);
        const changed = changedAccounts(lines, found);
        for (const each of changed) await restoreKeys(prisma, each, serverVersions(vault, each), now);
        print(`the keys of ${changed.length} accounts are as the chain has them`);
        await prisma.$disconnect();
        return isProven;
      });
    } finally {
      close();
    }
  },
});

/** Returns the checkpoint of an event, if it has one: what it says is checked by its signature. */
function checkpointOf({ event }: { event: string }): SignedCheckpoint[] {
  const { auditCheckpoint } = Event.decode(Buffer.from(event, "base64"));
  if (!auditCheckpoint) return [];
  return [{ text: auditCheckpoint.text.toString("utf8"), signature: auditCheckpoint.signature.toString("hex") }];
}

type Created = Extract<ChainLine, { kind: "created" }>;

/** Returns the ids that an account on chain may have: of sign-ups with its user key, and of events. */
function candidatesOf(signedUp: readonly SignedUp[], events: readonly { event: string }[]) {
  const byPlace = new Map<string, Set<string>>();
  const add = (place: string, accountId: string) =>
    byPlace.set(place, (byPlace.get(place) ?? new Set()).add(accountId));
  for (const { chainName, userKey, accountId } of signedUp) add(`${chainName}/${userKey.publicKey}`, accountId);
  for (const { event } of events) {
    const { accountId, addressBound, accountDeployed } = Event.decode(Buffer.from(event, "base64"));
    if (addressBound) add(`${addressBound.chainName}/${addressBound.address}`, accountId);
    for (const { chainName, address } of accountDeployed?.addresses ?? [])
      add(`${chainName}/${address.replace(/^0x/, "")}`, accountId);
  }
  return ({ chainName, address, userKey }: Created): string[] => [
    ...(byPlace.get(`${chainName}/${address}`) ?? []),
    ...(byPlace.get(`${chainName}/${userKey.publicKey}`) ?? []),
  ];
}

/** Returns the account whose derived server key is on chain: nothing else proves an id. */
async function findAccount(vault: Vault, created: Created, accountIds: readonly string[]): Promise<Found | undefined> {
  const { chainName, address, serverKey, userKey, transactionId } = created;
  for (const accountId of new Set(accountIds)) {
    const serverKeyVersion = await serverVersions(vault, { accountId, chainName })(serverKey);
    if (serverKeyVersion !== undefined)
      return { accountId, chainName, address, userKey, transactionId, serverKeyIndex: 0, serverKeyVersion };
  }
  return undefined;
}

/** Returns how to find the version of an account's server key on a chain; undefined for another's key. */
const serverVersions =
  (vault: Vault, { accountId, chainName }: { accountId: string; chainName: string }) =>
  async (serverKey: string): Promise<number | undefined> => {
    for (const version of vault.versions("server")) {
      const { publicKey } = await vault.publicKey({ role: "server", chainName, accountId, version });
      if (publicKey === serverKey) return version;
    }
    return undefined;
  };
