import { SIGNS_FOR_ALL, type TokenScope } from "@countersign/core";
import { z } from "zod";

const peerName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be a name such as demo-backend");

/**
 * `service`: no user token. `optional`: a token of a full session if one is sent; a rejected one counts as
 * absent. `user`: a token of a full session. `ephemeral`: a token of a full session or an ephemeral one.
 */
const tokenMode = z.enum(["service", "optional", "user", "ephemeral"]);
const scope = z.enum(["full", "sign", "recover"]);

const rule = z
  .strictObject({
    callers: z.array(z.union([peerName, z.literal("*")])).min(1),
    token: tokenMode,
    /** Additional scopes beside those of the mode. */
    scopes: z.array(scope).optional(),
  })
  .refine(({ token, scopes }) => token !== "service" || scopes === undefined, "scopes need a user token");

const fileShape = z
  .strictObject({
    /** Every peer that has a certificate; without it, all callers of the table. */
    peers: z.array(peerName).optional(),
    /** DNS names outside of countersign.internal, and the peer that each belongs to. */
    names: z.record(z.string().min(1), peerName).optional(),
    /** SHA-256 of each certificate that is refused before it ends, as openssl's -fingerprint prints it. */
    revoked: z.array(z.string().regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/, "must be a SHA-256 fingerprint")).optional(),
    /** Backends beside our own services; the signer reads what each of them may do. */
    backends: z.record(peerName, z.unknown()).optional(),
    rpcs: z.record(
      z.string().regex(/^[a-z0-9_.]+\.v\d+[a-z0-9]*\.[A-Z]\w*\/([A-Z]\w*|\*)$/, "must be package.v1.Service/Method"),
      rule,
    ),
  })
  .superRefine(({ peers, backends, rpcs }, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    for (const name of Object.keys(backends ?? {})) {
      if (peers !== undefined && !peers.includes(name)) refuse(["backends", name], `${name} is not one of the peers`);
    }
    for (const [rpc, { callers }] of Object.entries(rpcs)) {
      // Wildcards are only for RPCs that reveal nothing.
      const open = /^grpc\.(health|reflection)\./.test(rpc);
      if (!open && (callers.includes("*") || rpc.endsWith("/*"))) {
        refuse(["rpcs", rpc], "wildcards are for health and reflection only");
      }
      const signs = /^signer\.v1\.(Signing|UserMessages)\//.test(rpc);
      for (const caller of callers) {
        // A caller that is not in the list of backends signs for users of every app.
        if (signs && !SIGNS_FOR_ALL.includes(caller) && !Object.hasOwn(backends ?? {}, caller)) {
          refuse(["rpcs", rpc], `${caller} is not one of the backends`);
        }
        if (caller !== "*" && peers !== undefined && !peers.includes(caller)) {
          refuse(["rpcs", rpc], `${caller} is not one of the peers`);
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

/**
 * The RPCs that each caller may use: the content of deploy/peers.json. An RPC that is not listed is rejected.
 */
export interface Peers {
  /** Returns the row of "auth.v1.SignUp/SignUp", or of its service's wildcard. */
  rule(rpc: string): PeerRule | undefined;
  names: ReadonlyMap<string, string>;
  /** SHA-256 fingerprints of refused certificates. */
  revoked: ReadonlySet<string>;
}

const scopesOf: Record<TokenMode, readonly TokenScope[]> = {
  service: [],
  optional: ["full"],
  user: ["full"],
  ephemeral: ["full", "sign"],
};

export type PeersFile = z.input<typeof fileShape>;

/** The schema of deploy/peers.json; its output is the caller table. */
export const peersFile = fileShape.transform(peersOf);

function peersOf({ peers, names, revoked, rpcs }: z.output<typeof fileShape>): Peers {
  const everybody = peers ?? Object.values(rpcs).flatMap(({ callers }) => callers.filter((caller) => caller !== "*"));
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
    revoked: new Set(revoked),
  };
}
