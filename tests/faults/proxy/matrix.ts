import { seededRandom } from "@countersign/local-stack/testing/seeded-random.ts";
import { DeployAccountRequest } from "@countersign/proto/account/v1/accounts.ts";
import { RefreshTokenResponse } from "@countersign/proto/auth/v1/sessions.ts";
import { SignPaymasterRequest, SignTransactionRequest } from "@countersign/proto/signer/v1/signing.ts";
import { expect } from "vitest";
import { journey, newPerson, type Person, persist } from "../person.ts";
import { messageHash, signedMessages, unevenEvents, withoutRecord } from "./evidence.ts";
import { complaintsAbout } from "./exactly-once.ts";
import { createLedger } from "./ledger.ts";
import type { ProxiedStack } from "./proxied-stack.ts";
import type { ProxiedCall, RpcFault, Strike } from "./rpc-fault.ts";
import { untilNone } from "./until.ts";

/** Every RPC between a person's sign-up and sign-out, by hop. A new RPC must be added here. */
export const HOPS = [
  "gateway→auth auth.v1.SignUp/SignUp",
  "auth→account account.v1.Accounts/DeployAccount",
  "auth→key key.v1.Keys/RegisterKey",
  "auth→device device.v1.Devices/RegisterDevice",
  "account→signer signer.v1.Creation/DeriveServerKeys",
  "account→signer signer.v1.Creation/SignCreation",
  "account→signer signer.v1.Creation/BindAddress",
  "gateway→account account.v1.Accounts/GetMe",
  "gateway→auth auth.v1.SignIn/IssueChallenge",
  "gateway→auth auth.v1.SignIn/RespondChallenge",
  "auth→key key.v1.Keys/FindSignInKeys",
  "auth→account account.v1.Accounts/GetAccount",
  "gateway→auth auth.v1.Sessions/RefreshToken",
  "gateway→signer signer.v1.Signing/SignTransaction",
  "gateway→signer signer.v1.Signing/SignPaymaster",
  "signer→auth auth.v1.TokenState/ListBlockedKeys",
  "gateway→key key.v1.Keys/ListKeys",
  "key→account account.v1.AccountKeys/ListAccountKeys",
  "key→device device.v1.Devices/ListDevices",
  "gateway→auth auth.v1.Sessions/SignOut",
] as const;

/** The hops whose calls carry the requests of several people. */
const SHARED_CALLS = /signer\.v1\.Creation\/|key\.v1\.Keys\/FindSignInKeys/;

export type Faults = Record<string, { fault: RpcFault; times?: number }>;

export interface Matrix {
  /** "<hop>: <fault>" of every case, in the order in which they begin. */
  readonly names: readonly string[];
  /** Runs one person's operations without faults, then starts the cases. Returns the hops that were used. */
  start(proxied: ProxiedStack): Promise<string[]>;
  /** Waits for a case that was started. */
  result(name: string): Promise<void>;
  /** The stream of events against the outboxes: each event once. */
  checkEvents(): Promise<void>;
  /** Signatures on the chain and in anybody's hands, also lost ones, against the signer's records. */
  checkSignatures(): Promise<void>;
}

interface Case {
  name: string;
  hop: string;
  fault: { fault: RpcFault; times?: number };
}

const splitHop = (hop: string): [caller: string, callee: string, rpc: string] => {
  const [, caller, callee, rpc] = /^(.+)→(\S+) (\S+)$/.exec(hop) as unknown as [string, string, string, string];
  return [caller, callee, rpc];
};

const jti = (token: string): string => JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()).jti;

export interface MatrixOptions {
  /** People at once. */
  parallel: number;
  /** Number of faults per hop without FAULT_ALL; all hops together get all faults. Default: all. */
  perHop?: number;
  seed: number;
}

/** Assigns each hop its faults from a shuffled list in turn, so that all are used about equally often. */
function deal(faults: Faults, { perHop, seed }: MatrixOptions): Case[] {
  const all = Object.entries(faults);
  const share = process.env.FAULT_ALL || perHop === undefined ? all.length : perHop;
  const random = seededRandom(seed);
  const shuffled = <T>(list: readonly T[]): T[] =>
    list
      .map((each) => ({ each, order: random() }))
      .sort((a, b) => a.order - b.order)
      .map(({ each }) => each);
  const deck = shuffled(all);
  return shuffled(HOPS).flatMap((hop, index) =>
    Array.from({ length: share }, (_, n) => {
      const [what, fault] = deck[(index * share + n) % deck.length]!;
      return { name: `${hop}: ${what}`, hop, fault };
    }),
  );
}

/** Every hop with its faults, each for a person of its own. */
export function createMatrix(faults: Faults, options: MatrixOptions): Matrix {
  const { parallel } = options;
  const cases = deal(faults, options);
  const results = new Map<string, Promise<void>>();
  /** Account ids by user key, from the sign-ups that came by. */
  const accountIds = new Map<string, string>();
  const people: Person[] = [];
  const lostSignatures: string[] = [];
  let proxied: ProxiedStack;
  let ledger: ReturnType<typeof createLedger>;
  let before: bigint;

  /**
   * Returns whether a call is made for this person, by its request id or by the key or account id in the
   * request.
   */
  const concerns = ({ tag, deviceKey: { publicKey } }: Person, { headers, request }: ProxiedCall): boolean => {
    const accountId = accountIds.get(publicKey);
    return (
      String(headers["x-request-id"]).startsWith(`${tag}-`) ||
      request.includes(Buffer.from(publicKey, "hex")) ||
      request.includes(publicKey) ||
      (accountId !== undefined && request.includes(accountId))
    );
  };

  /** Returns the additional checks of each RPC, on all answers that the callee gave, lost ones included. */
  const judge = (rpc: string, strikes: readonly Strike[], refreshed: string): void => {
    for (const { call, answers } of strikes) {
      const given = answers.filter(({ status }) => status === 0);
      if (rpc.endsWith("/RespondChallenge")) expect(given.length, "a challenge succeeds once").toBeLessThanOrEqual(1);
      if (rpc.endsWith("/RefreshToken")) {
        const successors = given.map(({ response }) =>
          jti(RefreshTokenResponse.decode(response).credentials?.refreshToken ?? ""),
        );
        expect(new Set([...successors, refreshed]).size, "one successor").toBe(1);
      }
      if (given.length === 0) continue;
      if (rpc.endsWith("/SignTransaction"))
        lostSignatures.push(SignTransactionRequest.decode(call.request).message.toString("hex"));
      if (rpc.endsWith("/SignPaymaster"))
        lostSignatures.push(SignPaymasterRequest.decode(call.request).message.toString("hex"));
    }
  };

  const run = async ({ name, hop, fault }: Case): Promise<void> => {
    const person = await newPerson(proxied.stack);
    people.push(person);
    const [caller, callee, rpc] = splitHop(hop);
    const matches = (call: ProxiedCall) => concerns(person, call);
    const armed = proxied.network.rpc(caller, callee).inject({ rpc, ...fault, matches });
    let refreshed = "";
    try {
      await journey(person, (credentials) => {
        refreshed = jti(credentials.refreshToken);
      });
      expect(armed.taken, "calls that the fault struck").toBeGreaterThan(0);
      await untilNone(name, async () =>
        armed.strikes.length < armed.taken ? ["a call is on its way still"] : complaintsAbout(proxied, ledger, person),
      );
      armed.disarm();
      judge(rpc, armed.strikes, refreshed);
      expect(person.answers.filter((line) => line.endsWith(" 429"))).toEqual([]);
      for (const challenge of person.challenges) {
        await expect(persist(person, "again", () => person.client.respondChallenge(challenge))).rejects.toMatchObject({
          error: "UnknownChallenge",
        });
      }
    } catch (error) {
      throw new Error(`${person.tag}: ${(error as Error).message}\n${person.story.join("\n")}`, { cause: error });
    } finally {
      armed.disarm();
    }
  };

  // These calls are for everybody of a batch, and a call is struck by one case only: so the cases of each hop
  // run one at a time.
  const turns = new Map<string, Promise<void>>();
  const inTurn = (each: Case): Promise<void> => {
    if (!SHARED_CALLS.test(each.hop)) return run(each);
    const running = (turns.get(each.hop) ?? Promise.resolve()).then(() => run(each));
    turns.set(
      each.hop,
      running.catch(() => undefined),
    );
    return running;
  };

  const startAll = () => {
    const queue = cases.map((each) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      results.set(each.name, promise);
      promise.catch(() => undefined);
      return () => {
        const running = inTurn(each);
        resolve(running);
        return running.catch(() => undefined);
      };
    });
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await next();
    };
    for (let worker = 0; worker < parallel; worker++) void work();
  };

  return {
    names: cases.map(({ name }) => name),
    async start(stack) {
      proxied = stack;
      ledger = createLedger(proxied.stack.chains[0]!.accessNode);
      before = await ledger.height();
      // Looks at every sign-up that comes by and strikes none.
      proxied.network.rpc("auth", "account").inject({
        rpc: "account.v1.Accounts/DeployAccount",
        fault: { kind: "lose-request", as: "reset" },
        matches: ({ request }) => {
          const { accountId, userKey } = DeployAccountRequest.decode(request);
          if (userKey) accountIds.set(userKey.bytes.toString("hex"), accountId);
          return false;
        },
      });
      const person = await newPerson(proxied.stack);
      people.push(person);
      proxied.network.resetCounts();
      await journey(person);
      const counted = [...proxied.network.rpcCalls().keys()];
      startAll();
      // The stream of token states is always open and slow-parts.test.ts cuts it. Budgets are settled without
      // a request; budgets.test.ts kills the process that does it.
      return counted.filter(
        (name) => !name.endsWith("auth.v1.TokenState/Watch") && !name.includes("signer.v1.Budgets/"),
      );
    },
    result: (name) => results.get(name) ?? Promise.reject(new Error(`${name} was not started`)),
    checkEvents: () => untilNone("events", () => unevenEvents(proxied)),
    async checkSignatures() {
      const onChain = (await ledger.transactionsAfter(before)).flatMap(signedMessages);
      const held = people.flatMap(({ signed }) => signed);
      expect(onChain.length).toBeGreaterThan(people.length);
      expect(await withoutRecord(proxied, [...onChain, ...[...held, ...lostSignatures].map(messageHash)])).toEqual([]);
    },
  };
}
