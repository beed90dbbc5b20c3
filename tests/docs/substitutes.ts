import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { root } from "@countersign/build/paths.ts";
import { createAccessApi } from "@countersign/flow";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { connect } from "nats";
import pg from "pg";
import { parse } from "yaml";

/*
 * `substitutes.ts <command> <argument>…` answers as the operator's command does, about a running stack: a
 * cluster and the programs of others are not on every machine. It refuses each name, label and option that
 * the chart, the stack or the checkout does not have.
 */

const stack: Stack = JSON.parse(readFileSync(process.env.STACK_FILE!, "utf8"));
const read = (path: string) => readFileSync(resolve(root, path), "utf8");
const CHART = "deploy/helm/countersign";
const components = Object.keys(parse(read(`${CHART}/components.yaml`)));
const refuse = (why: string): never => {
  throw new Error(`refused: ${why}`);
};

/** The pod or pods that a label, or a name such as `countersign-auth-0`, means. */
function componentsOf(args: readonly string[]): string[] {
  const selector = args[args.indexOf("-l") + 1];
  if (!args.includes("-l")) {
    const name = args.find((arg) => arg.startsWith("countersign-"));
    return [components.find((each) => name?.startsWith(`countersign-${each}-`)) ?? refuse(`no pod ${name}`)];
  }
  const [label = "", value = ""] = selector!.split("=");
  if (!read(`${CHART}/templates/_helpers.tpl`).includes(`${label}:`)) refuse(`the chart sets no label ${label}`);
  if (label === "app.kubernetes.io/instance" && value === "countersign") return components;
  return components.includes(value) ? [value] : refuse(`the chart has no component ${value}`);
}

async function kubectl([verb, ...args]: readonly string[]): Promise<string> {
  const known =
    /^(-l|-o|-f|-|wide|yaml|--prefix|--previous|--since=\d+[mh]|--tail=-1|--dry-run=client|--from-file=\S+)$/;
  for (const arg of args.filter((each) => each.startsWith("-"))) if (!known.test(arg)) refuse(`kubectl ${verb} ${arg}`);
  const logOf = (name: string) => readFileSync(resolve(root, stack.stateDir, "log", `${name}.log`), "utf8");
  switch ([verb, args[0]?.startsWith("-") ? "" : args[0]].join(" ").trim()) {
    case "get pods":
      return componentsOf(args).join("\n");
    case "get certificates":
    case "describe certificate":
      return (
        /^kind: Certificate$/m.exec(read(`${CHART}/templates/certificates.yaml`))?.[0] ?? refuse("no certificates")
      );
    case "get secret": {
      const [, secret = "", , path = ""] = args;
      const file = /^jsonpath=\{\.data\.(.+)\}$/.exec(path)?.[1]?.replaceAll("\\.", ".");
      const described = new RegExp(`\`${secret}\` \\|.*\`${file}\``);
      if (!described.test(read(`${CHART}/README.md`))) refuse(`the chart needs no ${file} in ${secret}`);
      return readFileSync(resolve(root, stack.stateDir, "keys", `auth-${file}`)).toString("base64");
    }
    case "create secret": {
      const secrets: string[] = Object.values(parse(read(`${CHART}/values.yaml`)).secrets);
      if (!secrets.includes(args[2]!)) refuse(`the chart reads no secret ${args[2]}`);
      return "apiVersion: v1\nkind: Secret\n";
    }
    case "apply":
      return /^kind: Secret$/m.test(await text(process.stdin)) ? "secret configured" : refuse("no Secret to apply");
    default:
      if (verb === "describe" && args[0] === "pod") return componentsOf(args).join();
      // With a selector, kubectl shows ten lines of each pod unless it is asked for all.
      if (verb === "logs" && args.includes("-l") && !args.includes("--tail=-1")) return refuse("the last ten lines");
      if (verb === "logs") return componentsOf(args).map(logOf).join("");
      return refuse(`kubectl ${verb} ${args.join(" ")}`);
  }
}

async function psql([url, option, query]: readonly string[]): Promise<string> {
  if (option !== "-c") refuse(`psql ${option}`);
  const client = new pg.Client({ connectionString: url! });
  await client.connect();
  const { rows, fields } = await client.query(query!).finally(() => client.end());
  return [fields.map(({ name }) => name).join(" | "), ...rows.map((row) => JSON.stringify(row))].join("\n");
}

/** As the operator, whose certificate may read the stream. */
async function nats(args: readonly string[]): Promise<string> {
  const { cert, key } = stack.tls.clients.operator!;
  const file = (path: string) => readFileSync(resolve(root, path), "utf8");
  const tls = { ca: file(stack.tls.ca), cert: file(cert), key: file(key) };
  const connection = await connect({ servers: stack.nats, tls });
  try {
    const manager = await connection.jetstreamManager();
    const [kind, verb, stream, ...rest] = args;
    if (kind === "stream" && verb === "info") return JSON.stringify((await manager.streams.info(stream!)).state);
    if (kind === "consumer" && verb === "info")
      return JSON.stringify((await manager.consumers.info(stream!, rest[0]!)).config);
    const last = (name: string, subject: string) => manager.streams.getMessage(name, { last_by_subj: subject });
    if (kind === "stream" && verb === "get" && rest[0] === "--last-for") {
      const { subject, seq, data } = await last(stream!, rest[1]!);
      if (rest[2] !== "--json") return subject;
      return JSON.stringify({ subject, seq, data: Buffer.from(data).toString("base64") });
    }
    // Compared with the stream's and not published: the operator may not, and it would come twice.
    if (kind === "pub" && args.slice(2).join(" ") === "--force-stdin --no-templates") {
      const { data } = await last("CS_EVENTS", verb!);
      if (readFileSync(0).equals(data)) return "";
    }
    return refuse(`nats ${args.join(" ")}`);
  } finally {
    await connection.close();
  }
}

async function flow(args: readonly string[]): Promise<string> {
  const [kind, verb, address = "", option, network = ""] = args;
  if (`${kind} ${verb} ${option}` !== "accounts get --network" || !/^(mainnet|testnet|emulator)$/.test(network))
    refuse(`flow ${args.join(" ")}`);
  const access = createAccessApi({ baseUrl: stack.chains[0]!.accessNode });
  return `Balance ${await access.balance(address.replace("0x", ""))}`;
}

/** `docker run` of an image's program: the same program of this checkout. */
function docker(args: readonly string[]): string {
  const [verb, remove, image, ...command] = args;
  if (`${verb} ${remove} ${image}` !== "run --rm countersign/service") refuse(`docker ${args.join(" ")}`);
  if (!/^FROM .* AS service$/m.test(read("deploy/Dockerfile"))) refuse(`no image ${image}`);
  return execFileSync(process.execPath, command, { cwd: root, encoding: "utf8" });
}

/** `npm run <script> -- …`: options as in the command's own help, and files that are there. */
function npm([verb, ...given]: readonly string[]): string {
  const [script = "", ...rest] = verb === "run" ? given : [verb!, ...given];
  const args = rest.filter((arg) => arg !== "--");
  if (JSON.parse(read("package.json")).scripts[script] === undefined) refuse(`no script ${script}`);
  if (script === "test") return vitestFiles(args);
  const node = (...command: string[]) => execFileSync(process.execPath, command, { cwd: root, encoding: "utf8" });
  const help = script === "bench" ? node("bench/src/main.ts", "--help") : node("dev/src/main.ts", script, "--help");
  for (const arg of args) {
    if (/^\d+(\.\d+)*$|^\.local\//.test(arg)) continue;
    const named = arg.includes("/") ? read(arg) !== "" : new RegExp(`[[|\\s]${arg}[\\]|\\s]`).test(help);
    if (!named) refuse(`${script} knows no ${arg}:\n${help}`);
  }
  return help;
}

/** The files that a test run would run; it must be some. */
function vitestFiles(args: readonly string[]): string {
  const faults = execFileSync("git", ["grep", "-h", "process.env.FAULT_", "--", "tests/faults"], { cwd: root });
  for (const name of Object.keys(process.env).filter((each) => each.startsWith("FAULT_"))) {
    if (!faults.toString().includes(`process.env.${name}`)) refuse(`no test reads ${name}`);
  }
  const vitest = ["node_modules/vitest/vitest.mjs", "list", "--filesOnly", ...args];
  const files = execFileSync(process.execPath, vitest, { cwd: root, encoding: "utf8" });
  return files.trim() === "" ? refuse(`no test for ${args.join(" ")}`) : files;
}

const commands: Record<string, (args: readonly string[]) => string | Promise<string>> = {
  ...{ docker, flow, kubectl, nats, npm, psql },
};
const [name = "", ...args] = process.argv.slice(2);
process.stdout.write(`${await commands[name]!(args)}\n`);
