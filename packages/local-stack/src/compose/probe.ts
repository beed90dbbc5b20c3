import { statusOf } from "@countersign/local-stack/wait.ts";

// `node packages/local-stack/src/compose/probe.ts <url>`: the health check of every container; images have no
// curl.
const [url = ""] = process.argv.slice(2);
process.exitCode = (await statusOf(url)) === 200 ? 0 : 1;
