import { isUuid } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyFromProto } from "@countersign/rpc";
import {
  command,
  EVENTS_ARGUMENTS,
  type EventLine,
  RESTORE_ARGUMENTS,
  RESTORE_MS,
  runRestore,
  UsageError,
  writeJsonLines,
} from "@countersign/runtime";
import { PrismaClient } from "../store/generated/client.ts";
import { prismaAccessStore } from "../store/prisma-access-store.ts";
import { isFrozen } from "../store/prisma-freeze-store.ts";
import { prismaHoldStore } from "../store/prisma-hold-store.ts";
import { endAllAccess, signedUpSince } from "../store/restore-access.ts";

/**
 * `auth restore`: ends all sessions and tokens where auth's database went back, takes away again what the
 * stream's events took away since, and writes the accounts that were signed up since to a file.
 */
export const restore = command({
  usage: `restore ${RESTORE_ARGUMENTS.usage} --out <file of accounts> ${EVENTS_ARGUMENTS.usage}`,
  about: "Opens auth's database after a restore: ends all access where it went back, and takes away what was lost.",
  options: { ...RESTORE_ARGUMENTS.options, ...EVENTS_ARGUMENTS.options, out: { type: "string" } },
  async run({ values, env, print }) {
    const { out } = values;
    if (!out) throw new UsageError(this.usage);
    const stated = RESTORE_ARGUMENTS.read(this.usage, values);
    const events = EVENTS_ARGUMENTS.read(this.usage, values);
    await runRestore("auth", env, stated, PrismaClient, async ({ postgres, prisma, wentBack }) => {
      if (wentBack) {
        const { sessions } = await postgres.transaction(endAllAccess, RESTORE_MS);
        print(`the database went back: ${sessions} sessions ended, all tokens and challenges are void`);
      } else print("the database did not go back: sessions go on");
      const { replayed, held } = await takeAwayAgain(prisma, events);
      print(`${replayed} events applied again; ${held} accounts stay frozen until an operator looks at them`);
      const accounts = await signedUpSince(postgres, stated.since);
      await writeJsonLines(out, accounts);
      print(`${accounts.length} accounts signed up since, in ${out}`);
    });
  },
});

/** Returns the key of an event; undefined where a service has sent none: it must not stop the restore. */
function keyOf(key: Parameters<typeof publicKeyFromProto>[0]): PublicKey | undefined {
  try {
    return publicKeyFromProto(key);
  } catch {
    return undefined;
  }
}

/** Applies events that take access away; a repetition changes nothing. Returns how many, and the holds. */
async function takeAwayAgain(prisma: PrismaClient, lines: Iterable<EventLine>) {
  const access = prismaAccessStore(prisma);
  const holds = prismaHoldStore(prisma);
  const now = new Date();
  /** The last freeze or its end, by account, and the last alert: one account may have very many. */
  const freezes = new Map<string, Event>();
  const alerts = new Map<string, Event>();
  let [replayed, held] = [0, 0];
  for (const { subject, event } of lines) {
    const { id, accountId, requestId, occurredAt = now } = event;
    if (!isUuid(accountId) || !isUuid(id)) continue;
    const about = /^cs\.v1\.(\w+\.[^.]+\.[\w-]+)$/.exec(subject)?.[1]?.replace(`.${accountId}.`, ".");
    const [deviceKey, accountKey] = [keyOf(event.deviceRemoved?.deviceKey), keyOf(event.keyRevoked?.accountKey)];
    if (about === "device.device-removed" && deviceKey) {
      await access.cutOff({ accountId, deviceKey, removedAt: occurredAt, requestId });
    } else if (about === "key.key-revoked" && accountKey) {
      await access.endRevoked({ accountId, accountKey, revokedAt: occurredAt, requestId });
    } else if (about === "key.account-left") {
      await access.leave({ accountId, leftAt: occurredAt, requestId });
    } else if (about === "account.chain-alert" && event.chainAlert?.freezes) {
      alerts.set(accountId, event);
      continue;
    } else if (about?.startsWith("auth.account-") && event.accountFrozen) {
      freezes.set(accountId, event);
      continue;
    } else continue;
    replayed += 1;
  }
  for (const [accountId, { id, chainAlert }] of alerts) {
    const { chainName, transactionId, eventType } = chainAlert!;
    await holds.place({ alertId: id, accountId, chainName, transactionId, eventType }, now);
    replayed += 1;
  }
  // Nobody knows any more which party froze it, so only an operator can lift it.
  for (const [accountId, { id, accountFrozen }] of freezes) {
    if (!accountFrozen!.frozen || (await isFrozen(prisma, accountId))) continue;
    const hold = { alertId: id, accountId, chainName: "", transactionId: "", eventType: "auth.account-frozen" };
    await holds.place(hold, now);
    held += 1;
  }
  return { replayed, held };
}
