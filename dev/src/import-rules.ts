import type { IRegularForbiddenRuleType as Rule } from "dependency-cruiser";

/** Test code may use development dependencies and libraries that its service must not. */
const TESTS = ["\\.test\\.tsx?$", "/testing/"];
/** Declared in the root's package.json for all tests. */
const TEST_LIBRARIES = "^node_modules/(vitest|fast-check)/";
/** Nothing of these folders runs in production. */
const TOOLS = [...TESTS, "^(tests|bench|dev|packages/local-stack)/"];

type Folder = readonly [folder: string, folders: string, packages: string];

/**
 * The folders of a service's src: which others of the same src each may import, and which of our packages.
 * Each names folders above it only, so that no two depend on each other. Other files of src construct, and
 * may import all of it; a folder without a row may import nothing.
 */
export const SERVICE_FOLDERS: readonly Folder[] = [
  // The signer's own: its domain is in four folders, and only the vault has key material.
  ["vault", "", "core|keys|runtime"],
  ["budget", "", "core|flow|runtime"],
  ["policy", "budget", "core|flow|keys|runtime"],
  ["parser", "policy", "core|runtime"],
  ["audit", "vault|budget|policy", "core|keys|runtime"],

  ["domain", "vault|budget|policy|audit", "core|flow|keys"],

  // The device service's own: streams of events, pushes, notices, and places of addresses, webhooks.
  ["events", "", "core|events|proto|rpc|runtime"],
  ["push", "domain|events", "core|events|runtime"],
  ["notices", "domain|events|push", "core|events|proto|rpc|runtime"],
  ["location", "", "core|runtime"],
  ["webhooks", "events", "core|events|proto|rpc|runtime"],

  ["clients", "domain", "core|keys|proto|rpc|runtime"],
  ["config\\.ts", "domain|policy|clients|notices|webhooks", "keys|runtime|settings"],
  // Auth's own: token keys, and the endpoint that publishes them.
  ["http", "", "core|runtime"],
  ["tokens", "domain|config\\.ts|http", "access-tokens|core|keys|proto|runtime"],
  // The account service's own.
  ["chain", "domain", "core|flow|settings"],
  ["metrics\\.ts", "domain", "core|runtime"],
  ["to-proto\\.ts", "domain", "proto"],

  [
    "store",
    "domain|budget|policy|audit|tokens|push|notices|webhooks|to-proto\\.ts",
    "admin-actions|core|events|flow|keys|postgres|proto|rpc|runtime",
  ],
  ["jobs", "domain|config\\.ts|metrics\\.ts", "core|runtime"],
  ["subscribers", "domain", "core|events|rpc"],
  ["rpc", "domain|budget|policy|events|webhooks|to-proto\\.ts", "admin-actions|core|flow|keys|proto|rpc|settings"],
  [
    "commands",
    "vault|audit|domain|store|chain|clients|config\\.ts",
    "core|events|flow|keys|postgres|proto|rpc|runtime|settings",
  ],
];

export const GATEWAY_FOLDERS: readonly Folder[] = [
  ["clients", "", "core|proto|rpc|runtime"],
  ["http", "clients", "core|http-api|rpc|runtime"],
  ["chain-nodes", "http", "core|runtime"],
  ["routes", "http|clients\\.ts", "core|http-api|keys|proto|rpc"],
];

/** Files outside a service that import its inside: who, what, and why. */
const INSIDERS: readonly [name: string, from: string, to: string, why: string][] = [
  [
    "models",
    "^tests/models/",
    "^services/(auth/src/domain/freeze|device/src/domain/devices|key/src/domain|signer/src/policy)/",
    "The models explore the production rules themselves.",
  ],
  [
    "keystore",
    "^tests/(e2e/by-hand|security/key-material\\.test|faults/(server-keys|key-rotation\\.test))\\.ts$",
    "^services/signer/src/vault/index\\.ts$",
    "They look for secrets in logs, and sign what the signer refuses, as the keystore's owner could.",
  ],
  [
    "names",
    "^tests/e2e/names\\.test\\.ts$",
    "^services/account/src/chain/flow-names\\.ts$",
    "Runs the scripts of the name services on the emulator's chain.",
  ],
  [
    "answers",
    "^tests/answers/",
    "^gateway/src/(openapi|routes/index)\\.ts$",
    "Compares what the gateways answered with the document that they publish.",
  ],
  [
    "compose",
    "^packages/local-stack/src/compose/compose-check\\.test\\.ts$",
    "^(services/[^/]+|gateway)/src/config\\.ts$",
    "Loads the settings of docker-compose.yml as the services do.",
  ],
  [
    "bench",
    "^bench/src/audit-(off/signer|verify)\\.ts$",
    "^services/signer/src/(start-signer\\.ts$|audit/)",
    "Measures the audit log, also with a signer that keeps no records.",
  ],
  [
    "year",
    "^bench/src/simulate-year\\.ts$",
    "^services/signer/src/(store|audit)/",
    "Writes a year of traffic, also through the audit log.",
  ],
  [
    "year-jobs",
    "^bench/src/year-jobs\\.ts$",
    "^services/([^/]+/src/(store|jobs)/|auth/src/tokens/token-keys\\.|key/src/domain/emit-unregistered-keys\\.)",
    "Runs the periodic jobs of the services.",
  ],
  [
    "citus",
    "^dev/src/citus/(explain|latency|race)\\.ts$",
    "^services/[^/]+/src/(store|tokens|domain/sessions)/",
    "Runs statements of the services on a database of several nodes.",
  ],
];

const forbid = (name: string, comment: string, from: Rule["from"], to: Rule["to"]): Rule => ({
  name,
  comment,
  severity: "error",
  from,
  to,
});

const rulesOf = (area: string, src: string, rows: readonly Folder[]): Rule[] =>
  rows.map(([folder, folders, packages]) =>
    forbid(
      `${area}/${folder.replace("\\", "")}`,
      `May import its own files, ${folders || "no other folder"}, and of our packages ${packages}.`,
      { path: `^(${src})/src/${folder}(/|$)`, pathNot: TESTS },
      {
        path: ["^(services/[^/]+|gateway)/src/", "^node_modules/@countersign/"],
        pathNot: [`^$1/src/(${[folder, folders].filter(Boolean).join("|")})(/|$)`, `/@countersign/(${packages})/`],
      },
    ),
  );

const SERVICE = "^(services/[^/]+|gateway|node_modules/@countersign/(auth|device|key|account|signer|gateway))/";

/** dependency-cruiser's rules. Paths are regular expressions; `$1` in `to` is the first group of `from`. */
export const forbidden: Rule[] = [
  forbid("no-cycles", "Files import each other in one direction.", {}, { circular: true }),
  forbid(
    "declared",
    "Every package is in the nearest package.json; what all tests use is in the root's.",
    // All are installed outside of the workspace.
    {
      pathNot: [
        "^examples/",
        "^bench/peers/better-auth/",
        "^tests/api/clients/",
        "^tests/packages/(app/|metro\\.mjs$)",
      ],
    },
    {
      dependencyTypes: ["npm-no-pkg", "npm-unknown", "unknown"],
      pathNot: TEST_LIBRARIES,
    },
  ),
  forbid(
    "declared-for-production",
    "Development dependencies are not installed in production.",
    { path: "^(packages|services|gateway|admin)/", pathNot: TOOLS },
    // A peer dependency: the app brings it.
    { dependencyTypes: ["npm-dev"], pathNot: "^node_modules/react/" },
  ),
  forbid(
    "by-package-name",
    "A package's inside is its own: import what it exports.",
    { path: "^(packages/[^/]+|[^/]+)/" },
    { path: "^(packages/[^/]+|proto)/", pathNot: "^$1/" },
  ),
  forbid(
    "no-tools",
    "dev, tests, bench, examples and apps have nothing that others share.",
    { path: "^([^/]+)/" },
    { path: ["^(dev|tests|bench|examples|apps)/", "/@countersign/(dev|tests|bench|wallet)/"], pathNot: "^$1/" },
  ),
  forbid(
    "no-test-code",
    "Production runs no test code.",
    { path: "^(packages|services|gateway|admin|examples|apps)/", pathNot: TOOLS },
    { path: [...TESTS, TEST_LIBRARIES] },
  ),
  forbid("other-service", "Services talk over gRPC and events.", { path: SERVICE }, { path: SERVICE, pathNot: "^$1/" }),
  forbid(
    "inside-of-service",
    "Nobody else imports a service; tests may import its testing folders.",
    { pathNot: [SERVICE, ...INSIDERS.map(([, from]) => from)] },
    { path: SERVICE, pathNot: "/testing/" },
  ),
  ...INSIDERS.map(([name, from, to, why]) =>
    forbid(`inside-of-service/${name}`, why, { path: from }, { path: SERVICE, pathNot: [to, "/testing/"] }),
  ),
  forbid(
    "key-material",
    "The vault's index is the only way to private keys.",
    { pathNot: "^services/signer/src/vault/" },
    { path: "^services/signer/src/vault/", pathNot: "/index\\.ts$" },
  ),
  forbid(
    "postgres-connections",
    "packages/postgres gives every wait a time limit.",
    { pathNot: [...TOOLS, "^packages/(postgres|migrations)/"] },
    { path: "node_modules/(pg|@prisma/adapter-pg)/" },
  ),
  forbid(
    "grpc",
    "packages/rpc gives every call a deadline, a certificate and its errors.",
    { pathNot: [...TOOLS, "^packages/rpc/"] },
    { path: "node_modules/@grpc/" },
  ),
  forbid(
    "nats",
    "packages/events keeps the connection and knows the streams.",
    { pathNot: [...TOOLS, "^packages/events/"] },
    { path: "node_modules/nats/" },
  ),
  forbid(
    "domain-libraries",
    "The domain is rules: no input, output, parsing, logs, metrics or caches. node:crypto only computes.",
    { path: "^services/[^/]+/src/domain/", pathNot: TESTS },
    { pathNot: ["^services/[^/]+/src/", "^node_modules/@countersign/", "^crypto$"] },
  ),
  forbid(
    "signer-rules",
    "The signer's rules compute, as a domain does; zod reads what operators write.",
    {
      path: "^services/signer/src/(policy|budget)/",
      // They load, watch and count; and what one script says never changes, so known-scripts.ts may cache it.
      pathNot: [...TESTS, "/(start-policies|budget-metrics|known-scripts)\\.ts$"],
    },
    { pathNot: ["^services/signer/src/", "/@countersign/(core|flow|keys)/", "^node_modules/zod/", "^crypto$"] },
  ),
  ...rulesOf("service", "services/[^/]+", SERVICE_FOLDERS),
  ...rulesOf("gateway", "gateway", GATEWAY_FOLDERS),
  forbid(
    "unlisted-folder",
    "Every folder of a service has a row in dev/src/import-rules.ts.",
    {
      path: "^(services/[^/]+|gateway)/src/[^/]+/",
      pathNot: [
        ...TESTS,
        ...[...SERVICE_FOLDERS, ...GATEWAY_FOLDERS].map(([folder]) => `/src/${folder}/`),
        "/generated/",
      ],
    },
    {},
  ),
  forbid(
    "apps",
    "Apps use what app developers install, and libraries of the browser; nothing of Node.",
    { path: "^apps/[^/]+/src/" },
    {
      path: ["^(services|gateway|admin|packages|proto)/", "^node_modules/@countersign/"],
      pathNot: "/@countersign/(client|fcl|flow|keys|react)/",
    },
  ),
  forbid("apps-in-browsers", "Apps run in browsers.", { path: "^apps/[^/]+/src/" }, { dependencyTypes: ["core"] }),
  forbid(
    "examples",
    "Examples use what app developers install.",
    { path: "^examples/" },
    {
      pathNot: [
        "^examples/",
        "/@countersign/(client|flow|keys|react-native)/",
        "^(crypto|fs)$",
        // Of the Expo app, which is installed outside of this repository.
        "^expo",
        "^(node_modules/)?react(/index.js|-native)?$",
        "^@sbaiahmed1/react-native-biometrics$",
      ],
    },
  ),
];
