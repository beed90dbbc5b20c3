import { systemClock } from "@countersign/core";
import { type AccessApi, createAccessApi, keyRoleOf } from "@countersign/flow";
import { openPostgres } from "@countersign/postgres";
import { command, readSince, UsageError, writeJsonLines } from "@countersign/runtime";
import { createFlowChain } from "../chain/flow.ts";
import { loadConfig } from "../config.ts";
import { type AccountEvent, WATCHED_EVENTS } from "../domain/chain-watch/account-event.ts";
import { isOurs } from "../domain/chain-watch/judge-event.ts";
import type { AccountKey } from "../domain/key-additions/key-addition.ts";
import { PrismaClient } from "../store/generated/client.ts";

const ALGORITHMS: Readonly<Record<string, "ES256" | "ES256K">> = { ECDSA_P256: "ES256", ECDSA_secp256k1: "ES256K" };
type Chain = ReturnType<typeof createFlowChain>;

/**
 * `account chain-report`: writes what the chains show since a moment to a file: the accounts that the creator
 * made, and all keys of each account whose keys changed. Reads only; no process has to run.
 */
export const chainReport = command({
  usage: "chain-report --since <time> --out <file> [--without <chain/address>]…",
  about: "Writes the accounts that were created on chain since, and the keys of those that changed, to a file.",
  options: {
    since: { type: "string" },
    out: { type: "string" },
    without: { type: "string", multiple: true, default: [] },
  },
  async run({ values, env, print }) {
    const { out, without } = values;
    if (!out) throw new UsageError(this.usage);
    const since = readSince(this.usage, values.since);
    const config = loadConfig(env);
    const { signal } = new AbortController();
    const { adapter, close } = openPostgres(config.secrets.databaseUrl, { connections: 1 });
    const prisma = new PrismaClient({ adapter });
    const lines: object[] = [];
    try {
      const chains = new Map<string, Chain>();
      const changed = new Map<string, { chainName: string; address: string; ours: ReadonlySet<number> }>();
      for (const network of config.networks.current().values()) {
        const access = createAccessApi({ baseUrl: network.accessNode });
        const chain = createFlowChain(network, access);
        const { chainName } = chain;
        chains.set(chainName, chain);
        const { height: to } = await chain.latestBlock(signal);
        const from = await heightBefore(access, since, to);
        lines.push({ kind: "range", chainName, from: String(from), to: String(to) });
        const managedOf = (addresses: string[]) =>
          prisma.address.findMany({ where: { chainName, address: { in: addresses } } });
        const { created, ours } = await readKeyEvents(chain, managedOf, from, to, signal);
        for (const { address, serverKey, transactionId } of created) {
          const userKey = await chain.accountKey(address, 1, signal);
          const algorithm = ALGORITHMS[userKey.signatureAlgorithm];
          if (!algorithm) throw new Error(`account 0x${address} has no user key`);
          const key = { algorithm, publicKey: userKey.publicKey };
          lines.push({ kind: "created", chainName, address, serverKey, userKey: key, transactionId });
        }
        print(`${chainName}: blocks ${from} to ${to}, ${created.length} accounts created`);
        for (const [address, indexes] of ours)
          changed.set(`${chainName}/${address}`, { chainName, address, ours: indexes });
        // Whether an account has left is judged by all its chains.
        const accountIds = (await managedOf([...ours.keys()])).map(({ accountId }) => accountId);
        const elsewhere = { accountId: { in: accountIds }, chainType: "cadence", chainName: { not: chainName } };
        for (const other of await prisma.address.findMany({ where: elsewhere })) {
          const place = `${other.chainName}/${other.address}`;
          if (!changed.has(place))
            changed.set(place, { chainName: other.chainName, address: other.address, ours: new Set() });
        }
      }
      const unread: string[] = [];
      for (const [place, { chainName, address, ours }] of changed) {
        const owner = await prisma.address.findUnique({ where: { chainName_address: { chainName, address } } });
        // An account that is not read, as where its chain is no longer configured, shows no keys, and so not
        // that it has left.
        const chain = without.includes(place) ? undefined : chains.get(chainName);
        const { height } = chain ? await chain.latestBlock(signal) : { height: 0n };
        const reading = chain?.accountKeys(address, signal, height);
        const onChain = await reading?.catch((error: unknown) => void unread.push(`${place}: ${error}`));
        const keys = (onChain ?? []).map((key) => keyLine(key, ours.has(key.index)));
        lines.push({ kind: "keys", chainName, address, accountId: owner?.accountId, height: String(height), keys });
      }
      if (unread.length > 0) throw new Error(`keys were not read, see --without: ${unread.join("; ")}`);
    } finally {
      await close();
    }
    await writeJsonLines(out, lines);
    print(`${lines.length} lines in ${out}, read at ${systemClock.now().toISOString()}`);
  },
});

const keyLine = (key: AccountKey, ours: boolean) => ({
  index: key.index,
  publicKey: key.publicKey,
  algorithm: ALGORITHMS[key.signatureAlgorithm],
  weight: key.weight,
  role: keyRoleOf(key) ?? "other",
  revoked: key.revoked,
  ours,
});

/**
 * Returns the height of the newest block that is older than a moment; 0 where there is none. Errors: Error
 * where the node does not have it any more.
 */
async function heightBefore(access: AccessApi, moment: Date, latest: bigint): Promise<bigint> {
  let [low, high] = [0n, latest];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    const block = await access.blockAt(middle);
    // A node that does not have it any more knows later ones only.
    if (!block || block.time <= moment) low = middle;
    else high = middle - 1n;
  }
  const first = await access.blockAt(low);
  if (!first || (low > 0n && first.time > moment))
    throw new Error(`the access node has no block of before ${moment.toISOString()}: ask one that has the history`);
  return low;
}

/**
 * Reads key events: the accounts that the creator made, and by address of these and of managed accounts the
 * indexes that we added. Anybody can fill blocks with keys of his own accounts: such blocks are read by
 * fewer, and of others' keys only those are looked at that a creation may have added.
 */
async function readKeyEvents(
  chain: Chain,
  managedOf: (addresses: string[]) => Promise<{ address: string }[]>,
  from: bigint,
  to: bigint,
  signal: AbortSignal,
) {
  const created: { address: string; serverKey: string; transactionId: string }[] = [];
  const ours = new Map<string, Set<number>>();
  let blocks = chain.maxEventBlocks;
  for (let start = from; start <= to; ) {
    const end = start + blocks - 1n < to ? start + blocks - 1n : to;
    const events = await chain.accountEvents(WATCHED_EVENTS.keys, start, end, signal).catch((error: unknown) => {
      if (blocks === 1n) throw error;
      blocks /= 2n;
    });
    if (!events) continue;
    start = end + 1n;
    if (blocks < chain.maxEventBlocks) blocks *= 2n;
    for (const { address } of await managedOf(events.map((event) => event.address)))
      if (!ours.has(address)) ours.set(address, new Set());
    const transactions = new Map<string, ReturnType<Chain["transaction"]>>();
    const judge = async (event: AccountEvent): Promise<boolean> => {
      const { transactionId: id, address } = event;
      if (!transactions.has(id)) transactions.set(id, chain.transaction(id, signal));
      const transaction = await transactions.get(id);
      if (!transaction)
        throw new Error(`the access node has events of ${id}, but not the transaction: ask one that has the history`);
      return isOurs(event, transaction, chain, (index) => chain.accountKey(address, index, signal));
    };
    for (const event of events) {
      const { address, addedKey, transactionId } = event;
      if (!addedKey) continue;
      const isFirst = addedKey.keyIndex === 0 && keyRoleOf(addedKey) === "server";
      if (!(isFirst || ours.has(address)) || !(await judge(event))) continue;
      ours.set(address, (ours.get(address) ?? new Set()).add(addedKey.keyIndex));
      if (isFirst) created.push({ address, serverKey: addedKey.publicKey, transactionId });
    }
  }
  return { created, ours };
}
