import { actCommand } from "../act-command.ts";
import { adminCommand } from "../admin-command.ts";
import { neutralize, toJson } from "../output.ts";
import { writePrivateFile } from "../private-file.ts";
import { SERVICES } from "../services.ts";

export const personExport = adminCommand({
  usage: "person export <account id> --out <file>",
  about: "Writes every row that the services have about a person to a file, one JSON object a line.",
  options: ["out"],
  arguments: [1, 1],
  async run({ services, reason, given, required, show, progress }) {
    const out = required("out");
    let rows = 0;
    await writePrivateFile(out, async (append) => {
      for (const service of SERVICES) {
        const before = rows;
        for await (const { table, rowJson } of services.each[service].exportPerson({ reason, accountId: given[0]! })) {
          await append(`${toJson({ service, table, row: JSON.parse(rowJson) })}\n`);
          rows += 1;
        }
        progress(`${service}: ${rows - before} rows`);
      }
    });
    show({ rows, out }, () => [`${rows} rows in ${neutralize(out)}`]);
  },
});

export const personErase = actCommand({
  usage: "person erase <account id>",
  about: "Asks to erase a person's data and to end all access to the account. For two persons. Repeatable.",
  arguments: ["accountId"],
  act: async ({ auth }, request) => (await auth.erasePerson(request)).outcome,
  notes: [
    "What is on chain stays: addresses, keys, transactions. Only the owner of a key controls what is there.",
    "The audit log stays: it has the account's id, which no longer leads to a person. See docs/privacy.md.",
  ],
});
