import { expect, it } from "vitest";
import { readStack } from "./people.ts";

it("says how a stack is started where there is no stack.json", () => {
  expect(() => readStack("/nowhere/.local/stack.json")).toThrow(
    "/nowhere/.local/stack.json is not there: run `npm start` in the checkout, and wait until it says `ready`",
  );
});
