import { orderedUuidv7 } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { type Postgres, queriesIn } from "@countersign/postgres";
import type { Alert } from "../domain/chain-watch/find-alerts.ts";
import type { KeyWatchStore } from "../domain/chain-watch/watch-keys.ts";
import type { Leases } from "../domain/ports.ts";
import type { ChainAlert, Prisma, PrismaClient } from "./generated/client.ts";
import { heightsIn } from "./lease-height.ts";

/** Raises each alert once, also where it is found again; its id is also its event's. */
async function raise(tx: Prisma.TransactionClient, chainName: string, alerts: readonly Alert[], now: Date) {
  const rows = alerts.map(({ accountId, event, kind, freezes }) => {
    const { type: eventType, transactionId, index: eventIndex, height } = event;
    const id = orderedUuidv7();
    return { id, accountId, chainName, transactionId, eventIndex, eventType, height, kind, freezes, raisedAt: now };
  });
  const data = await tx.chainAlert.createManyAndReturn({ data: rows, skipDuplicates: true });
  await tx.outbox.createMany({ data: data.map(alertEvent) });
}

/** Returns the outbox row of an alert. */
export const alertEvent = ({ id, accountId, raisedAt: occurredAt, ...chainAlert }: ChainAlert) =>
  eventRow("account", "chain-alert", { id, accountId, occurredAt }, { chainAlert });

/** Keeps the heights up to which chains were read, in Postgres. */
export function postgresKeyWatchStore(prisma: PrismaClient, postgres: Postgres): KeyWatchStore & Leases {
  const { advance, ...leases } = heightsIn(postgres, "key_watch");
  const managedIn = async (tx: Prisma.TransactionClient, chainName: string, addresses: readonly string[]) =>
    tx.address.findMany({
      where: { chainName, chainType: "cadence", address: { in: [...addresses] } },
      select: { accountId: true, address: true },
    });
  return {
    ...leases,
    async managed(chainName, addresses) {
      const rows = await managedIn(prisma, chainName, addresses);
      return new Map(rows.map(({ accountId, address }) => [address, accountId]));
    },

    async advance(chainName, moved, { changed, alerts }, now) {
      // Nearly all blocks: those in which only accounts of sign-ups get keys, too.
      if (changed.size === 0 && alerts.length === 0) return advance(chainName, moved);
      return prisma.$transaction(async (tx) => {
        if (!(await advance(chainName, moved, queriesIn(tx)))) return false;
        if (alerts.length > 0) await raise(tx, chainName, alerts, now);
        const ours = await managedIn(tx, chainName, [...changed.keys()]);
        const data = ours.map(({ accountId, address }) => {
          const accountKeysChanged = { chainName, height: changed.get(address)! };
          return eventRow("account", "account-keys-changed", { accountId, occurredAt: now }, { accountKeysChanged });
        });
        await tx.outbox.createMany({ data });
        return true;
      });
    },
  };
}
