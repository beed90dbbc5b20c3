import { uuidv7 } from "@countersign/core";
import { expect, it } from "vitest";
import { clock, postgres, replicas } from "../testing/store-fixture.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { useEphemeralToken } from "./prisma-effect-store.ts";

it("of racing uses through two replicas three get through, for each operation and request", async () => {
  const race = async (requestId: string, operation: "transaction" | "paymaster") => {
    const uses = Array.from({ length: 20 }, (_, i) =>
      useEphemeralToken(replicas[i % 2]!, { sessionId: requestId, operation, limit: 3 }, clock.now()),
    );
    return (await Promise.all(uses)).filter(Boolean).length;
  };
  const [one, other] = [uuidv7(clock), uuidv7(clock)];
  expect(await Promise.all([race(one, "transaction"), race(one, "paymaster"), race(other, "transaction")])).toEqual([
    3, 3, 3,
  ]);
  expect(await race(one, "transaction")).toBe(0);
  // The swept rows are older than any token that could come again.
  await deleteExpiredRows(postgres)(new Date(clock.now().getTime() + 10 * 60_000));
  expect(await race(one, "transaction")).toBe(0);
});
