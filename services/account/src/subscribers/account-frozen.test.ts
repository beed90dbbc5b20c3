import { AppError } from "@countersign/errors";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { FixedClock, uuidv7 } from "@countersign/service-kit";
import { expect, it, vi } from "vitest";
import { onAccountFrozen } from "./account-frozen.ts";

const clock = new FixedClock();
const accountId = uuidv7(clock);
const delivered = (change: Partial<Event> = { accountFrozen: { frozen: true, cause: "user" } }, attempt = 1) => ({
  subject: `cs.v1.auth.${accountId}.account-frozen`,
  attempt,
  event: Event.create({ id: uuidv7(clock), accountId, ...change }),
});
const notFrozen = new AppError("SigningRefused", { detail: "", metadata: { reason: "NotFrozen" } });

it("voids what the account has, and leaves every other event alone", async () => {
  const run = vi.fn(async () => undefined);
  const handle = onAccountFrozen(run);
  await handle(delivered());
  expect(run).toHaveBeenCalledExactlyOnceWith(accountId);
  await handle(delivered({ accountFrozen: { frozen: false, cause: "user" } }));
  await handle(delivered({ accountFrozen: { frozen: true, cause: "user" }, accountId: "1" }));
  await handle(delivered({}));
  expect(run).toHaveBeenCalledOnce();
});

it("comes again while the signer has not heard of the freeze, and is over once it is lifted", async () => {
  const handle = onAccountFrozen(() => Promise.reject(notFrozen));
  await expect(handle(delivered())).rejects.toBe(notFrozen);
  await expect(handle(delivered(undefined, 5))).rejects.toBe(notFrozen);
  await expect(handle(delivered(undefined, 6))).resolves.toBeUndefined();
});

it("comes again for as long as chain or signer are away", async () => {
  const handle = onAccountFrozen(() => Promise.reject(new Error("away")));
  await expect(handle(delivered(undefined, 20))).rejects.toThrow("away");
});
