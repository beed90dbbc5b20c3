import { expect, it } from "vitest";
import { createBringBack } from "./auto-restart.ts";

function playing(failures: number) {
  const said: string[] = [];
  let starts = 0;
  const bringBack = createBringBack({
    async restart() {
      starts += 1;
      if (starts <= failures) throw new Error("its database is away\nand more");
    },
    say: (line) => said.push(line),
    firstDelayMs: 0,
    attempts: 3,
  });
  return { said, bringBack, starts: () => starts };
}

it("starts what died again, until it stays", async () => {
  const { bringBack, said } = playing(1);
  await bringBack("signer");
  expect(said).toEqual(["signer did not come back: its database is away", "signer is back"]);
});

it("gives up on what never comes back", async () => {
  const { bringBack, said, starts } = playing(9);
  await bringBack("signer");
  expect(starts()).toBe(3);
  expect(said.at(-1)).toBe("signer stays away: stop the stack and start it again.");
});

it("does not start twice what dies while it comes back", async () => {
  const { bringBack, starts } = playing(0);
  await Promise.all([bringBack("signer"), bringBack("signer"), bringBack("auth")]);
  expect(starts()).toBe(2);
});
