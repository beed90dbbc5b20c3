import { beforeEach, describe, expect, it, vi } from "vitest";
import { parseArchive } from "../audit/archive.ts";
import { DAY_MS, fileOf, lastOf, newOperator } from "../testing/archive-operator.ts";
import { countCovered, newAuditProcess, prisma, verifyDatabase } from "../testing/audit-process.ts";

vi.setConfig({ testTimeout: 60_000 });

const rows = async () => ({
  batches: await prisma.auditBatch.count(),
  checkpoints: await prisma.auditCheckpoint.count(),
  archives: await prisma.auditArchive.count(),
});
const actions = () =>
  prisma.adminAction.findMany({ orderBy: { id: "asc" }, select: { person: true, command: true, outcome: true } });

/** Asks for the removal of a file; returns the request's id. */
async function ask({ removeAlone }: ReturnType<typeof newOperator>, file: ReturnType<typeof fileOf>): Promise<string> {
  const { requestId } = await lastOf(removeAlone(file));
  return requestId!;
}

let lines: string[];
let file: ReturnType<typeof fileOf>;
/** An archive of 20 records, and of these and 20 more. */
let longer: ReturnType<typeof fileOf>;
let before: Awaited<ReturnType<typeof rows>>;

beforeEach(async () => {
  const { write, checkpointer } = newAuditProcess("one");
  const { archive } = newOperator();
  for (const covered of [10, 20]) {
    await write(10);
    await expect.poll(countCovered).toBe(covered);
  }
  lines = await archive(new Date(Date.now() + 1));
  await write(20);
  await checkpointer.close();
  file = fileOf(lines);
  longer = fileOf(await archive(new Date(Date.now() + 1)));
  expect(longer.sequence).toBeGreaterThan(file.sequence);
  before = await rows();
});

const refused = (reason: string) => ({ reason });

describe("one administrator", () => {
  it("removes nothing: the removal becomes a request", async () => {
    const ada = newOperator();
    const soFar = await lastOf(ada.removeAlone(file));
    expect(soFar).toMatchObject({ rows: 0n, requestId: expect.any(String) });
    expect(await lastOf(ada.removeAlone(file))).toMatchObject({ rows: 0n, requestId: expect.any(String) });
    expect(await rows()).toEqual(before);
    expect(await actions()).toEqual(Array(2).fill({ person: "ada", command: "audit remove", outcome: "requested" }));
  });

  it("does not approve the own request", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, file);
    await expect(lastOf(ada.decide("ada", requestId, file.sha256))).rejects.toMatchObject(
      refused("SecondPersonRequired"),
    );
    expect(await rows()).toEqual(before);
  });

  it("removes alone where the installation says so", async () => {
    const alone = newOperator({ twoPersons: false });
    expect((await lastOf(alone.removeAlone(file))).rows).toBeGreaterThan(0n);
    expect(parseArchive((await prisma.auditArchive.findFirstOrThrow()).text)).toMatchObject({
      ...{ by: "ada", approvedBy: "", sequence: file.sequence },
    });
    expect(await actions()).toEqual([{ person: "ada", command: "audit remove", outcome: "done" }]);
  });
});

describe("an approval", () => {
  it("removes just the file of the request, and the statement names both persons", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, file);
    expect((await lastOf(ada.decide("grace", requestId, file.sha256))).rows).toBeGreaterThan(0n);
    expect(parseArchive((await prisma.auditArchive.findFirstOrThrow()).text)).toMatchObject({
      ...{ by: "ada", approvedBy: "grace", sequence: file.sequence, sha256: file.sha256 },
    });
    expect(await actions()).toEqual([
      { person: "ada", command: "audit remove", outcome: "requested" },
      { person: "grace", command: "audit remove", outcome: "approved" },
    ]);
    expect(await verifyDatabase([], [lines])).toMatchObject({ problems: [], records: 40 });
  });

  it("of another file or of none removes neither", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, file);
    for (const sha256 of [longer.sha256, "0".repeat(64), ""])
      await expect(lastOf(ada.decide("grace", requestId, sha256))).rejects.toMatchObject(
        refused("AdminRequestNotFound"),
      );
    expect(await rows()).toEqual(before);
  });

  it("of a file at another checkpoint than its own removes nothing", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, { ...file, sequence: longer.sequence });
    await expect(lastOf(ada.decide("grace", requestId, file.sha256))).rejects.toMatchObject(refused("InvalidRequest"));
    expect(await rows()).toEqual(before);
  });

  it("acts once, and for no later removal", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, file);
    const again = await ask(ada, file);
    await lastOf(ada.decide("grace", requestId, file.sha256));
    const after = await rows();
    await expect(lastOf(ada.decide("grace", again, file.sha256))).rejects.toMatchObject(refused("InvalidRequest"));
    for (const sha256 of [file.sha256, longer.sha256])
      await expect(lastOf(ada.decide("grace", requestId, sha256))).rejects.toMatchObject(
        refused("AdminRequestNotFound"),
      );
    const next = await lastOf(ada.removeAlone(longer));
    expect(next).toMatchObject({ rows: 0n, requestId: expect.any(String) });
    expect(await rows()).toEqual(after);
  });

  it("of several at once acts once", async () => {
    const requestId = await ask(newOperator(), file);
    const persons = ["grace", "linus", "barbara"];
    // Each calls another replica of the signer.
    const approvals = persons.map((name) => lastOf(newOperator().decide(name, requestId, file.sha256)));
    const outcomes = await Promise.allSettled(approvals);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await prisma.adminAction.count({ where: { requestId } })).toBe(1);
    expect(await prisma.auditArchive.count()).toBe(1);
  });

  it("after 24 hours removes nothing", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, file);
    ada.wait(DAY_MS);
    await expect(lastOf(ada.decide("grace", requestId, file.sha256))).rejects.toMatchObject(
      refused("AdminRequestNotFound"),
    );
    expect(await rows()).toEqual(before);
  });

  it("after a rejection, also one that came while it verified, removes nothing", async () => {
    const ada = newOperator();
    const requestId = await ask(ada, file);
    const approving = ada.decide("grace", requestId, file.sha256);
    await approving.next();
    expect(await lastOf(newOperator().decide("ada", requestId, "", false))).toMatchObject({
      actionId: expect.any(String),
    });
    await expect(lastOf(approving)).rejects.toMatchObject(refused("AdminRequestNotFound"));
    await expect(lastOf(ada.decide("grace", requestId, file.sha256))).rejects.toMatchObject(
      refused("AdminRequestNotFound"),
    );
    expect(await rows()).toEqual(before);
  });

  it("that is not of a removal's request removes nothing", async () => {
    const ada = newOperator();
    const at = new Date(Date.now() + 31 * DAY_MS);
    const row = { ...{ at, person: "mallory", reason: "none given", outcome: "requested" }, arguments: { ...file } };
    const { id } = await prisma.adminAction.create({
      data: { ...row, id: "01900000-0000-7000-8000-00000000bbbb", command: "drop" },
    });
    await expect(lastOf(ada.decide("grace", id, file.sha256))).rejects.toMatchObject(refused("AdminRequestNotFound"));
    expect(await rows()).toEqual(before);
  });

  it("that was interrupted behind its statement is continued by one person", async () => {
    const ada = newOperator();
    const approving = ada.decide("grace", await ask(ada, file), file.sha256);
    while ((await prisma.auditArchive.count()) === 0) await approving.next();
    await approving.return(undefined);
    await lastOf(ada.removeAlone(file));
    expect(await prisma.auditCheckpoint.findFirst({ orderBy: { sequence: "asc" } })).toMatchObject({
      sequence: BigInt(file.sequence),
    });
    expect((await actions()).at(-1)).toEqual({ person: "ada", command: "audit remove", outcome: "begun" });
  });
});
