import type { Stack } from "@countersign/dev/stack-file.ts";
import { sha256, verifyChain } from "../../services/signer/src/audit/record.ts";
import { query, readAudit, readEvents } from "./books.ts";
import { type chainReader, signedMessages } from "./chain-reader.ts";
import type { Phone } from "./phone.ts";

/** Of a sign-up. Sessions have events of their own. */
const EXPECTED_EVENTS = [
  "account.account-deployed",
  "auth.sign-up-completed",
  "device.device-registered",
  "key.key-registered",
  "signer.address-bound",
];

interface Rest {
  sagas: number;
  creations: number;
  keysBusy: number;
  unpublished: number;
}

/** What is still under way: sagas and creations that wait for a lease, events that wait for NATS. */
export async function leftToDo(stack: Stack): Promise<Rest> {
  const count = async (service: string, from: string) =>
    Number((await query<{ n: string }>(stack, service, `SELECT count(*) AS n FROM ${from}`))[0]?.n);
  const outboxes = ["auth", "account", "device", "key", "signer"].map((service) =>
    count(service, "outbox WHERE published_at IS NULL"),
  );
  const [sagas, creations, keysBusy, ...unpublished] = await Promise.all([
    count("auth", "sign_up WHERE completed_at IS NULL"),
    count("account", "creation WHERE state IN ('assigned', 'signed')"),
    count("account", "proposal_key WHERE creation_id IS NOT NULL"),
    ...outboxes,
  ]);
  return { sagas, creations, keysBusy, unpublished: unpublished.reduce((sum, each) => sum + each, 0) } as Rest;
}

/** Waits until nothing is under way any more. Errors: Error that tells what never ended. */
export async function quiet(stack: Stack, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const rest = await leftToDo(stack);
    if (Object.values(rest).every((count) => count === 0)) return;
    if (performance.now() > end) throw new Error(`after ${patienceMs / 1000} s still ${JSON.stringify(rest)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/**
 * Everything that must hold for these persons, and nobody else, having signed up after block `after`. Gives what does not hold, a line each; empty is good.
 */
export async function broken(
  stack: Stack,
  chain: ReturnType<typeof chainReader>,
  after: bigint,
  persons: readonly Phone[],
): Promise<string[]> {
  const found: string[] = [];
  const note = (phone: Phone, line: string) =>
    found.push(`${phone.accountId}: ${line}\n    ${phone.story.join("\n    ")}`);

  const [identities, sagas, keys, devices, addresses, events, audit, keysAdded, accountsMade, transactions] =
    await Promise.all([
      query<{ email: string; account_id: string }>(stack, "auth", "SELECT email, account_id FROM identity"),
      query<{ account_id: string }>(stack, "auth", "SELECT account_id FROM sign_up"),
      query<{ account_id: string; account_key: string }>(
        stack,
        "key",
        "SELECT account_id, account_key FROM registration",
      ),
      query<{ account_id: string; public_key: string }>(stack, "device", "SELECT account_id, public_key FROM device"),
      query<{ account_id: string; chain_type: string; address: string }>(stack, "account", "SELECT * FROM address"),
      readEvents(stack),
      readAudit(stack),
      chain.keysAdded(after),
      chain.accountsMade(after),
      chain.transactions(after),
    ]);

  for (const phone of persons) {
    const { publicKey } = phone.deviceKey;
    const own = <T extends { account_id: string }>(rows: readonly T[]) =>
      rows.filter((row) => row.account_id === phone.accountId);
    const identity = identities.filter((row) => row.email === phone.email);
    if (identity.length !== 1 || identity[0]?.account_id !== phone.accountId)
      note(phone, `${identity.length} identities`);
    if (own(sagas).length !== 1) note(phone, `${own(sagas).length} sign-ups`);
    if (own(keys).length !== 1 || own(keys)[0]?.account_key !== publicKey) note(phone, `${own(keys).length} keys`);
    if (own(devices).length !== 1 || own(devices)[0]?.public_key !== publicKey) {
      note(phone, `${own(devices).length} devices`);
    }
    const onChain = keysAdded.get(publicKey) ?? [];
    const cadence = own(addresses).filter((row) => row.chain_type === "cadence");
    if (own(addresses).length !== 2 || cadence.length !== 1) note(phone, `${own(addresses).length} addresses`);
    if (onChain.length !== 1 || onChain[0] !== cadence[0]?.address) note(phone, `${onChain.length} accounts on chain`);
    const told = events
      .map(({ subject }) => /^cs\.v1\.(\w+)\.([^.]+)\.([\w-]+)$/.exec(subject) ?? [])
      .filter(([, , accountId]) => accountId === phone.accountId)
      .map(([, service, , event]) => `${service}.${event}`)
      .filter((event) => EXPECTED_EVENTS.includes(event))
      .sort();
    if (told.join() !== EXPECTED_EVENTS.join()) note(phone, `events ${told.join(", ")}`);
  }

  const ids = new Set(events.map(({ event }) => event.id));
  if (ids.size !== events.length) found.push(`${events.length - ids.size} events stand twice in the stream`);
  if (accountsMade !== persons.length) found.push(`${accountsMade} accounts on chain for ${persons.length} persons`);
  for (const [name, rows] of Object.entries({ identities, sagas, keys, devices })) {
    if (rows.length !== persons.length) found.push(`${rows.length} ${name} for ${persons.length} persons`);
  }

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
  const ours = new Map(
    addresses.filter((row) => row.chain_type === "cadence").map((row) => [row.address, "server"] as const),
  );
  for (const transaction of transactions) {
    for (const { address, keyId, message } of signedMessages(transaction)) {
      const byUs = `0x${address}` === creator || `0x${address}` === paymaster || (ours.has(address) && keyId === 0);
      if (byUs && !signed.has(sha256(message))) {
        found.push(`transaction ${transaction.id}: a signature of ${address}/${keyId} without an audit record`);
      }
    }
  }
  return found;
}
