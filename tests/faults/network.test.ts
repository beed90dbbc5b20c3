import { randomInt } from "node:crypto";
import { DeployAccountRequest } from "@countersign/proto/account/v1/accounts.ts";
import { RefreshTokenResponse } from "@countersign/proto/auth/v1/sessions.ts";
import { SignPaymasterRequest, SignTransactionRequest } from "@countersign/proto/signer/v1/signing.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messageHash, outboxRows, publishedEvents, signedMessages, withoutRecord } from "./proxy/evidence.ts";
import { complaintsAbout } from "./proxy/exactly-once.ts";
import { createLedger, type Ledger } from "./proxy/ledger.ts";
import { journey, newPerson, type Person } from "./proxy/person.ts";
import { type ProxiedStack, startProxiedStack } from "./proxy/proxied-stack.ts";
import type { ProxiedCall, RpcFault, Strike } from "./proxy/rpc-fault.ts";
import { untilNone } from "./proxy/until.ts";

/** Every RPC that a person's way from sign-up to sign-out takes, by hop. One that is new there belongs in here. */
const MATRIX = [
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
  "auth→key key.v1.Keys/FindSignInKey",
  "auth→account account.v1.Accounts/GetAccount",
  "gateway→auth auth.v1.Sessions/RefreshToken",
  "gateway→signer signer.v1.Signing/SignTransaction",
  "gateway→signer signer.v1.Signing/SignPaymaster",
  "gateway→auth auth.v1.Sessions/SignOut",
] as const;

const FAULTS: Record<string, { fault: RpcFault; times?: number }> = {
  "request 4 s late": { fault: { kind: "delay-request", ms: 4_000 } },
  "answer 4 s late": { fault: { kind: "delay-answer", ms: 4_000 } },
  "answer lost with its stream": { fault: { kind: "lose-answer", as: "reset" } },
  "answer lost, told as UNAVAILABLE": { fault: { kind: "lose-answer", as: "unavailable" } },
  "four answers lost": { fault: { kind: "lose-answer", as: "unavailable" }, times: 4 },
  "request lost with its stream": { fault: { kind: "lose-request", as: "reset" } },
  "request lost, told as UNAVAILABLE": { fault: { kind: "lose-request", as: "unavailable" } },
  "request twice, first answer": { fault: { kind: "duplicate", answer: "first" } },
  "request twice, second answer": { fault: { kind: "duplicate", answer: "second" } },
  "request again after 1.5 s": { fault: { kind: "duplicate", answer: "first", gapMs: 1_500 } },
  "overtaken by the next": { fault: { kind: "reorder", atMostMs: 1_000 } },
};

const SEED = Number(process.env.FAULT_SEED ?? randomInt(2 ** 31));
/** People on their way at once. */
const PARALLEL = 8;

const cases = Object.keys(FAULTS).flatMap((fault) => MATRIX.map((hop) => ({ fault, hop })));
const results = new Map<string, Promise<void>>();
const nameOf = ({ fault, hop }: { fault: string; hop: string }) => `${hop}: ${fault}`;
/** Account ids by user key, from the sign-ups that came by. */
const accountIds = new Map<string, string>();
const people: Person[] = [];
const lostSignatures: string[] = [];
let proxied: ProxiedStack;
let ledger: Ledger;
let before: bigint;
let counted: string[];

const splitHop = (hop: string): [caller: string, callee: string, rpc: string] => {
  const [, caller, callee, rpc] = /^(.+)→(\S+) (\S+)$/.exec(hop) as unknown as [string, string, string, string];
  return [caller, callee, rpc];
};

/** Whether a call is made on behalf of this person: by its request id, or by the key or account id in the request. */
function concerns({ tag, deviceKey: { publicKey } }: Person, { headers, request }: ProxiedCall): boolean {
  const accountId = accountIds.get(publicKey);
  return (
    String(headers["x-request-id"]).startsWith(`${tag}-`) ||
    request.includes(Buffer.from(publicKey, "hex")) ||
    request.includes(publicKey) ||
    (accountId !== undefined && request.includes(accountId))
  );
}

const jti = (token: string): string => JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()).jti;

/** What each RPC owes beyond the common: judged by the answers that the callee gave, also those that nobody got. */
function judge(rpc: string, strikes: readonly Strike[], refreshed: string): void {
  for (const { call, answers } of strikes) {
    const given = answers.filter(({ status }) => status === 0);
    if (rpc.endsWith("/RespondChallenge")) expect(given.length, "a challenge succeeds once").toBeLessThanOrEqual(1);
    if (rpc.endsWith("/RefreshToken")) {
      const successors = given.map(({ response }) =>
        jti(RefreshTokenResponse.decode(response).credentials?.refreshToken ?? ""),
      );
      expect(new Set([...successors, refreshed]).size, "one successor").toBe(1);
    }
    if (given.length > 0 && rpc.endsWith("/SignTransaction")) {
      lostSignatures.push(SignTransactionRequest.decode(call.request).message.toString("hex"));
    }
    if (given.length > 0 && rpc.endsWith("/SignPaymaster")) {
      lostSignatures.push(SignPaymasterRequest.decode(call.request).message.toString("hex"));
    }
  }
}

async function runCase({ fault, hop }: { fault: string; hop: string }): Promise<void> {
  const person = await newPerson(proxied.stack);
  people.push(person);
  const [caller, callee, rpc] = splitHop(hop);
  const armed = proxied.network.rpc(caller, callee).inject({
    rpc,
    ...FAULTS[fault]!,
    matches: (call) => concerns(person, call),
  });
  let refreshed = "";
  try {
    await journey(person, (credentials) => {
      refreshed = jti(credentials.refreshToken);
    });
    expect(armed.taken, "calls that the fault struck").toBeGreaterThan(0);
    await untilNone(nameOf({ fault, hop }), async () =>
      armed.strikes.length < armed.taken ? ["a call is on its way still"] : complaintsAbout(proxied, ledger, person),
    );
    armed.disarm();
    judge(rpc, armed.strikes, refreshed);
    for (const challenge of person.challenges) {
      await expect(person.client.respondChallenge(challenge)).rejects.toMatchObject({ error: "UnknownChallenge" });
    }
  } catch (error) {
    throw new Error(`${person.tag}: ${(error as Error).message}\n${person.story.join("\n")}`, { cause: error });
  } finally {
    armed.disarm();
  }
}

/** Starts all cases, so many at once; each result waits in `results` for its test. */
function startCases(): void {
  const queue = cases.map((each) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    results.set(nameOf(each), promise);
    promise.catch(() => undefined);
    return () => {
      const running = runCase(each);
      resolve(running);
      return running.catch(() => undefined);
    };
  });
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await next();
  };
  for (let worker = 0; worker < PARALLEL; worker++) void work();
}

beforeAll(async () => {
  console.log(`FAULT_SEED=${SEED}`);
  proxied = await startProxiedStack("network", SEED, {
    // One call, one request on the wire: what goes together on streams is for slow-parts.test.ts to break.
    gateway: { GATEWAY_COALESCE_CALLS: "false" },
  });
  ledger = createLedger(proxied.stack.chains[0]!.accessNode);
  before = await ledger.height();
  // Looks at every sign-up that comes by and strikes none.
  proxied.network.rpc("auth", "account").inject({
    rpc: "account.v1.Accounts/DeployAccount",
    fault: { kind: "delay-answer", ms: 0 },
    times: Number.POSITIVE_INFINITY,
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
  counted = [...proxied.network.rpcCalls().keys()];
  startCases();
});

afterAll(() => proxied?.stop());

describe("the network loses, doubles and delays", () => {
  it("the matrix has every RPC of a person's way", () => {
    // The stream of token states is there all the time; slow-parts.test.ts cuts it.
    const unary = counted.filter((name) => !name.endsWith("auth.v1.TokenState/Watch"));
    expect(unary.sort()).toEqual([...MATRIX].sort());
  });

  it.each(cases.map(nameOf))("%s", async (name) => {
    await results.get(name);
  });
});

describe("afterwards", () => {
  it("each event is in the stream once, and none that no service told", async () => {
    const key = ({ subject, id }: { subject: string; id: string }) => `${subject} ${id}`;
    const published = (await publishedEvents(proxied)).map(key).sort();
    expect(published).toEqual((await outboxRows(proxied)).map(key).sort());
  });

  it("the signer has a record of every signature that anybody holds", async () => {
    const onChain = (await ledger.transactionsAfter(before)).flatMap(signedMessages);
    const held = people.flatMap(({ signed }) => signed).map(messageHash);
    expect(onChain.length).toBeGreaterThan(people.length);
    expect(await withoutRecord(proxied, [...onChain, ...held, ...lostSignatures.map(messageHash)])).toEqual([]);
  });
});
