import { openPostgres } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { expect, test } from "vitest";
import { PrismaClient } from "./generated/client.ts";

test("the log names the argument that Prisma refused, and shows no argument", async () => {
  const postgres = openPostgres("postgres://auth@127.0.0.1:1/auth");
  const prisma = new PrismaClient({ adapter: postgres.adapter });
  let line = "";
  const write = (written: string) => {
    line += written;
  };
  const logger = createLogger({ name: "test", destination: { write } });
  const where = { issuer: "https://issuer", subject: `subject-of-ada ${"a".repeat(9_000)}`, createdAt: new Date(NaN) };
  await prisma.identity.findMany({ where }).catch((err: unknown) => logger.error({ err }, "failed"));
  expect(JSON.parse(line)).toMatchObject({ err: { message: expect.stringContaining("argument `createdAt`") } });
  expect(line).not.toMatch(/subject-of-ada|https:/);
  await postgres.close();
});
