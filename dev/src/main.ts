import { reportFailure } from "@countersign/build/fail.ts";
import { type Command, command, runCommand } from "@countersign/runtime/command.ts";

const stateDir = { "state-dir": { type: "string" } } as const;
const onOwnTools = {
  keep: { type: "boolean", default: false },
  "host-tools": { type: "boolean", default: false },
} as const;

/** Returns a command that passes its arguments on to the program that it runs. */
const passingOn = (usage: string, about: string, run: (args: string[]) => Promise<number>): Command => ({
  usage,
  about,
  run: ({ args }) => run([...args]),
});

const suite = (name: string, about: string, run: (args: string[]) => Promise<number>): Command =>
  passingOn(`${name} -- [argument of vitest]…`, about, run);

const commands: Command[] = [
  command({
    usage: "start -- [--app <origin or redirect URI>]… [--free-ports] [--state-dir <folder>]",
    about: "Runs the whole stack on this machine until it is stopped by Ctrl-C. --app registers your own app.",
    options: {
      ...stateDir,
      "free-ports": { type: "boolean", default: false },
      app: { type: "string", multiple: true },
    },
    run: async ({ values }) => (await import("./start.ts")).start(values),
  }),
  command({
    usage: "demo -- [--state-dir <folder>]",
    about: "Plays a phone against the running stack.",
    options: stateDir,
    run: async ({ values }) => (await import("./demo.ts")).demo(values["state-dir"]),
  }),
  passingOn(
    "countersign -- <command>",
    "Runs the administrator's command against the running stack, as ada or as CS_ADMIN_PERSON says.",
    async (args) => (await import("./countersign.ts")).countersign(args),
  ),
  command({
    usage: "reset -- [--state-dir <folder>]",
    about: "Deletes accounts, chain, keys and certificates of the local stack. Tools stay built.",
    options: stateDir,
    run: async ({ values }) => (await import("./reset.ts")).reset(values["state-dir"]),
  }),
  suite("test", "Prepares what tests need, then runs vitest.", async (args) => (await import("./test.ts")).test(args)),
  suite(
    "test:operations",
    "Upgrades, rotations and restores: the tests that take longer than `npm test` may.",
    async (args) => (await import("./test-operations.ts")).testOperations(args),
  ),
  suite("test:wallet", "The wallet in Chromium against the real stack; makes the README's screenshots.", async (args) =>
    (await import("./test.ts")).runProject("wallet", args, { CS_TEST_WALLET: "1" }),
  ),
  suite(
    "test:packages",
    "Builds and packs the packages for app developers, installs them in an empty folder, and uses them there.",
    async (args) => (await import("./packages/test-packages.ts")).testPackages(args),
  ),
  suite(
    "test:docs",
    "Builds the documentation and looks at it in Chromium; runs the code blocks of its pages.",
    async (args) => (await import("./docs/docs.ts")).testDocs(args),
  ),
  command({
    usage: "build:packages -- [--out <folder>]",
    about: "Builds and packs the packages that app developers install, into dist/ by default.",
    options: { out: { type: "string", default: "dist" } },
    run: async ({ values }) => (await import("./packages/build-packages.ts")).buildPackages(values.out),
  }),
  command({
    usage: "build:clients -- [--document <URL or file>]",
    about: "Generates the Kotlin and Swift code of the API from a gateway's OpenAPI document; needs Java and Maven.",
    options: { document: { type: "string", default: "http://localhost:8080/openapi.json" } },
    run: async ({ values }) => (await import("./native/test-native.ts")).buildClients(values.document),
  }),
  suite(
    "test:native",
    "Builds the Kotlin and the Swift client, and runs their tests, also against a stack.",
    async (args) => (await import("./native/test-native.ts")).testNative(args),
  ),
  suite(
    "test:api",
    "Validates the OpenAPI document, sends requests made from it, and uses generated clients.",
    async (args) => (await import("./test-api.ts")).testApi(args),
  ),
  passingOn("bench -- [argument of the benchmark]…", "Prepares the stack, then runs the benchmark.", async (args) =>
    (await import("./bench.ts")).bench(args),
  ),
  passingOn(
    "citus -- build | start | test | race | seed | latency | explain | kill-node",
    "Builds Citus, and runs the databases on a coordinator and two workers.",
    async (args) => (await import("./citus/command.ts")).citus(args),
  ),
  passingOn(
    "simulate-year -- [--accounts <n>] [--starts <n>]",
    "Runs the periodic jobs on a year of traffic.",
    async (args) => (await import("./bench.ts")).simulateYear(args),
  ),
  command({
    usage: "mutate -- [folder or file]…",
    about: "Changes one expression after the other and prints the changes that no unit test notices.",
    options: {},
    positionals: true,
    run: async ({ positionals }) => (await import("./mutate.ts")).mutate(positionals),
  }),
  command({
    usage: "images -- [--tag <tag>] [--unpinned] [image]… | [--check] | [--pin]",
    about: "Builds the container images; --check compares two builds, --pin writes the digests of the base images.",
    options: {
      tag: { type: "string", default: "latest" },
      unpinned: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      pin: { type: "boolean", default: false },
    },
    positionals: true,
    run: async ({ values, positionals }) => (await import("./images.ts")).images(values, positionals),
  }),
  command({
    usage: "test:compose -- [--keep] [--host-tools]",
    about: "Runs docker-compose.yml on a Docker engine and lets every container crash.",
    options: onOwnTools,
    run: async ({ values }) => (await import("./test-compose.ts")).testCompose(values),
  }),
  command({
    usage: "check",
    about: "Checks types, lint, import rules, words, links and contracts.",
    options: {},
    run: async () => (await import("./check.ts")).check(),
  }),
  command({
    usage: "check:deploy -- [--write]",
    about: "Checks the Helm chart; with --write, writes the table of values in its README.",
    options: { write: { type: "boolean", default: false } },
    run: async ({ values }) => (await import("./check-deploy.ts")).checkDeploy(values.write),
  }),
  command({
    usage: "test:kubernetes -- [--keep] [--host-tools] [word of a step]…",
    about: "Installs the chart into a real cluster on this machine (as root) and tests it there.",
    options: onOwnTools,
    positionals: true,
    run: async ({ values, positionals }) => (await import("./kubernetes/test.ts")).testKubernetes(values, positionals),
  }),
  command({
    usage: "docs -- [--port <n>] [--watch] | [--write]",
    about: "Builds the documentation and serves it on this machine; --write writes docs/errors.md.",
    options: {
      port: { type: "string", default: "8095" },
      watch: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
    run: async ({ values }) => (await import("./docs/docs.ts")).docs(values),
  }),
  command({
    usage: "generate",
    about: "Generates the code of proto/ and of the database schemas.",
    options: {},
    async run() {
      const made = await (await import("@countersign/build/generate.ts")).generate();
      console.log(made.length > 0 ? `generated: ${made.join(", ")}` : "generated code is up to date");
    },
  }),
];

await runCommand("npm run", commands, reportFailure);
// Connections that are kept alive must not keep a finished command alive.
process.exit();
