import { hash } from "node:crypto";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { verifyChain } from "../../services/signer/src/testing/verify-chain.ts";
import { type Books, query, readBooks } from "./books.ts";
import { type chainReader, signedMessages } from "./chain-reader.ts";
import type { NewDevice } from "./new-device.ts";
import { wrongWithNewDevice } from "./new-device-invariants.ts";
import type { Person } from "./person.ts";

/** Events that occur once per account; the others once per device, and `SESSION` once per session. */
const ONCE = ["account.account-deployed", "auth.sign-up-completed", "signer.address-bound"];
const PER_DEVICE = ["device.device-registered", "key.key-registered"];
const SESSION = "auth.session-created";

interface Rest {
  sagas: number;
  creations: number;
  keysBusy: number;
  approvals: number;
  unpublished: number;
}

/** Counts unfinished work: sagas and creations with a lease, unreconciled approvals, unpublished events. */
export async function leftToDo(stack: Stack): Promise<Rest> {
  const count = async (service: string, from: string) =>
    Number((await query<{ n: string }>(stack, service, `SELECT count(*) AS n FROM ${from}`))[0]?.n);
  const outboxes = ["auth", "account", "device", "key", "signer"].map((service) => count(service, "outbox"));
  const [sagas, creations, keysBusy, approvals, ...unpublished] = await Promise.all([
    count("auth", "sign_up WHERE completed_at IS NULL"),
    count("account", "creation WHERE state IN ('assigned', 'signed')"),
    count("account", "proposal_key WHERE creation_id IS NOT NULL"),
    count("device", "two_factor WHERE reconcile_at IS NOT NULL"),
    ...outboxes,
  ]);
  return {
    sagas,
    creations,
    keysBusy,
    approvals,
    unpublished: unpublished.reduce((sum, each) => sum + each, 0),
  } as Rest;
}

/** Waits until no work is unfinished. Throws an Error that names the rest after the timeout. */
export async function quiet(stack: Stack, timeoutMs = 60_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const rest = await leftToDo(stack);
    if (Object.values(rest).every((count) => count === 0)) return;
    if (performance.now() > end) throw new Error(`after ${timeoutMs / 1000} s still ${JSON.stringify(rest)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** The losses of a restored database that the invariants allow. */
export interface Restored {
  /** Transactions of before, whose audit records may be lost. Events may be lost, or emitted again. */
  readonly transactions: ReadonlySet<string>;
}

/** Returns the invariants that an account violates, seen from the person that signed up. */
function wrongWithPerson(
  books: Books,
  { accountId, email, deviceKey }: Person,
  enrolledDevices: number,
  restored: Restored | undefined,
): string[] {
  const found: string[] = [];
  const { publicKey } = deviceKey;
  const own = <T extends { account_id: string }>(rows: readonly T[]) =>
    rows.filter((row) => row.account_id === accountId);
  const identity = books.identities.filter((row) => row.email === email);
  if (identity.length !== 1 || identity[0]?.account_id !== accountId) found.push(`${identity.length} identities`);
  if (own(books.sagas).length !== 1) found.push(`${own(books.sagas).length} sign-ups`);

  const phones = 1 + enrolledDevices;
  const [keys, devices] = [own(books.keys), own(books.devices)];
  const ownKeys = keys.filter((row) => row.account_key === publicKey);
  const ownDevices = devices.filter((row) => row.public_key === publicKey);
  if (keys.length !== phones || ownKeys.length !== 1) found.push(`${keys.length} keys, ${ownKeys.length} the first`);
  if (devices.length !== phones || ownDevices.length !== 1) {
    found.push(`${devices.length} devices, ${ownDevices.length} the first`);
  }
  const onChain = books.keysAdded.get(publicKey) ?? [];
  const addresses = own(books.addresses);
  const cadence = addresses.filter((row) => row.chain_type === "cadence");
  if (addresses.length !== 2 || cadence.length !== 1) found.push(`${addresses.length} addresses`);
  if (onChain.length !== 1 || onChain[0]?.address !== cadence[0]?.address) {
    found.push(`${onChain.length} accounts on chain`);
  }

  if (restored) return found;
  const emitted = books.events
    .map(({ subject }) => /^cs\.v1\.(\w+)\.([^.]+)\.([\w-]+)$/.exec(subject) ?? [])
    .filter(([, , about]) => about === accountId)
    .map(([, service, , event]) => `${service}.${event}`);
  const expectEmitted = (event: string, times: number) => {
    const count = emitted.filter((each) => each === event).length;
    if (count !== times) found.push(`${event} is emitted ${count} times, not ${times}`);
  };
  for (const event of ONCE) expectEmitted(event, 1);
  for (const event of PER_DEVICE) expectEmitted(event, phones);
  // None of the service's own transactions may cause an alert.
  expectEmitted("account.chain-alert", 0);
  expectEmitted(SESSION, own(books.sessions).length);
  return found;
}

/**
 * Checks all invariants if exactly these persons signed up after block `after` and exactly these further
 * phones were enrolled. Returns each violation as a line; an empty list is good.
 */
export async function broken(
  stack: Stack,
  chain: ReturnType<typeof chainReader>,
  after: bigint,
  persons: readonly Person[],
  newDevices: readonly NewDevice[] = [],
  restored?: Restored,
): Promise<string[]> {
  const books = await readBooks(stack, chain, after);
  const note = ({ email, accountId, story }: Person, lines: readonly string[]) =>
    lines.map((line) => `${email}, account ${accountId}: ${line}\n    ${story.join("\n    ")}`);
  const found = [
    ...persons.flatMap((person) => {
      const enrolled = newDevices.filter(({ host }) => host === person).length;
      return note(person, wrongWithPerson(books, person, enrolled, restored));
    }),
    ...newDevices.flatMap((newDevice) => (restored ? [] : note(newDevice, wrongWithNewDevice(books, newDevice)))),
  ];

  const { events, accountsMade, identities, sagas, keys, devices, requests } = books;
  const ids = new Set(events.map(({ event }) => event.id));
  if (ids.size !== events.length) found.push(`${events.length - ids.size} events are twice in the stream`);
  if (accountsMade !== persons.length) found.push(`${accountsMade} accounts on chain for ${persons.length} persons`);
  const phones = persons.length + newDevices.length;
  for (const [name, rows, expected] of [
    ["identities", identities, persons.length],
    ["sign-ups", sagas, persons.length],
    ["keys", keys, phones],
    ["devices", devices, phones],
    ["requests for approval", restored ? [] : requests, restored ? 0 : newDevices.length],
  ] as const) {
    if (rows.length !== expected) found.push(`${rows.length} ${name}, not ${expected}`);
  }
  found.push(...wrongWithSignatures(stack, books, restored));
  return found;
}

/** Returns the signatures of ours on the chain without a record, and breaks of the chains of records. */
function wrongWithSignatures(stack: Stack, { audit, addresses, transactions }: Books, restored?: Restored): string[] {
  const found: string[] = [];
  for (const { head, records } of audit) {
    const wrong = verifyChain(records, head);
    if (wrong !== "") found.push(`audit chain ${head.chainId}: ${wrong}`);
  }
  const signed = new Set(
    audit.flatMap(({ records }) =>
      records.filter(({ verdict }) => verdict === "signed").map((each) => each.messageHash),
    ),
  );
  const { creator, paymaster } = stack.chains[0]!;
  const accounts = new Set(addresses.filter((row) => row.chain_type === "cadence").map(({ address }) => address));
  for (const transaction of transactions) {
    for (const { address, keyId, message } of signedMessages(transaction)) {
      const byUs = `0x${address}` === creator || `0x${address}` === paymaster || (accounts.has(address) && keyId === 0);
      if (byUs && !signed.has(hash("sha256", message)) && !restored?.transactions.has(transaction.id)) {
        found.push(`transaction ${transaction.id}: a signature of ${address}/${keyId} without an audit record`);
      }
    }
  }
  return found;
}
