import { outboxRow } from "@countersign/outbox";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { uuidv7 } from "@countersign/service-kit";
import type { BindingStore } from "../domain/ports.ts";
import type { Binding } from "../policy/account.ts";
import type { PrismaClient, Binding as Row } from "./generated/client.ts";

const CACHED_ACCOUNTS = 50_000;

const toBinding = ({ createdAt: boundAt, ...binding }: Row): Binding => ({ ...binding, boundAt });

/** Bindings in Postgres. They are written once, so what was found stays true and is remembered. */
export function prismaBindingStore(prisma: PrismaClient): BindingStore {
  const cache = new Map<string, Binding[]>();

  return {
    async find(accountId) {
      const known = cache.get(accountId);
      if (known) return known;
      const rows = await prisma.binding.findMany({ where: { accountId }, orderBy: { createdAt: "asc" } });
      const found = rows.map(toBinding);
      if (found.length > 0) {
        cache.set(accountId, found);
        // An account may get a further chain through another replica: what is remembered is asked for again after a while.
        setTimeout(() => cache.delete(accountId), 5_000).unref();
        if (cache.size > CACHED_ACCOUNTS) cache.delete(cache.keys().next().value!);
      }
      return found;
    },

    async insert(binding, { now, requestId }) {
      const { accountId, chainName, address, serverKeyIndex, serverKeyVersion } = binding;
      const id = uuidv7({ now: () => now });
      const message = Event.encode({
        id,
        occurredAt: now,
        accountId,
        requestId,
        addressBound: { chainName, address },
      }).finish();
      const event = outboxRow({ service: "signer", accountId, event: "address-bound", message, id, createdAt: now });
      const inserted = await prisma.$executeRaw`
        WITH bound AS (
          INSERT INTO binding (account_id, chain_name, address, server_key_index, server_key_version, created_at)
          VALUES (${accountId}::uuid, ${chainName}, ${address}, ${serverKeyIndex}, ${serverKeyVersion}, ${now})
          ON CONFLICT DO NOTHING RETURNING 1)
        INSERT INTO outbox (id, subject, payload, created_at)
        SELECT ${event.id}::uuid, ${event.subject}, ${event.payload}, ${event.createdAt} FROM bound`;
      if (inserted === 1) {
        cache.delete(accountId);
        return binding;
      }
      const row = await prisma.binding.findUnique({ where: { accountId_chainName: { accountId, chainName } } });
      return row ? toBinding(row) : undefined;
    },

    async bound(chainName, accountIds) {
      const rows = await prisma.binding.findMany({
        where: { chainName, accountId: { in: [...accountIds] } },
        select: { accountId: true },
      });
      return rows.map((row) => row.accountId);
    },
  };
}
