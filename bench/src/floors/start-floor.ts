import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface Floor {
  /** host:port */
  address: string;
  pid: number;
  stop(): void;
}

/** Starts a floor program as a process of its own and waits for its port. */
export async function startFloor(name: string, ...args: string[]): Promise<Floor> {
  const command = [...process.execArgv, join(import.meta.dirname, `${name}.ts`), ...args];
  const child: ChildProcess = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] });
  const kill = () => void child.kill();
  process.once("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const [line] = await once(child.stdout!, "data");
  const { port } = JSON.parse(String(line));
  return { address: `127.0.0.1:${port}`, pid: child.pid!, stop: kill };
}
