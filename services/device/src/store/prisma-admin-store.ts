import { insertAction } from "@countersign/admin-actions";
import type { Clock } from "@countersign/core";
import { queriesIn } from "@countersign/postgres";
import type { AdminStore } from "../domain/admin/end-two-factor.ts";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import type { PrismaClient } from "./generated/client.ts";
import { takeStep } from "./prisma-two-factor-store.ts";

/** Commits what administrators do with its record, in Postgres. */
export const prismaAdminStore = (
  prisma: PrismaClient,
  { find }: Pick<TwoFactorStore, "find">,
  clock: Clock,
): AdminStore => ({
  find,
  take: (by, command, { id, accountId }, step) =>
    prisma.$transaction(async (tx) => {
      const request = await takeStep(tx, id, step, { occurredAt: clock.now(), requestId: "" });
      if (!request) return undefined;
      const action = { command, accountId, arguments: { twoFactorId: id }, outcome: "done" };
      const actionId = (await insertAction(queriesIn(tx), by, action, clock))!;
      return { actionId, request };
    }),
});
