import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { openTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import type { LoginProfile } from "../domain/login.ts";
import { beginSession, type Session } from "../domain/sessions/session.ts";
import { PrismaClient } from "../store/generated/client.ts";

export const clock = new FixedClock("2026-11-20T10:00:00Z");
export const now = clock.now();
export const app = { appId: "demo", appName: "Demo" };

const open = (url: string) => openPostgres(url, { connections: 10 });
export const { database, postgres, prisma } = await openTestDatabase("auth", open, PrismaClient);

export const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
export const eventsOf = (accountId: string, event: string) =>
  prisma.outbox.count({ where: { subject: `cs.v1.auth.${accountId}.${event}` } });

/** The sessions that others replaced, by the events of those. */
export const replacedOf = async (accountId: string): Promise<string[]> => {
  const rows = await prisma.outbox.findMany({ where: { subject: `cs.v1.auth.${accountId}.session-created` } });
  const ids = rows.map(({ payload }) => Event.decode(payload).sessionCreated?.replacedSessionId ?? "");
  return ids.filter((id) => !/^[0-]*$/.test(id));
};

export const person = (): LoginProfile => ({
  issuer: "https://idp.example",
  subject: uuidv4(),
  email: "",
  name: "",
  picture: "",
  app,
  authTime: now,
});

export const someSession = (change: Partial<Session> = {}): Session => {
  const { publicKey } = generateKeyPair();
  const ids = { id: uuidv7(clock), refreshId: uuidv4(), accountId: uuidv7(clock) };
  return {
    ...beginSession({ ...ids, app, deviceKey: publicKey, accountKey: publicKey, authTime: now }, now),
    ...change,
  };
};
