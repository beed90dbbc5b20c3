import { FixedClock } from "@countersign/core/testing";
import { expect, it } from "vitest";
import { createKnownScripts } from "./known-scripts.ts";
import { notUnderstood } from "./script-facts.ts";

const fine = notUnderstood("");

function reading(answer = async () => fine) {
  const read: string[] = [];
  const facts = (script: string) => {
    read.push(script);
    return answer();
  };
  return { read, facts };
}

it("forgets the least used, and never knows more than it may", async () => {
  const reader = reading();
  const scripts = createKnownScripts({ reader, clock: new FixedClock(), capacity: 3, ownCapacity: 3 });
  const learnShared = async (hash: string) => {
    await scripts.learn(hash, hash, "ada");
    scripts.known(hash, "bob");
  };
  for (const each of ["a", "b", "c"]) await learnShared(each);
  scripts.known("a", "ada");
  await learnShared("d");
  expect(["a", "b", "c", "d"].filter((each) => scripts.known(each, "ada"))).toEqual(["a", "c", "d"]);
  for (let i = 0; i < 100; i += 1) await learnShared(`x${i}`);
  expect(scripts.size).toBe(3);
});

it("forgets no script of others for the new scripts of one account", async () => {
  const reader = reading();
  const scripts = createKnownScripts({
    reader,
    clock: new FixedClock(),
    capacity: 4,
    ownCapacity: 6,
    ownPerSender: 2,
  });
  await scripts.learn("shared", "shared", "ada");
  scripts.known("shared", "bob");
  await scripts.learn("ada's", "ada's", "ada");
  for (let i = 0; i < 100; i += 1) await scripts.learn(`cheap ${i}`, "cheap", "thief");
  expect(scripts.known("shared", "carol")).toBe(fine);
  expect(scripts.known("ada's", "ada")).toBe(fine);
  expect(["cheap 97", "cheap 98", "cheap 99"].map((hash) => scripts.known(hash, "thief"))).toEqual([
    undefined,
    fine,
    fine,
  ]);
  expect(scripts.size).toBe(4);
  // Many accounts together push out what only one account uses, and nothing that several do.
  for (let i = 0; i < 100; i += 1) await scripts.learn(`many ${i}`, "many", `thief ${i}`);
  expect(scripts.known("ada's", "ada")).toBeUndefined();
  expect(scripts.known("shared", "carol")).toBe(fine);
  expect(scripts.size).toBe(1 + 6);
});

it("replaces an account's least used scripts by its new ones, also in a full cache", async () => {
  const reader = reading();
  const scripts = createKnownScripts({ reader, clock: new FixedClock(), ownCapacity: 3, ownPerSender: 2 });
  for (const hash of ["ada's", "cheap 0", "cheap 1"]) await scripts.learn(hash, hash, hash.split(" ")[0]!);
  expect(scripts.size).toBe(3);
  for (const hash of ["cheap 2", "cheap 1", "cheap 3"]) await scripts.learn(hash, hash, "cheap");
  expect(scripts.known("ada's", "ada's")).toBe(fine);
  expect(["cheap 1", "cheap 2", "cheap 3"].map((hash) => scripts.known(hash, "cheap"))).toEqual([
    fine,
    undefined,
    fine,
  ]);
});

it("reads once for all who ask at the same time", async () => {
  const reader = reading();
  const scripts = createKnownScripts({ reader, clock: new FixedClock() });
  await Promise.all([1, 2, 3].map(() => scripts.learn("a", "a", "ada")));
  expect(reader.read).toEqual(["a"]);
});

it("tries again later what was not understood", async () => {
  const clock = new FixedClock();
  const scripts = createKnownScripts({ reader: reading(async () => notUnderstood("too slow")), clock });
  await scripts.learn("a", "a", "ada");
  expect(scripts.known("a", "ada")?.problem).toBe("too slow");
  clock.advance(61_000);
  expect(scripts.known("a", "ada")).toBeUndefined();
  expect(scripts.size).toBe(0);
});

it("keeps nothing of a reader that failed", async () => {
  const scripts = createKnownScripts({
    reader: reading(async () => Promise.reject(new Error("full"))),
    clock: new FixedClock(),
  });
  await expect(scripts.learn("a", "a", "ada")).rejects.toThrow("full");
  expect(scripts.known("a", "ada")).toBeUndefined();
});

it("without a parser understands nothing", async () => {
  const scripts = createKnownScripts({ reader: undefined, clock: new FixedClock() });
  expect((await scripts.learn("a", "a", "ada")).problem).toBe("the signer has no parser");
});

it("lets one sender wait with a few scripts only, and others' go on", async () => {
  const ends: (() => void)[] = [];
  const reader = reading(() => new Promise((resolve) => ends.push(() => resolve(fine))));
  const scripts = createKnownScripts({ reader, clock: new FixedClock() });
  const flood = Array.from({ length: 100 }, (_, i) =>
    scripts.learn(`slow ${i}`, "slow", "thief").then(
      () => "read",
      ({ reason }) => reason,
    ),
  );
  const other = scripts.learn("fine", "fine", "ada");
  // A script that another sender has requested already costs nothing.
  const shared = scripts.learn("fine", "fine", "thief");
  await new Promise(setImmediate);
  expect(reader.read).toEqual([...Array(4).fill("slow"), "fine"]);
  for (const end of ends) end();
  expect([await other, await shared]).toEqual([fine, fine]);
  const outcomes = await Promise.all(flood);
  expect(outcomes.filter((each) => each === "read")).toHaveLength(4);
  expect(outcomes.filter((each) => each === "RateLimited")).toHaveLength(96);
  const again = scripts.learn("again", "again", "thief");
  await new Promise(setImmediate);
  ends.at(-1)?.();
  expect(await again).toBe(fine);
});
