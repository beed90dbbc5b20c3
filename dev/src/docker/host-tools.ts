import { join } from "node:path";
import { copyTools } from "@countersign/local-stack/tools.ts";

/**
 * Collects the Go servers that `npm start` or `npm test` has built on this machine, in the place of the stage
 * `go-tools` of deploy/Dockerfile: the build of the emulator takes many minutes. Returns their folder.
 */
export async function collectHostTools(folder: string): Promise<string> {
  await copyTools(join(folder, "tools/build/bin"));
  return join(folder, "tools");
}
