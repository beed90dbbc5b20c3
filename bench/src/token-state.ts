import { reportFailure } from "@countersign/build/fail.ts";
import { startStack } from "@countersign/local-stack/stack.ts";
import { inTemporaryState } from "@countersign/local-stack/temporary-state.ts";
import { command, runCommand, UsageError } from "@countersign/runtime/command.ts";
import pg from "pg";
import { cpuSeconds, residentMiB } from "./memory.ts";

const PROCESSES = ["auth", "gateway", "device", "key", "account", "signer"];
/** One entry in five is a blocked key: these are the largest. Each is of a commit of its own. */
const INSERT = `
  INSERT INTO token_state_entry (bucket, position, kind, subject, active, until)
  SELECT i % 256, i / 256 + 1, CASE WHEN i % 5 = 0 THEN 'key' ELSE 'session' END,
    gen_random_uuid() || CASE WHEN i % 5 = 0 THEN '/ES256/' || repeat(md5(i::text), 4) ELSE '' END,
    true, now() + interval '1 hour'
  FROM generate_series(1, $1::int) AS i`;

async function measure(stateDir: string, entries: number, rounds: number): Promise<void> {
  const running = await startStack({ stateDir, freePorts: true, throwAway: true, say: console.error });
  const { stack, end, restart } = running;
  const database = new pg.Client({ connectionString: stack.databases.auth });
  try {
    await database.connect();
    console.log("entries  ready s of auth, gateway, device, key, account, signer  CPU s  MiB of the gateway");
    for (let round = 0; round < 2 * rounds; round++) {
      if (round === rounds) await database.query(INSERT, [entries]);
      await Promise.all(PROCESSES.map(end));
      const begun = performance.now();
      const seconds = await Promise.all(
        PROCESSES.map(async (name) => {
          await restart(name);
          return ((performance.now() - begun) / 1000).toFixed(1);
        }),
      );
      const pids = PROCESSES.map((name) => stack.processes[name]!.pid);
      const cpu = pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
      const memory = residentMiB(stack.processes.gateway!.pid);
      const stored = round < rounds ? 0 : entries;
      console.log(`${stored}  ${seconds.join(" ")}  ${cpu.toFixed(1)}  ${memory.toFixed(0)}`);
    }
  } finally {
    await database.end();
    await running.stop();
  }
}

const tokenStateCommand = command({
  usage: "[--entries <n>] [--rounds <n>]",
  about: "Measures how long all services take to be ready after a restart, without and with a large token state.",
  options: { entries: { type: "string", default: "200000" }, rounds: { type: "string", default: "3" } },
  run({ values }) {
    const [entries, rounds] = [Number(values.entries), Number(values.rounds)];
    if (!(entries > 0 && rounds > 0)) throw new UsageError(this.usage);
    return inTemporaryState("token-state", (stateDir) => measure(stateDir, entries, rounds));
  },
});

await runCommand("node bench/src/token-state.ts", [tokenStateCommand], reportFailure);
