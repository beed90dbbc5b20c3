import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { adminEnvironment } from "@countersign/local-stack/admin-environment.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startExtraSigner } from "../e2e/extra-signer.ts";
import { chain, signUpPerson, stack, tokenOf } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";
import { BY_PAGE, SUBSTITUTES } from "./how-blocks-run.ts";

const PAGES = Object.entries(BY_PAGE).flatMap(([page, { sh }]) =>
  sh === "tests/docs/operators.test.ts" ? [page] : [],
);
/** Pages whose block needs more than one run of its lines. */
const OWN_TESTS = ["configuration", "policy"];

const directory = mkdtempSync(join(tmpdir(), "countersign-operators-"));
const stackFile = join(directory, "stack.json");
const bin = join(directory, "bin");
const logOf = (name: string) => readFileSync(resolve(root, stack.stateDir, "log", `${name}.log`), "utf8");
/** The placeholders of the pages, and what they are here. */
let places: readonly (readonly [documented: string, here: string])[];

beforeAll(async () => {
  writeFileSync(stackFile, JSON.stringify(stack));
  mkdirSync(bin);
  const command = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text} "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const program = join(import.meta.dirname, "substitutes.ts");
  for (const name of Object.keys(SUBSTITUTES)) command(name, `exec ${process.execPath} ${program} ${name}`);
  command("countersign", `exec ${process.execPath} ${join(root, "admin/src/cli.ts")}`);

  const { client } = await signUpPerson();
  const answer = await fetch(`${stack.gateway}/account/v1/me`, {
    headers: { authorization: `Bearer ${tokenOf({ client })}` },
  });
  const requestId = answer.headers.get("x-request-id")!;
  await vi.waitFor(() => expect(logOf("gateway")).toContain(requestId), { timeout: 10_000 });
  const line = logOf("gateway")
    .split("\n")
    .find((each) => each.includes(requestId))!;
  places = [
    ["9f2c1e7a…", JSON.parse(line).traceId],
    ["<release>", "countersign"],
    ["<pod>:6001/metrics", new URL(stack.processes.auth!.metrics!).host.concat("/metrics")],
    ["<pod>", "countersign-auth-0"],
    ["<name>", "countersign-auth-tls"],
    ["<file>", resolve(root, stack.tls.clients.operator!.cert)],
    ["<address>", chain.paymaster],
    ["<durable>", "auth-device-removed"],
    ["<subject>", "cs.v1.account.*.account-deployed"],
    // As in every id of an event, a UUID of version 7.
    ["<eventId>", "[0-9a-f]-7"],
    ["--from-file=…", "--from-file=token-key-encryption.key"],
    [".local/stack.json", stackFile],
    ["node_modules/.bin/node", process.execPath],
  ];
  // The audit's public key, and the file of checkpoints beside it, as docs/audit.md has them made.
  const keystore = resolve(root, stack.stateDir, "keys/signer-keystore");
  const exported = execFileSync(process.execPath, ["services/signer/src/cli.ts", "keys", "export-public"], {
    cwd: root,
    env: { SIGNER_KEYSTORE_FILE: `${keystore}.json`, SIGNER_KEYSTORE_PASSPHRASE_FILE: `${keystore}.passphrase` },
  });
  writeFileSync(join(directory, "audit-public.json"), exported);
  copyFileSync(resolve(root, stack.stateDir, "audit/signer.checkpoints"), join(directory, "signer.checkpoints"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a line with bash; returns its output. */
function runLine(line: string, pipefail: boolean): Promise<{ code: number | null; out: string; err: string }> {
  const databases = Object.entries(stack.databases).map(([name, url]) => [`${name.toUpperCase()}_DATABASE_URL`, url]);
  const env = {
    ...process.env,
    ...Object.fromEntries(databases),
    ...adminEnvironment(stack, "ada"),
    STACK_FILE: stackFile,
    PATH: `${bin}:${process.env.PATH}`,
  };
  const child = spawn("bash", ["-eu", ...(pipefail ? ["-o", "pipefail"] : []), "-c", line], { cwd: directory, env });
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (printed.out += chunk));
  child.stderr.on("data", (chunk) => (printed.err += chunk));
  return new Promise((fulfill, reject) => {
    child.on("error", reject);
    child.on("close", (code) => fulfill({ code, ...printed }));
  });
}

/** The texts that a line's grep looks for. */
function patternsOf(line: string): string[] {
  const [, quoted, plain] = / grep (?:-E )?(?:'([^']*)'|(\S+))/.exec(line) ?? [];
  return quoted === undefined ? [plain ?? ""].filter(Boolean) : quoted.split(/(?<!\()\|(?![^(]*\))/);
}

/** Whether a pattern looks for something that a process can write. */
function canBeFound(pattern: string, log: string): boolean {
  // Levels: as a line of the log has them.
  if (pattern.startsWith('"level":')) return /^\{"level":"info"/m.test(log);
  const sources = ["--", "services", "gateway", "packages"];
  return execFileSync("git", ["grep", "-lF", pattern, ...sources], { cwd: root, encoding: "utf8" }) !== "";
}

const linesOf = (page: string): string[] => {
  const text = blocksOf(page)
    .filter(({ language }) => language === "sh")
    .map((block) => block.text)
    .join("\n");
  const here = places.reduce((replaced, [documented, value]) => replaced.replaceAll(documented, value), text);
  return here
    .split("\n")
    .flatMap((line) => line.split(/; (?=kubectl)/))
    .filter((line) => !/^\s*(#|$)/.test(line));
};

it.each(PAGES.filter((page) => !OWN_TESTS.includes(page)))("the commands of docs/%s.md run", async (page) => {
  for (const template of linesOf(page)) {
    const lines = template.includes("<service>")
      ? ["auth", "account"].map((name) => template.replace("<service>", name))
      : [template];
    for (const line of lines) {
      const searches = / grep /.test(line);
      // Relative paths of programs are those of the checkout.
      const { code, out, err } = await runLine(line.replaceAll(/\b(services\/\S+\.ts)/g, join(root, "$1")), !searches);
      expect(err, line).toBe("");
      expect(searches ? [0, 1] : [0], `${line}\n${out}`).toContain(code);
      if (searches && code === 1) {
        for (const pattern of patternsOf(line))
          expect(canBeFound(pattern, logOf("auth")), `${line}: ${pattern}`).toBe(true);
      }
    }
  }
});

it("docs/logs.md finds the lines of one request, and docs/rotation.md the metrics that it shows", async () => {
  const [logs] = linesOf("logs");
  const { out } = await runLine(logs!, true);
  expect(out).toContain('"route":"/account/v1/me"');
  const metrics = linesOf("rotation").find((line) => line.startsWith("curl"))!;
  const shown = blocksOf("rotation")[0]!.text.match(/(?<=^# )\w+\{[^}]*\}/gm)!;
  const printed = (await runLine(metrics, true)).out;
  for (const series of shown) expect(printed).toContain(series.replace("}", ""));
});

it("docs/configuration.md starts a signer with its settings", async () => {
  const running = readFileSync(`/proc/${stack.processes.signer!.pid}/environ`, "utf8").split("\0");
  const [grpc, admin] = await freePorts(2);
  const secret = join(directory, "signer-database");
  writeFileSync(secret, stack.databases.signer!, { mode: 0o600 });
  const [block] = blocksOf("configuration").filter(({ language }) => language === "sh");
  const command = block!.text.replace("/run/secrets/signer-database", secret).replace(" …", "");
  const env = {
    ...Object.fromEntries(
      running.filter((line) => line && !line.startsWith("SIGNER_DATABASE_URL")).map((line) => line.split(/=(.*)/s)),
    ),
    SIGNER_LISTEN: `127.0.0.1:${grpc}`,
    SIGNER_ADMIN_LISTEN: `127.0.0.1:${admin}`,
    SIGNER_AUDIT_CHECKPOINT_FILE: join(directory, "own.checkpoints"),
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  };
  const child = spawn("bash", ["-euc", command.replace("node ", "exec node ")], { cwd: root, env, stdio: "ignore" });
  try {
    const startupz = `http://127.0.0.1:${admin}/startupz`;
    await vi.waitFor(async () => expect((await fetch(startupz)).status).toBe(200), { timeout: 60_000, interval: 100 });
  } finally {
    child.kill("SIGTERM");
  }
});

it("docs/policy.md hashes a script, and has a signer with a policy file read it", async () => {
  const [block] = blocksOf("policy").filter(({ language }) => language === "sh");
  writeFileSync(join(directory, "script.cdc"), "transaction {}");
  const policy = join(directory, "policy.json");
  copyFileSync(join(root, "deploy/policy.example.json"), policy);
  const signer = await startExtraSigner({ SIGNER_POLICY_FILE: policy });
  try {
    const { code, out } = await runLine(block!.text.replace("<pid of the signer>", String(signer.child.pid)), true);
    expect(code).toBe(0);
    expect(out).toMatch(/^[0-9a-f]{64} {2}script\.cdc\n$/);
    // A process that does not handle the signal would be gone.
    expect(await signer.metrics()).toContain('file="policy"');
  } finally {
    await signer.stop();
  }
});

it("the Dockerfile of docs/images.md begins with an image of this repository and ends with its user", () => {
  const [block] = blocksOf("images").filter(({ language }) => language === "dockerfile");
  const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
  const [, image] = /^FROM countersign\/(\S+)$/m.exec(block!.text)!;
  expect(dockerfile).toMatch(new RegExp(`^FROM .+ AS ${image}$`, "m"));
  expect(dockerfile).toContain(/^USER \d+:\d+$/m.exec(block!.text)![0]);
});
