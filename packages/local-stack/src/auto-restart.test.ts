import { expect, it } from "vitest";
import { createAutoRestart } from "./auto-restart.ts";

function playing(failures: number) {
  const said: string[] = [];
  let starts = 0;
  const autoRestart = createAutoRestart({
    async restart() {
      starts += 1;
      if (starts <= failures) throw new Error("its database is away\nand more");
    },
    say: (line) => said.push(line),
    firstDelayMs: 0,
    attempts: 3,
  });
  return { said, autoRestart, starts: () => starts };
}

it("starts what died again, until it stays", async () => {
  const { autoRestart, said } = playing(1);
  await autoRestart("signer");
  expect(said).toEqual(["signer did not come back: its database is away", "signer is back"]);
});

it("gives up on what never comes back", async () => {
  const { autoRestart, said, starts } = playing(9);
  await autoRestart("signer");
  expect(starts()).toBe(3);
  expect(said.at(-1)).toBe("signer stays away: stop the stack and start it again.");
});

it("does not start twice what dies while it comes back", async () => {
  const { autoRestart, starts } = playing(0);
  await Promise.all([autoRestart("signer"), autoRestart("signer"), autoRestart("auth")]);
  expect(starts()).toBe(2);
});
