import { readFile } from "node:fs/promises";
import type { DecideRequestResponse, RemoveAuditResponse } from "@countersign/proto/signer/v1/admin.ts";
import { STATED_LOSSES, UsageError } from "@countersign/runtime";
import { showActed } from "../act-command.ts";
import { type Asked, adminCommand } from "../admin-command.ts";
import { neutralize } from "../output.ts";
import { readDurably, writePrivateFile } from "../private-file.ts";

export const policyCheck = adminCommand({
  usage: "policy check [<file>]",
  about: "Shows the signer's policy; with a file, whether that is a policy and what it changes. Exit code 1 if not.",
  arguments: [0, 1],
  async run({ services, reason, given, show }) {
    const policyJson = given[0] === undefined ? "" : await readFile(given[0], "utf8");
    const answer = await services.signer.checkPolicy({ reason, policyJson });
    const { problem, currentVersion, version, current, changes } = answer;
    show(answer, () =>
      [
        `in effect: ${currentVersion}`,
        ...(given[0] === undefined ? current : []),
        ...(problem ? [`NOT A POLICY: ${problem}`] : []),
        ...(version ? [`file: ${version}`, ...changes, ...(changes.length === 0 ? ["changes nothing"] : [])] : []),
      ].map(neutralize),
    );
    return problem ? 1 : 0;
  },
});

export const policyExplain = adminCommand({
  usage: "policy explain <message in hex> [--chain <name>]",
  about: "Says what a transaction's message is, and which rule of the signer refuses it. Exit code 1 if one does.",
  options: ["chain"],
  arguments: [1, 1],
  async run({ services, reason, given, option, show }) {
    const hex = given[0]!.replace(/^0x/, "");
    if (!/^([0-9a-f]{2})+$/i.test(hex)) throw new UsageError(this.usage, "the message is not hex");
    const request = { reason, message: Buffer.from(hex, "hex"), chainName: option("chain") ?? "" };
    const answer = await services.signer.explainMessage(request);
    const { kind, refusalReason, detail } = answer;
    show(answer, () => [`${kind || "no message"}: ${refusalReason || "no rule refuses it"}`, neutralize(detail)]);
    return refusalReason ? 1 : 0;
  },
});

export const auditVerify = adminCommand({
  usage: "audit verify",
  about:
    "Verifies the signer's audit log in its database. Exit code 1 where it is not whole, 3 where only stated losses are missing.",
  async run({ services, reason, show, progress }) {
    for await (const { lines, result } of services.signer.verifyAudit({ reason })) {
      if (!result) {
        progress(`${lines} lines read`);
        continue;
      }
      const { problems, records, chains, checkpoints, uncovered, until, losses, archived } = result;
      show(result, () => [
        ...problems.map((problem) => `WRONG  ${neutralize(problem)}`),
        `records: ${records}, chains: ${chains}, checkpoints: ${checkpoints}${until && `, until ${until}`}`,
        ...(uncovered > 0n ? [`${uncovered} records at the end are under no checkpoint yet`] : []),
        ...(archived ? [`ARCHIVED  ${neutralize(archived)}`] : []),
        ...losses.map((loss) => `LOST  ${neutralize(loss)}`),
        problems.length > 0 ? "NOT WHOLE" : losses.length > 0 ? "whole, except for stated losses" : "whole",
      ]);
      if (problems.length > 0) return 1;
      return losses.length > 0 ? STATED_LOSSES : 0;
    }
    throw new Error("the signer ended the verification without a result");
  },
});

export const auditExport = adminCommand({
  usage: "audit export --out <file>",
  about: "Writes the signer's audit log to a file, for `signer audit verify` on another machine.",
  options: ["out"],
  run: (asked) => writeExport(asked, ""),
});

export const auditArchive = adminCommand({
  usage: "audit archive --before <time> --out <file>",
  about:
    "Writes the oldest part of the signer's audit log to a file: what was before a time, or as much as one file has. `audit remove` takes it out of the database.",
  options: ["before", "out"],
  async run(asked) {
    const time = new Date(asked.required("before"));
    if (Number.isNaN(time.getTime())) throw new UsageError(this.usage, "--before is no time, such as 2026-10-01");
    await writeExport(asked, time.toISOString());
  },
});

async function writeExport({ services, reason, required, show, progress }: Asked, before: string): Promise<void> {
  const out = required("out");
  let count = 0;
  await writePrivateFile(out, async (append) => {
    for await (const { lines } of services.signer.exportAudit({ reason, before })) {
      await append(`${lines.join("\n")}\n`);
      const earlier = count;
      count += lines.length;
      if (Math.floor(earlier / 100_000) < Math.floor(count / 100_000)) progress(`${count} lines`);
    }
  });
  show({ lines: count, out }, () => [`${count} lines in ${neutralize(out)}`]);
}

/** An archive's line with its last checkpoint is the second or third; the one before it may be long. */
const HEAD_BYTES = 4 * 1024 * 1024;

/** Reads an archive back from the disk. Errors: UsageError where it is none. */
async function readArchive(usage: string, path: string): Promise<{ sequence: bigint; sha256: string }> {
  const { head, sha256 } = await readDurably(path, HEAD_BYTES);
  const [, sequence] = /^until (\d{1,15})$/m.exec(head) ?? [];
  if (!sequence) throw new UsageError(usage, `${path} is no archive of \`audit archive\``);
  return { sequence: BigInt(sequence), sha256 };
}

/** Prints how far a removal is, and what it has removed. */
async function showRemoval(
  { show, progress }: Asked,
  { path, sequence, sha256 }: { path: string; sequence: bigint; sha256: string },
  removing: AsyncIterable<RemoveAuditResponse | DecideRequestResponse>,
): Promise<void> {
  let [rows, said] = [0n, ""];
  for await (const soFar of removing) {
    if ("requestId" in soFar && soFar.requestId !== "") {
      const details = [`another person must approve it: requests approve ${soFar.requestId} --archive <copy>`];
      return showActed({ show }, { actionId: soFar.requestId, outcome: "requested", details });
    }
    rows = soFar.rows;
    const line = rows > 0n ? `${(rows / 10_000n) * 10_000n} rows removed` : `${soFar.lines} lines verified`;
    if (line !== said) progress(line);
    said = line;
  }
  show({ sequence, sha256, rows }, () => [
    `${rows} rows removed: the database begins behind checkpoint ${sequence}`,
    `keep ${neutralize(path)}, SHA-256 ${sha256}`,
  ]);
}

export const auditRemove = adminCommand({
  usage: "audit remove --archive <file>",
  about:
    "Reads an archive back from the disk and asks to take what it has out of the signer's database. For two persons. After an interruption, continues what was approved.",
  options: ["archive"],
  async run(asked) {
    const path = asked.required("archive");
    const file = await readArchive(this.usage, path);
    await showRemoval(asked, { path, ...file }, asked.services.signer.removeAudit({ reason: asked.reason, ...file }));
  },
});

/** Approves the removal of an archive, of which this person has a copy. */
export async function approveRemoval(usage: string, asked: Asked, requestId: string, path: string): Promise<void> {
  const file = await readArchive(usage, path);
  const decision = { reason: asked.reason, requestId, approve: true, sha256: file.sha256 };
  await showRemoval(asked, { path, ...file }, asked.services.signer.decideRequest(decision));
}
