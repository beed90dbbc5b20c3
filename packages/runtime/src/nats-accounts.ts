import { natsAccountsFile } from "@countersign/events/nats-accounts.ts";
import { command, runCommand, UsageError } from "./command.ts";
import { partitionCount } from "./config.ts";

// `node packages/runtime/src/nats-accounts.ts --partitions 16`: prints accounts.conf of NATS for events in
// partitions. That for one stream is deploy/nats/accounts.conf.
await runCommand("nats-accounts", [
  command({
    usage: "--partitions <number>",
    about: "Prints accounts.conf of NATS for events in partitions.",
    options: { partitions: { type: "string" } },
    async run({ values, print }) {
      const { success, data } = partitionCount.safeParse(values.partitions);
      if (!success) throw new UsageError(this.usage);
      print(natsAccountsFile(`packages/runtime/src/nats-accounts.ts --partitions ${data}`, data).trimEnd());
    },
  }),
]);
