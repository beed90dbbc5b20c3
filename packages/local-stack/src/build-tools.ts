import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { reportFailure } from "@countersign/build/fail.ts";
import { ensureTools } from "./tools.ts";

// `node packages/local-stack/src/build-tools.ts <directory>`: builds the Go servers as `npm start` does, into
// the directory where an image expects them.
try {
  const [target = "bin"] = process.argv.slice(2);
  const { flowEmulator, natsServer } = await ensureTools((line) => console.log(line));
  mkdirSync(target, { recursive: true });
  copyFileSync(flowEmulator, join(target, "flow-emulator"));
  copyFileSync(natsServer, join(target, "nats-server"));
} catch (error) {
  reportFailure(error);
}
