import { open } from "node:fs/promises";
import { UsageError } from "@countersign/runtime";
import { adminCommand } from "../admin-command.ts";
import { neutralize, toJson } from "../output.ts";
import { SERVICES } from "../services.ts";
import { showOutcome } from "./accounts.ts";

export const personExport = adminCommand({
  usage: "person export <account id> --out <file>",
  about: "Writes every row that the services have about a person to a file, one JSON object a line.",
  options: ["out"],
  arguments: [1, 1],
  async run({ services, reason, given, option, show, progress }) {
    const out = option("out");
    if (out === undefined) throw new UsageError(this.usage, "--out is missing");
    // Others must not read it, and a file that is there already is nobody's to overwrite.
    const file = await open(out, "wx", 0o600);
    let rows = 0;
    try {
      for (const service of SERVICES) {
        const before = rows;
        for await (const { table, rowJson } of services.each[service].exportPerson({ reason, accountId: given[0]! })) {
          await file.writeFile(`${toJson({ service, table, row: JSON.parse(rowJson) })}\n`);
          rows += 1;
        }
        progress(`${service}: ${rows - before} rows`);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    show({ rows, out }, () => [`${rows} rows in ${neutralize(out)}`]);
    return undefined;
  },
});

const STAYS = [
  "What is on chain stays: addresses, keys, transactions. Only the owner of a key controls what is there.",
  "The audit log stays: it has the account's id, which no longer leads to a person. See docs/privacy.md.",
];

export const personErase = adminCommand({
  usage: "person erase <account id>",
  about: "Asks to erase a person's data and to end all access to the account. For two persons. Repeatable.",
  arguments: [1, 1],
  async run(asked) {
    const { services, reason, given } = asked;
    const { outcome } = await services.auth.erasePerson({ reason, accountId: given[0]! });
    showOutcome(asked, outcome);
    for (const line of STAYS) asked.progress(line);
    return undefined;
  },
});
