import { readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { filesBelow } from "@countersign/build/paths.ts";

interface Import {
  /** The importing file, relative to the root, with forward slashes. */
  from: string;
  /** What it names: a path relative to the root for relative imports, else the package. */
  target: string;
  relative: boolean;
}

interface Rule {
  why: string;
  broken(item: Import): boolean;
}

const transportsAndDatabases = /^(@grpc\/|@prisma\/|prisma$|nats$|pg$|express$|@countersign\/(events|proto\b.*grpc))/;

/** The service that a file belongs to, or undefined. */
function serviceOf(path: string): string | undefined {
  return /^services\/([^/]+)\//.exec(path)?.[1];
}

/** The service that an import names, by path or by package. */
function serviceNamed(item: Import): string | undefined {
  if (item.relative) return serviceOf(item.target);
  return /^@countersign\/(auth|device|key|account|signer)(\/|$)/.exec(item.target)?.[1];
}

const rules: Rule[] = [
  {
    why: "the domain imports no transport and no database",
    broken: ({ from, target, relative }) =>
      /^services\/[^/]+\/src\/domain\//.test(from) &&
      (relative
        ? /^services\/[^/]+\/src\/(rpc|store|clients|jobs|subscribers)\//.test(target)
        : transportsAndDatabases.test(target)),
  },
  {
    why: "the vault is entered by its index only, and from the signer only",
    broken: ({ from, target, relative }) =>
      relative &&
      target.startsWith("services/signer/src/vault/") &&
      !from.startsWith("services/signer/src/vault/") &&
      !(serviceOf(from) === "signer" && target === "services/signer/src/vault/index.ts"),
  },
  {
    why: "a service imports no other service",
    broken: (item) => {
      const named = serviceNamed(item);
      return /^(services|gateway)\//.test(item.from) && named !== undefined && named !== serviceOf(item.from);
    },
  },
  {
    why: "connections to Postgres are made by packages/postgres, which gives every wait a time limit",
    broken: ({ from, target, relative }) =>
      !relative &&
      /^(pg|@prisma\/adapter-pg)(\/|$)/.test(target) &&
      !/^packages\/(postgres|local-stack|migrations)\//.test(from) &&
      !/\.test\.ts$|\/testing\//.test(from),
  },
  {
    why: "packages import no service and no gateway",
    broken: (item) =>
      item.from.startsWith("packages/") &&
      (serviceNamed(item) !== undefined ||
        (item.relative ? /^gateway\//.test(item.target) : item.target === "@countersign/gateway")),
  },
];

/** Specifiers of static imports, re-exports and dynamic imports with a literal. */
function specifiers(source: string): string[] {
  const pattern =
    /(?:^|[;}\s])(?:import|export)\s(?:[^"';()]*?\sfrom\s*)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/g;
  return [...source.matchAll(pattern)].map((match) => (match[1] ?? match[2]) as string);
}

/** Which rules one file breaks, as lines to print. `from` is relative to the root. */
export function checkSource(from: string, source: string): string[] {
  return specifiers(source).flatMap((specifier) => {
    const relative = specifier.startsWith(".");
    const target = relative ? posix.normalize(posix.join(dirname(from), specifier)) : specifier;
    return rules
      .filter((rule) => rule.broken({ from, target, relative }))
      .map((rule) => `${from} imports ${specifier}: ${rule.why}`);
  });
}

/** Checks every source file below packages, services and gateway. Gives one line per violation. */
export function checkImports(root: string): string[] {
  return ["packages", "services", "gateway"].flatMap((area) =>
    filesBelow(join(root, area), (path) => path.endsWith(".ts") && !path.includes("/generated/")).flatMap((path) => {
      const from = `${area}/${path.replaceAll("\\", "/")}`;
      return checkSource(from, readFileSync(join(root, from), "utf8"));
    }),
  );
}
