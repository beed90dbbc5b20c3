import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { reportFailure } from "@countersign/build/fail.ts";
import { startStack } from "@countersign/local-stack/stack.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { inTemporaryState } from "@countersign/local-stack/temporary-state.ts";
import { command, runCommand, UsageError } from "@countersign/runtime/command.ts";
import { accountMe } from "./cases/account-me.ts";
import type { Bench, Case, Row } from "./cases/case.ts";
import { paymaster } from "./cases/paymaster.ts";
import { peers } from "./cases/peers.ts";
import { signIn } from "./cases/sign-in.ts";
import { signUp } from "./cases/sign-up.ts";
import { signer } from "./cases/signer.ts";
import { tokenRefresh } from "./cases/token-refresh.ts";
import { residentMiB } from "./memory.ts";
import { createLogins, signUpAll } from "./people.ts";
import { cpuTable, judge, memoryTable, resultTable } from "./report.ts";

const cases: Record<string, Case> = {
  "account-me": accountMe,
  "token-refresh": tokenRefresh,
  "sign-in": signIn,
  paymaster,
  signer,
  "sign-up": signUp,
};
/** Run only when they are named: other products are built first. */
const onRequest: Record<string, Case> = { peers };
const allCases = { ...cases, ...onRequest };
const RESIDENTS = 64;
const MEMORY_GOALS: Record<string, number> = {
  gateway: 130,
  auth: 220,
  device: 220,
  key: 220,
  account: 220,
  signer: 220,
};

const PLENTY = [{ windowSeconds: 3600, count: 1e9, feesFlow: 1e6 }];
/** The budgets' scopes and windows of the default policy, with limits that no run reaches. */
const POLICY = {
  version: "bench",
  mode: "standard",
  caps: { gasLimit: 9999, openFeesFlow: 1e6 },
  switches: { authorizer: true, paymaster: true, creation: true },
  budgets: { account: PLENTY, app: PLENTY, service: PLENTY, backend: PLENTY },
};

const loadAtStart = loadavg()[0]!;

/** The options of a run, as text. */
interface Options {
  readonly seconds: string;
  readonly "warm-up": string;
  readonly connections: string;
  readonly json: string;
}

async function startOwnStack(stateDir: string) {
  // With ordinary limits and budgets those would be measured: all users share one IP address, and each signs
  // more in a minute than a person does in years.
  const policyFile = join(stateDir, "policy.json");
  writeFileSync(policyFile, JSON.stringify(POLICY));
  const extraEnvironment = (process: string) => {
    const name = process.replace(/-\d+$/, "");
    if (name === "gateway") return {};
    const scale = { [`${name.toUpperCase()}_LIMIT_SCALE`]: "1000000" };
    return name === "signer" ? { ...scale, SIGNER_POLICY_FILE: policyFile } : scale;
  };
  return startStack({ stateDir, freePorts: true, throwAway: false, extraEnvironment, say: console.error });
}

async function bench(stack: Stack, values: Options, chosen: readonly string[]): Promise<void> {
  const services = Object.entries(stack.processes).filter(([name]) => Object.hasOwn(MEMORY_GOALS, name));
  const idle = new Map(services.map(([name, { pid }]) => [name, residentMiB(pid)]));

  const logins = createLogins(stack);
  const connections = Number(values.connections);
  // A device has one session: connections that share a resident would end each other's session.
  const residents = await signUpAll(stack, await logins(Math.max(RESIDENTS, connections)));
  const parts: Bench = {
    stack,
    seconds: Number(values.seconds),
    warmUpSeconds: Number(values["warm-up"]),
    connections,
    logins,
    residents,
    say: console.error,
  };
  const rows: Row[] = [];
  for (const name of chosen) {
    console.error(`${name} …`);
    rows.push(...(await allCases[name]!(parts)));
  }
  const judged = judge(rows);
  const memory = services.map(([name, { pid }]) => ({
    name,
    idle: idle.get(name)!,
    loaded: residentMiB(pid),
    ...(MEMORY_GOALS[name] === undefined ? {} : { goal: MEMORY_GOALS[name] }),
  }));
  console.log([resultTable(judged), cpuTable(judged), memoryTable(memory)].join("\n\n"));
  if (loadAtStart > 1)
    console.log(`\nThe machine was busy before (load average ${loadAtStart.toFixed(1)}): these figures say little.`);
  console.log(`\nwritten to ${values.json}; docs/performance.md explains the rows`);
  const machine = { processors: cpus().length, model: cpus()[0]?.model ?? "", node: process.version };
  const result = { time: new Date().toISOString(), machine, options: values, rows: judged, memory };
  mkdirSync(join(values.json, ".."), { recursive: true });
  writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
  for (const { name, measured } of judged) {
    if (measured.errors === 0) continue;
    console.error(`${name}: ${measured.errors} errors, the first: ${measured.firstError}`);
    process.exitCode = 1;
  }
}

const benchCommand = command({
  usage: `[--seconds <n>] [--warm-up <n>] [--connections <n>] [--stack <stack.json>] [--json <file>] [${Object.keys(allCases).join("|")}]…`,
  about: "Measures a running stack, by default one of its own whose database waits for the disk, beside its floors.",
  options: {
    seconds: { type: "string", default: "10" },
    "warm-up": { type: "string", default: "8" },
    connections: { type: "string", default: "32" },
    stack: { type: "string" },
    json: { type: "string", default: join(import.meta.dirname, "../results/latest.json") },
  },
  positionals: true,
  async run({ values, positionals }) {
    const chosen = positionals.length === 0 ? Object.keys(cases) : positionals;
    const unknown = chosen.find((name) => !Object.hasOwn(allCases, name));
    if (unknown !== undefined) throw new UsageError(this.usage, `no case ${unknown}`);
    for (const name of ["seconds", "warm-up", "connections"] as const) {
      if (!(Number(values[name]) > 0))
        throw new UsageError(this.usage, `--${name}: ${values[name]} is no number above 0`);
    }
    if (values.stack !== undefined) {
      if (!existsSync(values.stack))
        throw new UsageError(this.usage, `no stack is running: ${values.stack} is not there`);
      return bench(JSON.parse(readFileSync(values.stack, "utf8")) as Stack, values, chosen);
    }
    await inTemporaryState("bench", async (stateDir) => {
      const { stack, stop } = await startOwnStack(stateDir);
      try {
        await bench(stack, values, chosen);
      } finally {
        await stop();
      }
    });
  },
});

await runCommand("npm run bench --", [benchCommand], reportFailure);
process.exit();
