import { createHash } from "node:crypto";
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { CountersignClient, type Credentials, revokeDevice } from "@countersign/client";
import { logTail } from "@countersign/local-stack/child.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { networkOf } from "@countersign/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { query } from "../faults/books.ts";
import { chainReader } from "../faults/chain-reader.ts";
import { broken, quiet } from "../faults/invariants.ts";
import { createNewDevice, enroll, type NewDevice } from "../faults/new-device.ts";
import { completePerson, type Person, signIn, transact, untilComplete } from "../faults/person.ts";
import { backupsOf } from "./databases.ts";
import { commandsOf, makePrograms, runShell } from "./procedure.ts";

const PAGE = "docs/disaster-recovery.md";
const REFUSED = "00000000-0000-7000-8000-000000000001";
const HIDE_EVM_ADDRESS = `transaction { prepare(account: auth(UnpublishCapability) &Account) {
  account.capabilities.unpublish(/public/evm)
} }`;

interface Case {
  name: string;
  /** Whether NATS keeps its stream. */
  events: boolean;
  /** The databases that are lost, the one that goes back furthest first. */
  order: readonly ServiceName[];
}
const cases: Case[] = [
  { name: "the stream of events is there", events: true, order: ["key", "device", "account", "signer", "auth"] },
  { name: "the stream of events is lost", events: false, order: ["signer", "account", "device", "key", "auth"] },
  { name: "auth goes back furthest", events: true, order: ["auth", "signer", "account", "device", "key"] },
  { name: "only the signer's is lost", events: true, order: ["signer"] },
];

describe.each(cases)("each lost database goes back to another moment: $name", ({ events, order }) => {
  let stateDir: string;
  let running: RunningStack;
  let backups: ReturnType<typeof backupsOf>;
  let chain: ReturnType<typeof chainReader>;
  let startHeight: bigint;
  let directory: string;
  const moments = {} as Record<ServiceName, string>;
  /** One signed up after each database's moment, and known only to those that go back less far. */
  const after = {} as Record<ServiceName, Person>;
  /** Signed up before the backups. */
  const early: Person[] = [];
  /** Enrolled before the backups and revoked since; enrolled since. */
  let [revoked, enrolled] = [] as unknown as [NewDevice, NewDevice];
  /** Of a session that ended since. */
  let ended: Credentials;
  /** On chain before the disaster. */
  let transactions: ReadonlySet<string>;
  let lastPosition: bigint;
  const shell = (commands: string, env: Record<string, string> = {}) =>
    runShell(commands, { cwd: directory, programs: join(directory, "bin"), env });
  const timed: string[] = [];
  const measure = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const begun = performance.now();
    const result = await work();
    timed.push(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    return result;
  };

  beforeAll(async () => {
    stateDir = mkdtempSync(join(tmpdir(), "countersign-restore-"));
    directory = join(stateDir, "recovery");
    mkdirSync(directory);
    backups = backupsOf(stateDir);
    const ownPostgres = (service: ServiceName) => backups.settings(service);
    const say = (line: string) => console.log(`stack: ${line}`);
    running = await startStack({ stateDir, freePorts: true, throwAway: true, ownPostgres, say });
    chain = chainReader(running.stack.chains[0]!.accessNode);
    startHeight = await chain.height();
    await makePrograms(running, stateDir, join(directory, "bin"));
  }, 300_000);

  afterAll(async () => {
    console.log(timed.join("\n"));
    await running?.stop();
    backups?.remove();
    removeState(stateDir);
  }, 60_000);

  const [frozen, signedOut, revoking, enrolling] = [0, 1, 2, 3].map((i) => () => early[i]!) as [
    () => Person,
    () => Person,
    () => Person,
    () => Person,
  ];
  const latest = order.at(-1)!;
  const isAuthLost = order.includes("auth");
  const everybody = () => [...early, ...order.map((service) => after[service])];
  /** Whom auth still knows. */
  const isKnown = async ({ accountId }: Person) =>
    (await query(running.stack, "auth", `SELECT 1 FROM identity WHERE account_id = '${accountId}'`)).length === 1;
  const signInAgain = async (person: Person) => {
    delete person.login;
    await signIn(person);
  };

  it("people sign up, sign and enroll devices, and the databases are backed up meanwhile", async () => {
    early.push(...(await Promise.all(Array.from({ length: 4 }, () => completePerson(running.stack)))));
    revoked = createNewDevice(revoking(), "enrollmentBySignature", 0);
    await Promise.all([enroll(revoked), ...early.map((person) => transact(person))]);
    await Promise.all([
      measure("five base backups", () => backups.backUp(running)),
      ...early.map((person) => transact(person)),
    ]);
  });

  it("more happens, and each database has a moment in between", async () => {
    for (const service of order) {
      moments[service] = await backups.moment(running, service);
      after[service] = await completePerson(running.stack);
      const more: Promise<unknown>[] = early.map((person) => transact(person));
      // Its EVM address is known all the same.
      more.push(transact(after[service], HIDE_EVM_ADDRESS));
      if (service === order[0]) {
        enrolled = createNewDevice(enrolling(), "enrollmentBySignature", 0);
        more.push(enroll(enrolled));
      }
      await Promise.all(more);
    }
    const networks = [networkOf(running.stack)];
    const revocation = await revokeDevice(revoking().client, revoked.deviceKey, { networks });
    expect(revocation.done).toBe(true);
    await frozen().client.freeze();
    ended = signedOut().client.credentials!;
    await signedOut().client.signOut();
    await quiet(running.stack);
    transactions = new Set((await chain.transactions(startHeight)).map(({ id }) => id));
    const [row] = await query<{ last: string }>(
      running.stack,
      "auth",
      "SELECT max(position) AS last FROM token_state_head",
    );
    lastPosition = BigInt(row!.last);
  });

  it("no service runs or starts on a database that went back", async () => {
    await backups.archive(running);
    const outliving = order[0]!;
    await Promise.all(services.filter((each) => each !== outliving).map((each) => running.kill(each)));
    if (!events) await running.kill("nats");
    await measure(`restores of ${order.length} databases`, () =>
      Promise.all(order.map((service) => backups.restore(running, service, moments[service]))),
    );
    // A process that nobody stopped notices it and ends.
    await expect.poll(() => running.supervisor.find(outliving)?.running() ?? false, { timeout: 30_000 }).toBe(false);
    expect(logTail(join(stateDir, "log", `${outliving}.log`))).toContain("has gone back to an earlier moment");
    for (const service of order) {
      await expect(running.restart(service), service).rejects.toThrow();
      expect(logTail(join(stateDir, "log", `${service}.log`))).toContain("the database is on another timeline");
    }
  });

  it("the procedure of the page opens them", async () => {
    const [state, restores, again, verify] = commandsOf(PAGE, "Procedure") as [string, string, string, string];
    const since = [...Object.values(moments)].sort()[0]!;
    const [exports, ...rest] = state.replace(/SINCE=\S+/, `SINCE=${since}`).split("\n");
    const stated = events ? [exports, ...rest].join("\n") : `${exports}\nEVENTS=--no-events`;
    const checkpoints = join(stateDir, "audit/signer.checkpoints");
    copyFileSync(checkpoints, join(directory, "signer.checkpoints"));
    const restored = await measure("steps 3 and 4", () => shell(`${stated}\n${restores}`));
    console.log(restored.output);
    expect(restored.code, restored.output).toBe(0);
    if (!events) {
      rmSync(join(stateDir, "nats"), { recursive: true });
      // Its start runs its set-up, too.
      await running.restart("nats");
    }
    await measure("starts of the services", () => Promise.all(services.map((service) => running.restart(service))));
    // An enrollment that is refused: its device is another account's.
    await query(
      running.stack,
      "auth",
      `INSERT INTO sign_up SELECT (json_populate_record(s, json_build_object(
         'account_id', '${REFUSED}', 'completed_at', now()))).* FROM sign_up AS s ORDER BY created_at LIMIT 1`,
    );
    const registered = await measure("step 6", () => shell(`${exports}\n${again}`));
    console.log(registered.output);
    expect(registered.code, registered.output).toBe(0);
    expect(registered.output).toContain(`account ${REFUSED}: DeviceConflict`);
    await query(running.stack, "auth", `DELETE FROM sign_up WHERE account_id = '${REFUSED}'`);
    await query(running.stack, "key", `DELETE FROM registration WHERE account_id = '${REFUSED}'`);
    expect((await shell("signer keys export-public > audit-public.json")).code).toBe(0);
    await expect.poll(() => readFileSync(checkpoints, "utf8"), { timeout: 20_000 }).toContain("-checkpoint-3");
    copyFileSync(checkpoints, join(directory, "signer.checkpoints"));
    const verified = await measure("step 7", () => shell(verify));
    console.log(verified.output);
    expect(verified.code, verified.output).toBe(3);
    expect(verified.output).toContain("by ada: disk of zone b");
  });

  it("access that ended before stays so", async () => {
    const at = (credentials: Credentials, { deviceKey }: Person) =>
      new CountersignClient({ baseUrl: running.stack.gateway, deviceKey, credentials });
    const old = at(ended, signedOut());
    await expect(old.me()).rejects.toMatchObject({ status: 401 });
    await expect(old.refresh()).rejects.toMatchObject({ status: 401 });
    // If auth forgot which sessions ended, all of them did. Otherwise they go on: the signer asks for a newer
    // token.
    if (isAuthLost)
      await expect(at(enrolling().client.credentials!, enrolling()).me()).rejects.toMatchObject({ status: 401 });
    else await transact(enrolling());
    await expect(signInAgain(revoked)).rejects.toMatchObject({ error: "PleaseRegisterKey" });
  });

  it("accounts that auth forgot belong to their persons again", async () => {
    const forgotten = [];
    for (const person of everybody()) if (!(await isKnown(person))) forgotten.push(person);
    if (isAuthLost) expect(forgotten).toContain(after[latest]);
    const adopt = ({ accountId, email }: Person) => {
      const subject = createHash("sha256").update(email).digest("base64url").slice(0, 22);
      const identity = `--issuer ${running.stack.identityProvider.issuer} --subject=${subject} --email ${email}`;
      return shell(`auth accounts adopt ${accountId} --accounts accounts.jsonl ${identity} --app demo`);
    };
    if (!events) {
      // Only the person's phone knows the account's id.
      const { accountId, deviceKey } = after[latest];
      expect((await adopt(after[latest])).output).toContain("has no account");
      const { algorithm, publicKey } = deviceKey;
      const { chainName } = networkOf(running.stack);
      const line = JSON.stringify({ accountId, chainName, userKey: { algorithm, publicKey } });
      appendFileSync(join(directory, "signed-up.jsonl"), `${line}\n`);
      const [, restores] = commandsOf(PAGE, "Procedure") as [string, string];
      const found = restores.slice(restores.indexOf("signer restore"), restores.indexOf("key restore"));
      await running.end("account");
      const since = [...Object.values(moments)].sort()[0]!;
      const { code, output } = await shell(found, {
        SINCE: since,
        BY: "ada",
        REASON: "the phone",
        EVENTS: "--no-events",
      });
      expect([code, output]).toEqual([0, expect.not.stringContaining("UNKNOWN")]);
      await running.restart("account");
    }
    for (const person of forgotten) expect(await adopt(person)).toMatchObject({ code: 0 });
    await quiet(running.stack);
  });

  it("everybody signs in, and everything works", async () => {
    const lost = events ? [] : [after[latest]];
    const here = everybody().filter((person) => !lost.includes(person));
    await Promise.all([...here, enrolled].map(signInAgain));
    for (const service of order.filter((service) => !lost.includes(after[service])))
      await untilComplete(after[service]);
    await Promise.all(here.filter((person) => person !== frozen() || !events).map((person) => transact(person)));
    if (events) {
      await expect(transact(frozen())).rejects.toMatchObject({ error: "AccountFrozen" });
      // Where auth forgot it, only administrators lift it.
      const { output } = await shell("countersign accounts holds --reason 'the test of a restore'");
      expect(output.includes(frozen().accountId)).toBe(isAuthLost);
    }
    await transact(enrolled);
    const fresh = await completePerson(running.stack);
    await transact(fresh);
    await fresh.client.signOut();

    await quiet(running.stack);
    const persons = [...everybody(), fresh];
    const wrong = await broken(running.stack, chain, startHeight, persons, [revoked, enrolled], { transactions });
    expect(wrong).toEqual([]);
    const [row] = await query<{ last: string }>(
      running.stack,
      "auth",
      "SELECT max(position) AS last FROM token_state_head",
    );
    expect(BigInt(row!.last)).toBeGreaterThan(lastPosition);
  });
});
