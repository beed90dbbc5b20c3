import { DAY_MS } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { beforeEach, expect, it } from "vitest";
import { archiveText } from "../../audit/archive.ts";
import type { SignedText } from "../../audit/audit-key.ts";
import { NOTHING } from "../../audit/verify-file.ts";
import { auditKeys, signedText, time } from "../../testing/audit-fixture.ts";
import { type RemovalOptions, removeArchived, requestRemoval } from "./remove-audit.ts";

const by = { person: "ada", reason: "the quarter's archive" };
const file = { sequence: 5, sha256: "ab".repeat(32) };
const end = { sequence: file.sequence, hash: "cd".repeat(32), time, heads: [] };
const approved = signedText(
  archiveText({
    ...{ ...end, after: 0, sha256: file.sha256, keyVersion: 1, removedAt: time },
    ...{ by: "ada", approvedBy: "grace", reason: by.reason },
  }),
);

/** The statement that the database has. */
let last: SignedText | undefined;
let recorded: SignedText[];
let options: RemovalOptions;
beforeEach(() => {
  [last, recorded] = [undefined, []];
  options = {
    actions: {
      begin: async () => "begun",
      request: async () => "requested",
      findRequest: async () => undefined,
      reject: async () => "rejected",
    },
    archives: {
      last: async () => last,
      lastBefore: async () => file.sequence,
      record: async (_after, signed) => recorded.push(signed) > 0,
      async *remove() {
        yield 1;
      },
    },
    auditSigner: {
      keys: auditKeys,
      version: () => 1,
      sign: async (text) => Buffer.from(signedText(Buffer.from(text).toString()).signature, "hex"),
    },
    archiveMinDays: 30,
    twoPersons: true,
    clock: new FixedClock(new Date(time.getTime() + 31 * DAY_MS).toISOString()),
  };
});

/** Removes as one person, after a verification that found no problem. */
async function removeAlone(of = file): Promise<number> {
  async function* verify() {
    yield { ...NOTHING, problems: [], end, sha256: of.sha256 };
  }
  let rows = 0;
  for await (const count of removeArchived(options, by, { file: of }, verify, async () => undefined)) rows += count;
  return rows;
}

it("one person continues what was approved", async () => {
  last = approved;
  expect(await requestRemoval(options, by, file)).toBeUndefined();
  expect(await removeAlone()).toBe(1);
  expect(recorded).toEqual([]);
});

it("one person records no removal, also where the statement that was to be continued is gone meanwhile", async () => {
  last = approved;
  expect(await requestRemoval(options, by, file)).toBeUndefined();
  last = undefined;
  await expect(removeAlone()).rejects.toMatchObject({ reason: "SecondPersonRequired" });
  expect(recorded).toEqual([]);
});

it("where the database has nothing that is old enough, the file's checkpoint is what is wrong", async () => {
  options = { ...options, twoPersons: false, archives: { ...options.archives, lastBefore: async () => undefined } };
  await expect(removeAlone()).rejects.toMatchObject({ fields: [{ pointer: "/sequence" }] });
  expect(recorded).toEqual([]);
});

it("one person records a removal where the installation says so", async () => {
  options = { ...options, twoPersons: false };
  expect(await removeAlone()).toBe(1);
  expect(recorded).toHaveLength(1);
  // Another file than the last one is another removal.
  last = approved;
  options = { ...options, archives: { ...options.archives, lastBefore: async () => 9 } };
  expect(await removeAlone({ sequence: 9, sha256: "ef".repeat(32) })).toBe(1);
  expect(recorded).toHaveLength(2);
});
