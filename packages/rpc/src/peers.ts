import type { TokenScope } from "@countersign/core";
import { z } from "zod";
import { type BudgetRule, budgetRules } from "./budget-rules.ts";

const peerName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be a name such as demo-backend");

/**
 * `service`: no user token. `optional`: a full session's where one is sent; one that is refused counts as
 * none. `user`: a full session's. `ephemeral`: a full session's or an ephemeral one.
 */
const tokenMode = z.enum(["service", "optional", "user", "ephemeral"]);
const scope = z.enum(["full", "sign", "recover"]);

const rule = z
  .strictObject({
    callers: z.array(z.union([peerName, z.literal("*")])).min(1),
    token: tokenMode,
    /** Scopes beyond those of the mode. */
    scopes: z.array(scope).optional(),
  })
  .refine(({ token, scopes }) => token !== "service" || scopes === undefined, "scopes need a user token");

const backend = z.strictObject({
  apps: z.array(z.string().min(1)).min(1),
  /** The only accounts that it may ask for. Default: all users of its apps. */
  accounts: z.array(z.uuid()).min(1).optional(),
  /** Signatures that it may ask for, over all of its users and per replica of the signer. Default: as many as its users may. */
  signaturesPerMinute: z.int().positive().optional(),
  /** What its users may use through it, over all replicas; default: the policy's `budgets.backend`. */
  budgets: budgetRules.optional(),
});

/** Our own services that pass on what users of every app have signed. */
const SIGNS_FOR_ALL: readonly string[] = ["gateway", "account"];

const fileShape = z
  .strictObject({
    /** Everybody who has a certificate; without it, all callers of the table. */
    peers: z.array(peerName).optional(),
    /** DNS names outside of countersign.internal, and the peer that each stands for. */
    names: z.record(z.string().min(1), peerName).optional(),
    /** Backends besides our own services: they ask for users of their own apps only. */
    backends: z.record(peerName, backend).optional(),
    rpcs: z.record(
      z.string().regex(/^[a-z0-9_.]+\.v\d+[a-z0-9]*\.[A-Z]\w*\/([A-Z]\w*|\*)$/, "must be package.v1.Service/Method"),
      rule,
    ),
  })
  .superRefine(({ peers, backends, rpcs }, context) => {
    for (const name of Object.keys(backends ?? {})) {
      if (peers !== undefined && !peers.includes(name))
        context.addIssue({
          code: "custom",
          path: ["backends", name],
          message: `${name} is not one of the peers`,
        });
    }
    for (const [rpc, { callers }] of Object.entries(rpcs)) {
      // Wildcards are for what gives nothing away.
      const open = /^grpc\.(health|reflection)\./.test(rpc);
      if (!open && (callers.includes("*") || rpc.endsWith("/*"))) {
        context.addIssue({
          code: "custom",
          path: ["rpcs", rpc],
          message: "wildcards are for health and reflection only",
        });
      }
      for (const caller of callers) {
        // Whoever is not in the list of backends signs for users of every app.
        if (
          rpc.startsWith("signer.v1.Signing/") &&
          !SIGNS_FOR_ALL.includes(caller) &&
          !Object.hasOwn(backends ?? {}, caller)
        ) {
          context.addIssue({ code: "custom", path: ["rpcs", rpc], message: `${caller} is not one of the backends` });
        }
        if (caller !== "*" && peers !== undefined && !peers.includes(caller)) {
          context.addIssue({ code: "custom", path: ["rpcs", rpc], message: `${caller} is not one of the peers` });
        }
      }
    }
  });

export type TokenMode = z.output<typeof tokenMode>;

export interface PeerRule {
  callers: ReadonlySet<string>;
  token: TokenMode;
  /** Scopes that open it; empty for `service`. */
  scopes: ReadonlySet<TokenScope>;
}

export interface Backend {
  readonly apps: ReadonlySet<string>;
  readonly accounts?: ReadonlySet<string> | undefined;
  readonly signaturesPerMinute?: number | undefined;
  readonly budgets?: readonly BudgetRule[] | undefined;
}

/** Who may call what: the content of deploy/peers.json. Whatever is not listed is refused. */
export interface Peers {
  /** The row of "auth.v1.SignUp/SignUp", or of its service's wildcard. */
  rule(rpc: string): PeerRule | undefined;
  names: ReadonlyMap<string, string>;
  /** What a backend besides our own services may; undefined for the services. */
  backend(caller: string): Backend | undefined;
}

const scopesOf: Record<TokenMode, readonly TokenScope[]> = {
  service: [],
  optional: ["full"],
  user: ["full"],
  ephemeral: ["full", "sign"],
};

export type PeersFile = z.input<typeof fileShape>;

/** Validates a caller table. Errors: ZodError. */
export function parsePeers(value: unknown): Peers {
  return peersFile.parse(value);
}

/** The schema of deploy/peers.json; its output is the caller table. */
export const peersFile = fileShape.transform(peersOf);

function peersOf({ peers, names, backends, rpcs }: z.output<typeof fileShape>): Peers {
  const everybody = peers ?? Object.values(rpcs).flatMap(({ callers }) => callers.filter((caller) => caller !== "*"));
  const registered = new Map<string, Backend>(
    Object.entries(backends ?? {}).map(([name, { apps, accounts, ...each }]) => [
      name,
      { ...each, apps: new Set(apps), accounts: accounts && new Set(accounts) },
    ]),
  );
  const rules = new Map<string, PeerRule>();
  for (const [rpc, { callers, token, scopes }] of Object.entries(rpcs)) {
    rules.set(rpc, {
      callers: new Set(callers.includes("*") ? everybody : callers),
      token,
      scopes: new Set([...scopesOf[token], ...(scopes ?? [])]),
    });
  }
  return {
    rule: (rpc) => rules.get(rpc) ?? rules.get(rpc.replace(/\/.*$/, "/*")),
    names: new Map(Object.entries(names ?? {})),
    backend: (caller) => registered.get(caller),
  };
}
