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
export const BROWSER_PAGES: readonly string[] = ["web"];

/** The test or script that runs the other blocks of a page. */
export const BY_PAGE: Record<string, Record<string, string>> = {
  admin: { sh: "tests/e2e/admin-accounts.test.ts" },
  apps: { sh: "tests/e2e/local-app.test.ts" },
  api: { sh: "tests/docs/shell.test.ts" },
  audit: { sh: "tests/e2e/audit.test.ts" },
  "chain-watch": { sh: "tests/e2e/admin-accounts.test.ts" },
  compose: { sh: "dev/src/test-compose.ts" },
  "deep-links": { sh: "tests/docs/deep-links.test.ts" },
  "disaster-recovery": { sh: "tests/operations/disaster-recovery.test.ts" },
  "key-ceremony": { sh: "tests/e2e/key-ceremony.test.ts" },
  metrics: { sh: "tests/docs/shell.test.ts" },
  "other-backends": { sh: "tests/e2e/other-backend.test.ts" },
  parents: { sh: "tests/faults/hybrid-custody.test.ts" },
  privacy: { sh: "tests/e2e/person-data.test.ts" },
  "quick-start": { sh: "tests/docs/quick-start.test.ts" },
  tracing: { sh: "tests/e2e/tracing.test.ts" },
  "two-factor": { python: "tests/docs/data.test.ts" },
  upgrades: { sh: "tests/operations/upgrade.test.ts" },
  vaults: { sh: "tests/docs/shell.test.ts" },
  web: { html: "tests/docs/browser.test.ts" },
};

/**
 * Pages with blocks that nothing runs yet. Entries are removed and never added: a new block runs, or becomes
 * a sentence.
 */
export const NOT_YET: Record<string, readonly string[]> = {
  configuration: ["sh"],
  images: ["sh", "dockerfile"],
  "local-stack": ["sh"],
  logs: ["sh"],
  "mutation-testing": ["sh"],
  performance: ["sh"],
  policy: ["sh"],
  reliability: ["sh"],
  rotation: ["sh"],
  "runbooks/README": ["sh"],
  "runbooks/audit-alarm": ["sh"],
  "runbooks/balance-low": ["sh"],
  "runbooks/certificate-expires": ["sh"],
  "runbooks/chain-watch-behind": ["sh"],
  "runbooks/consumer-behind": ["sh"],
  "runbooks/consumer-drops-events": ["sh"],
  "runbooks/creation-queue-old": ["sh"],
  "runbooks/error-budget-burns-fast": ["sh"],
  "runbooks/file-refused": ["sh"],
  "runbooks/outbox-not-draining": ["sh"],
  "runbooks/outside-system-fails": ["sh"],
  "runbooks/service-absent": ["sh"],
  "runbooks/token-keys-unreadable": ["sh"],
  "runbooks/token-state-old": ["sh"],
  "runbooks/work-stuck": ["sh"],
};
