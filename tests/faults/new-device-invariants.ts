import { readAddUserKey } from "@countersign/flow";
import type { Books } from "./books.ts";
import type { NewDevice } from "./new-device.ts";

/** The states that a finished 2FA request emits. `pending` is left out: a renewed message emits it again. */
const STATES = {
  enrollmentBySignature: ["approved", "sealed", "finished"],
  enrollmentByTransaction: ["approved", "finished"],
};

/** Returns what is wrong about an enrolled phone, which has one transaction, key, device and sign-in. */
export function wrongWithNewDevice(
  books: Books,
  { deviceKey, accountId, way, requestId, answered }: NewDevice,
): string[] {
  const found: string[] = [];
  const expect = (what: string, got: unknown, wanted: unknown) => {
    if (JSON.stringify(got) !== JSON.stringify(wanted)) {
      found.push(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
    }
  };
  const { publicKey } = deviceKey;
  const address = books.addresses.find((row) => row.account_id === accountId && row.chain_type === "cadence")?.address;

  const added = books.keysAdded.get(publicKey) ?? [];
  expect(
    "added on chain",
    added.map((key) => [key.address, key.weight]),
    [[address, 1]],
  );
  const index = added[0]?.keyIndex;
  const transactions = books.transactions.filter(
    ({ transaction }) => readAddUserKey(transaction)?.publicKey === publicKey,
  );
  expect("transactions with the key", transactions.length, 1);
  const transactionId = transactions[0]?.id;

  const keys = books.keys.filter((row) => row.account_key === publicKey);
  expect(
    "keys",
    keys.map((row) => [row.account_id, row.key_index]),
    [[accountId, index]],
  );
  const devices = books.devices.filter((row) => row.public_key === publicKey);
  expect(
    "devices",
    devices.map((row) => row.account_id),
    [accountId],
  );

  const requests = books.requests.filter((row) => row.account_key === publicKey);
  const request = requests.map((row) => [row.id, row.status, row.result_tx_id, row.key_index]);
  expect("requests", request, [[requestId, "finished", transactionId, index]]);
  // Abandoned attempts name no key.
  const additions = books.additions.filter((row) => row.user_key === publicKey);
  const bySignature = [["sealed", transactionId, index]];
  const addition = additions.map((row) => [row.state, row.transaction_id, row.key_index]);
  expect("additions", addition, way === "enrollmentBySignature" ? bySignature : []);

  const signIns = books.signIns.filter((row) => row.user_key === publicKey);
  const signIn = signIns.map((row) => [row.id, row.transaction_id, row.finished_at !== null]);
  expect("sign-ins", signIn, [[requestId, transactionId, true]]);
  // Finishing opens one session; each answered challenge opens another, if the answer to finishing was lost.
  const opened = books.events.filter(
    ({ event }) => Buffer.from(event.sessionCreated?.deviceKey?.bytes ?? []).toString("hex") === publicKey,
  ).length;
  expect("sessions", books.sessions.filter((row) => row.device_key === publicKey).length, opened);
  if (answered) expect("sessions of an enrolled phone", opened, 1);

  const states = books.events.flatMap(({ event: { twoFactorChanged: changed } }) =>
    changed?.id === requestId && changed.status !== "pending" ? [changed.status] : [],
  );
  expect("states", states.sort(), [...STATES[way]].sort());
  return found;
}
