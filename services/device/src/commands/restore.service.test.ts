import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabaseMark } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { v7 } from "uuid";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { postgresDeviceStore } from "../store/postgres-device-store.ts";
import { prismaTwoFactorStore } from "../store/prisma-two-factor-store.ts";
import { database, postgres, prisma } from "../testing/store-fixture.ts";
import { type Registered, twoFactorWorld } from "../testing/two-factor-world.ts";
import { restore } from "./restore.ts";

let directory: string;
beforeAll(async () => {
  await openDatabaseMark(postgres);
  directory = mkdtempSync(join(tmpdir(), "countersign-restore-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

let accountId: string;
let phone: Registered;
const newWorld = () =>
  twoFactorWorld({ requests: prismaTwoFactorStore(prisma), devices: postgresDeviceStore(prisma, postgres) });
beforeEach(async () => {
  accountId = v7();
  phone = await newWorld().device(accountId);
});

async function run(flags: readonly string[]): Promise<string> {
  const args = ["--since", "2026-11-20T09:00:00Z", "--by", "ada", "--reason", "disk lost", ...flags];
  const lines: string[] = [];
  await restore.run({ args, env: { DEVICE_DATABASE_URL: database.url }, print: (line) => lines.push(line) });
  return lines.join("\n");
}
const expiresAt = async () => (await prisma.twoFactor.findFirstOrThrow({ where: { accountId } })).expiresAt;

it("a 2FA request that waited for its decision expires; it may have been decided", async () => {
  const world = newWorld();
  await world.open(world.enrollmentRequest(accountId));
  await prisma.twoFactor.updateMany({ data: { expiresAt: new Date(Date.now() + 300_000) } });
  await run(["--no-events"]);
  expect((await expiresAt()).getTime()).toBeGreaterThan(Date.now());
  expect(await run(["--no-events", "--went-back"])).toContain("1 2FA requests have expired");
  expect((await expiresAt()).getTime()).toBeLessThanOrEqual(Date.now());
});

it("a device that was removed is removed again, by its event, and emitted for a service that forgot it", async () => {
  const { id: deviceId, publicKey } = phone.device;
  const removed = {
    ...{ id: v7(), accountId, requestId: "", occurredAt: new Date() },
    deviceRemoved: { deviceId, deviceKey: publicKeyToProto(publicKey) },
  };
  const event = Buffer.from(Event.encode(Event.create(removed)).finish()).toString("base64");
  const file = join(directory, "events");
  const line = (service: string) =>
    `${JSON.stringify({ subject: `cs.v1.${service}.${accountId}.device-removed`, event })}\n`;
  writeFileSync(file, line("key"));
  await run(["--went-back", "--events", file]);
  expect((await prisma.device.findUniqueOrThrow({ where: { id: deviceId } })).removedAt).toBeNull();
  const nameless = Buffer.from(
    Event.encode({ ...Event.create(removed), deviceRemoved: { deviceId: "", deviceKey: undefined } }).finish(),
  );
  writeFileSync(
    file,
    JSON.stringify({ subject: "cs.v1.device.x.y", event: nameless.toString("base64") }) + "\n" + line("device"),
  );
  await run(["--went-back", "--events", file]);
  expect((await prisma.device.findUniqueOrThrow({ where: { id: deviceId } })).removedAt).toEqual(removed.occurredAt);
  const subject = `cs.v1.device.${accountId}.device-removed`;
  const [row] = await prisma.outbox.findMany({ where: { subject } });
  expect(Event.decode(row!.payload).deviceRemoved).toEqual(removed.deviceRemoved);
});
