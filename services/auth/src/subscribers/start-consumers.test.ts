import { expect, it } from "vitest";
import { type ConsumersOptions, startConsumers } from "./start-consumers.ts";

it("an enrollment that waits for another service holds up no other one", () => {
  const atOnce = new Map<string, number>();
  startConsumers(({ durable, concurrency = 1 }) => void atOnce.set(durable, concurrency), {} as ConsumersOptions);
  expect(atOnce.get("auth-two-factor-changed")).toBe(3);
});
