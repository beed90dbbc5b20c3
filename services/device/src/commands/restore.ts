import { isUuid } from "@countersign/core";
import { sql } from "@countersign/postgres";
import { command, EVENTS_ARGUMENTS, RESTORE_ARGUMENTS, runRestore } from "@countersign/runtime";
import { deviceEventRow } from "../store/device-event.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { toDevice } from "../store/postgres-device-store.ts";

/**
 * `device restore`: ends the 2FA requests that wait for a decision where device's database went back, removes
 * devices that were removed since, and says again which ones were.
 */
export const restore = command({
  usage: `restore ${RESTORE_ARGUMENTS.usage} ${EVENTS_ARGUMENTS.usage}`,
  about: "Opens device's database after a restore: ends open 2FA requests where it went back, removes devices again.",
  options: { ...RESTORE_ARGUMENTS.options, ...EVENTS_ARGUMENTS.options },
  async run({ values, env, print }) {
    const stated = RESTORE_ARGUMENTS.read(this.usage, values);
    const events = EVENTS_ARGUMENTS.read(this.usage, values);
    await runRestore("device", env, stated, PrismaClient, async ({ postgres, prisma, wentBack }) => {
      if (wentBack) {
        // The sweeper ends them, with their events. An approval that is under way is reconciled instead.
        const ended = await postgres.execute(sql`
          UPDATE two_factor SET expires_at = now()
          WHERE status = 'pending' AND attempt_id IS NULL AND expires_at > now()`);
        print(`the database went back: ${ended} 2FA requests have expired`);
      }
      for (const { subject, event } of events) {
        const { deviceRemoved, occurredAt } = event;
        if (!subject.startsWith("cs.v1.device.") || !isUuid(deviceRemoved?.deviceId ?? "") || !occurredAt) continue;
        await postgres.execute(sql`
          UPDATE device SET removed_at = ${occurredAt}
          WHERE id = ${deviceRemoved!.deviceId}::uuid AND removed_at IS NULL`);
      }
      const removed = await prisma.device.findMany({ where: { removedAt: { gte: stated.since } } });
      await prisma.outbox.createMany({
        data: removed.map((row) => {
          const device = toDevice(row);
          return deviceEventRow({ type: "device-removed", device, occurredAt: device.removedAt!, requestId: "" });
        }),
      });
      print(`${removed.length} devices were removed since, and are emitted again`);
    });
  },
});
