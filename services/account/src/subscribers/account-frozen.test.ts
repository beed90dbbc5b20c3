import { AppError, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { beforeEach, expect, it, vi } from "vitest";
import { ALL_SIGNERS_INFORMED_MS, onAccountFrozen } from "./account-frozen.ts";

const clock = new FixedClock();
const pause = vi.fn(async (ms: number) => clock.advance(ms));
const handler = (voidTemplates: (accountId: string) => Promise<void>) =>
  onAccountFrozen({ voidTemplates, clock, pause });
beforeEach(() => void pause.mockClear());
const accountId = uuidv7(clock);
const delivered = (change: Partial<Event> = { accountFrozen: { frozen: true, cause: "user" } }, attempt = 1) => ({
  subject: `cs.v1.auth.${accountId}.account-frozen`,
  attempt,
  event: Event.create({ id: uuidv7(clock), accountId, occurredAt: new Date(0), ...change }),
});
const notFrozen = new AppError("SigningRefused", { detail: "", metadata: { reason: "NotFrozen" } });

it("voids what the account has, and leaves every other event alone", async () => {
  const run = vi.fn(async () => undefined);
  const handle = handler(run);
  await handle(delivered());
  expect(run).toHaveBeenCalledExactlyOnceWith(accountId);
  await handle(delivered({ accountFrozen: { frozen: false, cause: "user" } }));
  await handle(delivered({ accountFrozen: { frozen: true, cause: "user" }, accountId: "1" }));
  await handle(delivered({}));
  expect(run).toHaveBeenCalledOnce();
});

it("is delivered again while the signer has not received the freeze, and is over once it is lifted", async () => {
  const handle = handler(() => Promise.reject(notFrozen));
  await expect(handle(delivered())).rejects.toBe(notFrozen);
  await expect(handle(delivered(undefined, 5))).rejects.toBe(notFrozen);
  await expect(handle(delivered(undefined, 6))).resolves.toBeUndefined();
});

it("comes again for as long as chain or signer are away", async () => {
  const handle = handler(() => Promise.reject(new Error("away")));
  await expect(handle(delivered(undefined, 20))).rejects.toThrow("away");
});

it("voids again what a replica of the signer signed that had not received the freeze", async () => {
  const open: string[] = [];
  const voided: string[] = [];
  const run = vi.fn(async () => void voided.push(...open.splice(0)));
  // The replica signs while the account service thinks that all is done.
  pause.mockImplementationOnce(async (ms) => {
    open.push("signed by a replica that is behind");
    return clock.advance(ms);
  });
  const occurredAt = clock.now();
  await handler(run)(delivered({ accountFrozen: { frozen: true, cause: "user" }, occurredAt }));
  expect(voided).toEqual(["signed by a replica that is behind"]);
  expect(pause).toHaveBeenCalledExactlyOnceWith(ALL_SIGNERS_INFORMED_MS);
});

it("waits only for what is left of that time, and not for a freeze that is lifted meanwhile", async () => {
  const run = vi.fn(async () => undefined);
  const occurredAt = clock.now();
  const freeze = { accountFrozen: { frozen: true, cause: "user" }, occurredAt };
  clock.advance(5_000);
  run.mockResolvedValueOnce(undefined).mockRejectedValueOnce(notFrozen);
  await handler(run)(delivered(freeze));
  expect(pause).toHaveBeenCalledExactlyOnceWith(ALL_SIGNERS_INFORMED_MS - 5_000);
  await handler(run)(delivered(freeze));
  expect(pause).toHaveBeenCalledOnce();
  expect(run).toHaveBeenCalledTimes(3);
});
