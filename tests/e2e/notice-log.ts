import { readFileSync } from "node:fs";
import { join } from "node:path";
import { stateDir } from "../security/secrets.ts";

export const deviceLog = (): string => readFileSync(join(stateDir, "log", "device.log"), "utf8");

/** Returns what the device service pushed or mailed, from its log after position `start`. */
export const noticesSince = (start: number) =>
  deviceLog()
    .slice(start)
    .split("\n")
    .filter((line) => /"msg":"(push|mail)"/.test(line))
    .map((line) => JSON.parse(line) as { msg: string; event: string; operation?: string });
