import { exportEvents } from "@countersign/events/export-events.ts";
import { z } from "zod";
import { command, runCommand, UsageError } from "./command.ts";
import { loadEnv, tlsEnv } from "./config.ts";
import { readSince } from "./restore.ts";
import { writeJsonLines } from "./restore-files.ts";
import { loadTlsFromEnv } from "./tls.ts";

const schema = tlsEnv.extend({ CS_NATS_URL: z.string() });

// `node packages/runtime/src/export-events.ts`: writes the stream's events since a time to a file, for the
// restore of databases. CS_TLS_… are the operator's certificate.
await runCommand("export-events", [
  command({
    usage: "--since <time> --out <file>",
    about: "Writes the events since a time to a file.",
    options: { since: { type: "string" }, out: { type: "string" } },
    async run({ values: { since, out }, env, print }) {
      if (!out) throw new UsageError(this.usage);
      const settings = loadEnv(schema, env);
      const events = exportEvents(settings.CS_NATS_URL, loadTlsFromEnv(settings), readSince(this.usage, since));
      print(`${await writeJsonLines(out, events)} events in ${out}`);
    },
  }),
]);
