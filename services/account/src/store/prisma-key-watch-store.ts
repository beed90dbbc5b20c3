import { outboxRow } from "@countersign/outbox";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { uuidv7 } from "@countersign/service-kit";
import type { KeyWatchStore } from "../domain/watch-keys.ts";
import { faultPoint } from "../fault-points.ts";
import type { PrismaClient } from "./generated/client.ts";

function changedRow(accountId: string, chainName: string, height: bigint, now: Date) {
  const id = uuidv7({ now: () => now });
  const accountKeysChanged = { chainName, height };
  const message = Event.encode({ id, occurredAt: now, accountId, requestId: "", accountKeysChanged }).finish();
  return outboxRow({ service: "account", accountId, event: "account-keys-changed", message, id, createdAt: now });
}

/** How far chains were read, in Postgres. */
export function prismaKeyWatchStore(prisma: PrismaClient): KeyWatchStore {
  return {
    async lease(chainName, { owner, now, until }, begin) {
      const [row] = await prisma.$queryRaw<{ height: bigint }[]>`
        INSERT INTO key_watch AS w (chain_name, height, lease_owner, lease_until)
        VALUES (${chainName}, ${begin}, ${owner}::uuid, ${until})
        ON CONFLICT (chain_name) DO UPDATE SET lease_owner = EXCLUDED.lease_owner, lease_until = EXCLUDED.lease_until
        WHERE w.lease_owner = EXCLUDED.lease_owner OR w.lease_until < ${now}
        RETURNING height`;
      return row?.height;
    },

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
