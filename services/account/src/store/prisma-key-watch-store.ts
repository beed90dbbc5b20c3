import { outboxRow } from "@countersign/outbox";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { uuidv7 } from "@countersign/service-kit";
import type { KeyWatchStore } from "../domain/watch-keys.ts";
import { faultPoint } from "../fault-points.ts";
import type { PrismaClient } from "./generated/client.ts";
import { leaseHeight } from "./lease-height.ts";

function changedRow(accountId: string, chainName: string, height: bigint, now: Date) {
  const id = uuidv7({ now: () => now });
  const accountKeysChanged = { chainName, height };
  const message = Event.encode({ id, occurredAt: now, accountId, requestId: "", accountKeysChanged }).finish();
  return outboxRow({ service: "account", accountId, event: "account-keys-changed", message, id, createdAt: now });
}

/** How far chains were read, in Postgres. */
export function prismaKeyWatchStore(prisma: PrismaClient): KeyWatchStore {
  return {
    lease: (chainName, lease, begin) => leaseHeight(prisma, "key_watch", chainName, lease, begin),

    advance: (chainName, { from, to }, changed, now) =>
      prisma.$transaction(async (tx) => {
        const { count } = await tx.keyWatch.updateMany({ where: { chainName, height: from }, data: { height: to } });
        if (count === 0) return false;
        if (changed.size === 0) return true;
        const ours = await tx.address.findMany({
          where: { chainName, chainType: "cadence", address: { in: [...changed.keys()] } },
          select: { accountId: true, address: true },
        });
        const data = ours.map(({ accountId, address }) => changedRow(accountId, chainName, changed.get(address)!, now));
        await tx.outbox.createMany({ data });
        await faultPoint("change before commit");
        return true;
      }),
  };
}
