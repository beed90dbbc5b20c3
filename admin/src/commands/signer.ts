import { readFile } from "node:fs/promises";
import { UsageError } from "@countersign/runtime";
import { adminCommand } from "../admin-command.ts";
import { neutralize } from "../output.ts";
import { writePrivateFile } from "../private-file.ts";

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

/** The exit code of `signer audit verify`, too. */
const STATED_LOSSES = 3;

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
      const { problems, records, chains, checkpoints, uncovered, until, losses } = result;
      show(result, () => [
        ...problems.map((problem) => `WRONG  ${neutralize(problem)}`),
        `${records} records in ${chains} chains under ${checkpoints} checkpoints${until && ` until ${until}`}`,
        ...(uncovered > 0n ? [`${uncovered} records at the end are under no checkpoint yet`] : []),
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
  async run({ services, reason, required, show, progress }) {
    const out = required("out");
    let count = 0;
    await writePrivateFile(out, async (append) => {
      for await (const { lines } of services.signer.exportAudit({ reason })) {
        await append(`${lines.join("\n")}\n`);
        const before = count;
        count += lines.length;
        if (Math.floor(before / 100_000) < Math.floor(count / 100_000)) progress(`${count} lines`);
      }
    });
    show({ lines: count, out }, () => [`${count} lines in ${neutralize(out)}`]);
  },
});
