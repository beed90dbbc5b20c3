import { expect, it } from "vitest";
import { deleteInBatches } from "./delete-rows.ts";

it("a deletion that fails is reported, and the later ones run", async () => {
  const run: string[] = [];
  const failing = async () => {
    throw new Error("canceling statement due to statement timeout");
  };
  const later = async () => {
    run.push("later");
    return 0;
  };
  await expect(deleteInBatches([failing, later])).rejects.toThrow("statement timeout");
  expect(run).toEqual(["later"]);
});
