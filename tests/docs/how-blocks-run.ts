/** How the blocks of a language run on every page. */
export const BY_LANGUAGE: Record<string, string> = {
  // Pictures, HTTP messages and outputs are no code.
  "": "not code",
  text: "not code",
  mermaid: "tests/docs/site.test.ts",
  json: "tests/docs/data.test.ts",
  sql: "tests/docs/sql.test.ts",
  promql: "tests/deploy/monitoring.test.ts",
  ts: "tests/docs/programs.test.ts",
};

/** Pages whose programs run in Chromium: tests/docs/browser.test.ts. */
export const BROWSER_PAGES: readonly string[] = ["fcl", "web"];

/**
 * Pages for phones: tests/docs/react-native.test.ts calls their functions, tests/packages/expo.test.ts checks
 * their types.
 */
export const PHONE_PAGES: readonly string[] = ["react-native"];

const BROWSER = "tests/docs/browser.test.ts";
const OPERATORS = "tests/docs/operators.test.ts";

/** The test or script that runs the other blocks of a page. */
export const BY_PAGE: Record<string, Record<string, string>> = {
  admin: { sh: "tests/e2e/admin-accounts.test.ts" },
  api: { sh: "tests/docs/shell.test.ts" },
  apps: { sh: "tests/docs/start.test.ts" },
  audit: { sh: "tests/e2e/audit.test.ts" },
  "chain-watch": { sh: "tests/e2e/admin-accounts.test.ts" },
  compose: { sh: "dev/src/test-compose.ts" },
  configuration: { sh: OPERATORS },
  "deep-links": { sh: "tests/docs/deep-links.test.ts" },
  "disaster-recovery": { sh: "tests/operations/disaster-recovery.test.ts" },
  fcl: { html: BROWSER, sh: BROWSER, typescript: BROWSER },
  images: { sh: OPERATORS, dockerfile: OPERATORS },
  "key-ceremony": { sh: "tests/e2e/key-ceremony.test.ts" },
  "local-stack": { sh: "tests/docs/start.test.ts" },
  logs: { sh: OPERATORS },
  metrics: { sh: "tests/docs/shell.test.ts" },
  "mutation-testing": { sh: OPERATORS },
  native: {
    kotlin: "tests/native/kotlin.test.ts",
    sh: "tests/native/kotlin.test.ts",
    swift: "tests/native/swift.test.ts",
  },
  "other-backends": { sh: "tests/e2e/other-backend.test.ts" },
  parents: { sh: "tests/faults/hybrid-custody.test.ts" },
  performance: { sh: OPERATORS },
  policy: { sh: OPERATORS },
  privacy: { sh: "tests/e2e/person-data.test.ts" },
  "react-native": { sh: "tests/docs/react-native.test.ts", typescript: "tests/docs/react-native.test.ts" },
  "quick-start": { sh: "tests/docs/quick-start.test.ts" },
  reliability: { sh: OPERATORS },
  rotation: { sh: OPERATORS },
  "runbooks/README": { sh: OPERATORS },
  "runbooks/audit-alarm": { sh: OPERATORS },
  "runbooks/balance-low": { sh: OPERATORS },
  "runbooks/certificate-expires": { sh: OPERATORS },
  "runbooks/chain-watch-behind": { sh: OPERATORS },
  "runbooks/consumer-behind": { sh: OPERATORS },
  "runbooks/consumer-drops-events": { sh: OPERATORS },
  "runbooks/creation-queue-old": { sh: OPERATORS },
  "runbooks/error-budget-burns-fast": { sh: OPERATORS },
  "runbooks/file-refused": { sh: OPERATORS },
  "runbooks/outbox-not-draining": { sh: OPERATORS },
  "runbooks/outside-system-fails": { sh: OPERATORS },
  "runbooks/service-absent": { sh: OPERATORS },
  "runbooks/token-keys-unreadable": { sh: OPERATORS },
  "runbooks/token-state-old": { sh: OPERATORS },
  "runbooks/webhook-endpoint-fails": { sh: OPERATORS },
  "runbooks/work-stuck": { sh: OPERATORS },
  tracing: { sh: "tests/e2e/tracing.test.ts" },
  "two-factor": { python: "tests/docs/data.test.ts" },
  upgrades: { sh: "tests/operations/upgrade.test.ts" },
  vaults: { sh: "tests/docs/shell.test.ts" },
  web: { html: BROWSER, sh: BROWSER, typescript: BROWSER },
  webhooks: { sh: "tests/e2e/webhooks.test.ts" },
};

/**
 * The commands of operators' blocks that tests/docs/substitutes.ts answers, with the reason why the real one
 * does not run. Everything else in those blocks runs as it is, on a real stack.
 */
export const SUBSTITUTES: Record<string, string> = {
  docker: "needs an engine and the built image; the program in it runs here",
  flow: "another project's program, which asks a public network; asks the emulator for the balance",
  kubectl: "needs a cluster; shows the logs, secrets and names that the stack and the chart have",
  nats: "another project's program; asks the stack's NATS for the same stream and consumer",
  npm: "runs take minutes; script, options, projects, variables and files are compared with what there is",
  psql: "a program of Postgres that is not on every machine; the query runs on the stack's database",
};

/** Blocks that are read and compared and do not run, with the reason. */
export const NOT_RUN: Record<string, Record<string, string>> = {
  images: { dockerfile: "needs an engine and packages of Debian; image and user are those of deploy/Dockerfile" },
};
