import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createActionLog } from "@countersign/admin-actions";
import { signMessage } from "@countersign/keys/node";
import { auditReading, type RemovedSoFar } from "../domain/admin/read-audit.ts";
import { postgresAuditArchives } from "../store/audit-archives.ts";
import { exportAudit } from "../store/prisma-audit-reader.ts";
import { auditKey, auditKeys } from "./audit-fixture.ts";
import { postgres, prisma } from "./audit-process.ts";

export const DAY_MS = 86_400_000;

/** Returns a file's last checkpoint and hash, which are all of it that reaches the signer. */
export function fileOf(lines: readonly string[]) {
  const text = `${lines.join("\n")}\n`;
  const [, until] = /^until (\d+)$/m.exec(text)!;
  return { sequence: Number(until), sha256: createHash("sha256").update(text).digest("hex") };
}

/** An administrator who calls a signer of their own, so many days later; linus approves each removal. */
export function newOperator({ person = "ada", days = 31, twoPersons = true } = {}) {
  let ahead = days * DAY_MS;
  const clock = { now: () => new Date(Date.now() + ahead) };
  const {
    exportAudit: lines,
    removeAudit,
    decideRequest,
  } = auditReading({
    exportLines: (until) => exportAudit(prisma, until),
    archives: postgresAuditArchives(postgres, prisma, clock, 0),
    actions: createActionLog(postgres, clock),
    auditSigner: {
      version: () => 1,
      sign: async (text) => signMessage(auditKey.privateKey, text, "sha256"),
      keys: auditKeys,
    },
    archiveMinDays: 30,
    twoPersons,
    clock,
    pause: (ms) => sleep(ms),
  });
  const { signal } = new AbortController();
  const by = (name: string) => ({ person: name, reason: "the quarter's archive" });
  const archive = async (before: Date): Promise<string[]> => {
    const all: string[][] = [];
    for await (const some of lines(before)) all.push(some);
    return all.flat();
  };
  const removeAlone = (file: ReturnType<typeof fileOf>) => removeAudit(by(person), file, signal);
  const decide = (name: string, requestId: string, sha256: string, approve = true) =>
    decideRequest(by(name), { requestId, approve, sha256 }, signal);
  async function* removal(file: readonly string[]): AsyncGenerator<RemovedSoFar> {
    for await (const soFar of removeAlone(fileOf(file))) {
      if (soFar.requestId) yield* decide("linus", soFar.requestId, fileOf(file).sha256);
      else yield soFar;
    }
  }
  return {
    archive,
    removeAlone,
    decide,
    removal,
    remove: async (file: readonly string[]): Promise<number> => Number((await lastOf(removal(file))).rows),
    wait(ms: number): void {
      ahead += ms;
    },
  };
}

/** Returns the last one of a stream. */
export async function lastOf(stream: AsyncIterable<RemovedSoFar>): Promise<RemovedSoFar> {
  let last: RemovedSoFar = { lines: 0n, rows: 0n };
  for await (const each of stream) last = each;
  return last;
}
