import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ensureTools } from "@countersign/local-stack/tools.ts";

/**
 * Collects the Go servers that `npm start` or `npm test` has built on this machine, in the place of the stage
 * `go-tools` of deploy/Dockerfile: the build of the emulator takes many minutes. Returns their folder.
 */
export async function collectHostTools(folder: string): Promise<string> {
  const bin = join(folder, "tools/build/bin");
  mkdirSync(bin, { recursive: true });
  const { flowEmulator, natsServer } = await ensureTools((line) => console.log(line));
  copyFileSync(flowEmulator, join(bin, "flow-emulator"));
  copyFileSync(natsServer, join(bin, "nats-server"));
  return join(folder, "tools");
}
