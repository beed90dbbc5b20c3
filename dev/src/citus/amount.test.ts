import { expect, test } from "vitest";
import { amountOf } from "./amount.ts";

const amount = (text: string) => amountOf("seed <accounts>", text, "accounts");

test("an amount is a whole number above 0, also with an exponent", () => {
  expect([amount("60"), amount("1e7")]).toEqual([60, 1e7]);
});

test.each(["lots", "", "0", "-1", "1.5", "Infinity"])("`%s` is no amount", (text) => {
  expect(() => amount(text)).toThrow(
    expect.objectContaining({
      name: "UsageError",
      message: "citus -- seed <accounts>",
      reason: `seed: \`${text}\` is no number of accounts`,
    }),
  );
});
