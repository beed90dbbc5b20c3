import { setUpNats } from "@countersign/events/set-up.ts";
import { parsePartitions } from "@countersign/events/stream.ts";
import { z } from "zod";
import { loadEnv, tlsEnv } from "./config.ts";
import { loadTlsFromEnv } from "./tls.ts";

const schema = tlsEnv.extend({
  CS_NATS_URL: z.string(),
  CS_NATS_REPLICAS: z.coerce.number().int().min(1).max(5).default(1),
  CS_NATS_PARTITIONS: z.string().default("1"),
});

// `node packages/runtime/src/set-up-events.ts`: creates the stream of events and each service's consumers at
// NATS, which no service has the right to. CS_TLS_… are the operator's certificate; CS_NATS_REPLICAS is the
// number of servers that have the stream, CS_NATS_PARTITIONS that of its partitions. Idempotent.
try {
  const settings = loadEnv(schema, process.env);
  const replicas = settings.CS_NATS_REPLICAS;
  const partitions = parsePartitions(settings.CS_NATS_PARTITIONS);
  await setUpNats(settings.CS_NATS_URL, loadTlsFromEnv(settings), { replicas, partitions });
  console.log("the stream of events and its consumers are in place");
} catch (error) {
  console.error(`countersign: ${(error as Error).message}`);
  process.exitCode = 1;
}
