import { natsAccountsFile } from "@countersign/events/nats-accounts.ts";
import { parsePartitions } from "@countersign/events/stream.ts";
import { command, runCommand, UsageError } from "./command.ts";

// `node packages/runtime/src/nats-accounts.ts --partitions 16`: prints accounts.conf of NATS for events in
// partitions. That for one stream is deploy/nats/accounts.conf.
await runCommand("nats-accounts", [
  command({
    usage: "--partitions <number>",
    about: "Prints accounts.conf of NATS for events in partitions.",
    options: { partitions: { type: "string" } },
    async run({ values, print }) {
      if (values.partitions === undefined) throw new UsageError(this.usage);
      const partitions = parsePartitions(values.partitions);
      print(natsAccountsFile(`packages/runtime/src/nats-accounts.ts --partitions ${partitions}`, partitions).trimEnd());
    },
  }),
]);
