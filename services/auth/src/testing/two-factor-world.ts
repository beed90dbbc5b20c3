import { AppError, uuidv4, uuidv7, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { TEST_RELYING_PARTY } from "@countersign/keys/testing";
import type { LoginProfile } from "../domain/login.ts";
import type { Session } from "../domain/sessions/session.ts";
import type { FindSignInKey } from "../domain/sign-in/ports.ts";
import { enrollApproved, enrollDevice } from "../domain/two-factor/enroll-device.ts";
import { finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";
import { type RequestTwoFactor, requestTwoFactor } from "../domain/two-factor/request-two-factor.ts";
import type {
  BegunTwoFactor,
  ChainTransaction,
  Enrollment,
  EnrollmentSteps,
  RequestSource,
  TwoFactorRequests,
  TwoFactorSignIn,
  TwoFactorSignInStore,
} from "../domain/two-factor/two-factor-sign-in.ts";
import type { KeysOfDevice } from "../domain/user-key.ts";
import { sampleDevice } from "./sample-device.ts";

const device = { ...sampleDevice, name: "New phone" };

interface MemoryStore extends TwoFactorSignInStore {
  rows: Map<string, TwoFactorSignIn>;
  sessions: Session[];
  verdict: "yes" | "frozen" | "blocked";
  recovering: boolean;
  /** Devices that are on the account, perhaps on another chain. */
  known: KeysOfDevice[];
  /** The account has left. */
  left: boolean;
  endedTokens: Set<string>;
  /** The recorded transactions that added keys. */
  additions: { id: string; transaction: ChainTransaction }[];
}

function memoryStore(): MemoryStore {
  const claims = new Map<string, { fingerprint: string; id: string }>();
  const rows = new Map<string, TwoFactorSignIn>();
  const replay = (claim: {
    id: string;
    fingerprint: string;
  }): Exclude<BegunTwoFactor, { kind: "begun" }> | undefined => {
    const found = claims.get(claim.id);
    if (!found) return undefined;
    if (found.fingerprint !== claim.fingerprint) return { kind: "idempotency-key-reused" };
    return { kind: "replay", signIn: rows.get(found.id)! };
  };
  const store: MemoryStore = {
    rows,
    sessions: [],
    verdict: "yes",
    recovering: false,
    known: [],
    left: false,
    endedTokens: new Set(),
    additions: [],
    replayOf: async (claim) => replay(claim),
    async begin(signIn, claim) {
      const before = claim && replay(claim);
      if (before) return before;
      if (claim) claims.set(claim.id, { fingerprint: claim.fingerprint, id: signIn.id });
      rows.set(signIn.id, signIn);
      return { kind: "begun", signIn };
    },
    find: async (accountId, id) => (rows.get(id)?.accountId === accountId ? rows.get(id) : undefined),
    mayEnroll: async () => store.verdict,
    isRecovering: async () => store.recovering,
    devicesWith: async (_accountId, { accountKey, deviceKey }, exceptId) =>
      [...store.known, ...[...rows.values()].filter(({ id, enrolledAt }) => enrolledAt && id !== exceptId)].filter(
        (each) =>
          [each.accountKey, each.deviceKey].some(
            (key) => samePublicKey(key, accountKey) || samePublicKey(key, deviceKey),
          ),
      ),
    recordAddition: async ({ id }, transaction) => void store.additions.push({ id, transaction }),
    async markEnrolled(id, _transaction, now) {
      rows.set(id, { ...rows.get(id)!, enrolledAt: now });
    },
    async endToken(accountId, id) {
      if (rows.get(id)?.accountId === accountId) store.endedTokens.add(id);
    },
    async finish(id, session, now) {
      if (rows.get(id)?.finishedAt) return false;
      store.endedTokens.add(id);
      rows.set(id, { ...rows.get(id)!, finishedAt: now });
      store.sessions.push(session);
      return true;
    },
    additionOf: async () => undefined,
  };
  return store;
}

export interface FakeRequests extends TwoFactorRequests<{ id: string }> {
  all: Map<string, { accountId: string; enrollment: Enrollment }>;
  opened: number;
  /** Called before the request is marked as finished. */
  beforeFinish: () => Promise<void>;
  refuse: AppError | undefined;
  /** The source of the last one that was opened. */
  from: RequestSource | undefined;
}

/** The device service, by the contract of device.v1.TwoFactor. */
function fakeRequests(): FakeRequests {
  const fake: FakeRequests = {
    all: new Map(),
    opened: 0,
    beforeFinish: async () => undefined,
    refuse: undefined,
    from: undefined,
    async open({ id, accountId, chainName, accountKey, deviceKey }, from) {
      fake.from = from;
      if (fake.refuse) throw fake.refuse;
      if (!fake.all.has(id)) {
        fake.opened += 1;
        const enrollment = {
          id,
          status: "pending" as const,
          chainName,
          accountKey,
          deviceKey,
          deviceId: uuidv4(),
          sealed: undefined,
        };
        fake.all.set(id, { accountId, enrollment });
      }
      return { id };
    },
    async describe(accountId, id) {
      const found = fake.all.get(id);
      if (found?.accountId !== accountId) throw new AppError("TwoFactorAuthNotFound");
      return found.enrollment;
    },
    async finish(accountId, id, context) {
      await fake.beforeFinish();
      const { status, sealed } = await fake.describe(accountId, id, context);
      if (status === "finished") throw new AppError("TwoFactorAuthFinished");
      if (status !== "approved" || !sealed) throw new AppError("TwoFactorAuthPending");
      change(id, { status: "finished" });
    },
  };
  const change = (id: string, to: Partial<Enrollment>) => {
    const found = fake.all.get(id)!;
    fake.all.set(id, { ...found, enrollment: { ...found.enrollment, ...to } });
  };
  return fake;
}

/** The calls that letting a device in makes, in their order. */
export const ENROLLMENT_CALLS = [
  "registerKey",
  "registerDevice",
  "markEnrolled",
  "markFinished",
  "beginSession",
] as const;
export type CrashPoint = `${"before" | "after"} ${(typeof ENROLLMENT_CALLS)[number]}`;

/** Auth's part of letting a new device in, over services that a test plays. */
export function twoFactorWorld(options: { store?: TwoFactorSignInStore } = {}) {
  const clock = new FixedClock("2026-11-20T10:00:00Z");
  const signal = new AbortController().signal;
  const store = memoryStore();
  const kept = options.store ?? store;
  let crashAt: CrashPoint | undefined;
  /** A call at which the process may die, on either side of it. */
  async function crashing<T>(name: (typeof ENROLLMENT_CALLS)[number], work: () => Promise<T>): Promise<T> {
    const pass = (side: "before" | "after") => {
      if (crashAt !== `${side} ${name}`) return;
      crashAt = undefined;
      throw new Error("crashed");
    };
    pass("before");
    const result = await work();
    pass("after");
    return result;
  }
  const signIns: TwoFactorSignInStore = {
    ...kept,
    markEnrolled: (...args) => crashing("markEnrolled", () => kept.markEnrolled(...args)),
    finish: (...args) => crashing("beginSession", () => kept.finish(...args)),
  };
  const requests = fakeRequests();
  const registered: PublicKey[] = [];
  /** The errors of the key service, and of an attestation. */
  const failing: { keys?: AppError | undefined; attestation?: AppError | undefined } = {};
  const attested: unknown[] = [];
  const registrations: { step: "key" | "device"; accountId: string; keyIndex?: number; deviceId?: string }[] = [];
  const accounts = new Map<string, string>();
  let polls = 0;

  const steps: EnrollmentSteps = {
    registerKey: ({ accountId, accountKey }, keyIndex) =>
      crashing("registerKey", async () => {
        registered.push(accountKey);
        registrations.push({ step: "key", accountId, keyIndex });
      }),
    registerDevice: ({ accountId }, deviceId) =>
      crashing("registerDevice", async () => {
        registrations.push({ step: "device", accountId, deviceId });
      }),
  };
  const profileOf = (token: string): LoginProfile => ({
    issuer: "https://idp.example",
    subject: token.split("/")[0] ?? "",
    email: "somebody@example.org",
    name: "",
    picture: "",
    app: { appId: "demo", appName: "Demo" },
    authTime: new Date("2026-11-20T09:59:00Z"),
  });
  /** The recovery keys of another chain. */
  const recoveryElsewhere: PublicKey[] = [];
  const findSignInKey: FindSignInKey = async (_accountId, chainName, key) => {
    if (failing.keys) throw failing.keys;
    if (chainName !== "flow-emulator") {
      if (recoveryElsewhere.some((each) => samePublicKey(each, key)))
        return { type: "device", accountKey: key, deviceKey: key, origin: "recovery" };
      throw new AppError("PleaseRegisterKey");
    }
    if (registered.some((each) => samePublicKey(each, key)))
      return { type: "device", accountKey: key, deviceKey: key, origin: "sign-up" };
    throw new AppError("PleaseRegisterKey");
  };
  const ask = requestTwoFactor<{ id: string }>({
    verifyLogin: async ({ token }) => profileOf(token),
    async requireAttestation(operation, appId, { login }) {
      attested.push([operation, appId, login.token]);
      if (failing.attestation) throw failing.attestation;
    },
    identities: {
      accountOf: async (_, subject) => accounts.get(subject),
      accountByKey: async () => undefined,
      accountByEmail: async () => undefined,
    },
    signIns,
    requests,
    findSignInKey,
    hasLeft: async () => store.left,
    chains: new Set(["flow-emulator", "flow-testnet"]),
    passkeys: { relyingPartiesOf: (appId: string) => (appId === "demo" ? [TEST_RELYING_PARTY] : []) },
    clock,
    issueEphemeral: async ({ id, tokenId }) => `${id}.${tokenId}`,
  });
  const enroll = enrollDevice({ signIns, steps, clock });
  const finish = finishTwoFactor({
    signIns,
    requests: { ...requests, finish: (...args) => crashing("markFinished", () => requests.finish(...args)) },
    enroll,
    findSignInKey,
    clock,
    limitPolls: async () => {
      polls += 1;
    },
    issue: async ({ id }) => ({ accessToken: id, refreshToken: "" }),
  });
  const approved = enrollApproved({ signIns, describe: requests.describe, enroll });

  return {
    clock,
    store,
    requests,
    registered,
    recoveryElsewhere,
    failing,
    attested,
    registrations,
    polls: () => polls,
    /** The process dies there, once. */
    crash(at: CrashPoint): void {
      crashAt = at;
    },
    /** An account whose identity logs in with tokens "<name>/…". */
    account(name: string): string {
      const id = uuidv7(clock);
      accounts.set(name, id);
      return id;
    },
    ask(change: Partial<RequestTwoFactor> & { token?: string } = {}) {
      const { token = "ann/1", ...rest } = change;
      const accountKey = rest.accountKey ?? generateKeyPair().publicKey;
      const login = {
        method: "id_token_channel",
        token,
        provider: "",
        redirectUri: "",
        codeVerifier: "",
        nonce: "",
      } as const;
      const command = {
        login,
        chainName: "flow-emulator",
        userKeyType: "device" as const,
        accountKey,
        deviceKey: accountKey,
        device,
        idempotencyKey: "",
        attestation: undefined,
        ip: "192.0.2.1",
        accessToken: undefined,
      };
      return ask({ ...command, context: { requestId: "test", signal }, ...rest });
    },
    /** The ephemeral token of a request that was asked. */
    async tokenOf(accountId: string, id: string, change: Partial<VerifiedToken> = {}): Promise<VerifiedToken> {
      const { accountKey, deviceKey, app, expiresAt, createdAt } = (await signIns.find(accountId, id))!;
      const claims = { accountId, sessionId: id, appId: app.appId, scope: "sign" as const, twoFactorId: id };
      return { ...claims, deviceKey, accountKey, issuedAt: createdAt, expiresAt, ...change };
    },
    decide(id: string, to: Partial<Enrollment>): void {
      const found = requests.all.get(id)!;
      requests.all.set(id, { ...found, enrollment: { ...found.enrollment, ...to } });
    },
    seal(id: string, keyIndex = 2): void {
      const transaction = { id: "ab".repeat(32), chainName: "flow-emulator", refUrl: "" };
      this.decide(id, { status: "approved", sealed: { keyIndex, transaction } });
    },
    enroll: (signIn: TwoFactorSignIn, enrollment: Enrollment) =>
      enroll(signIn, enrollment, { requestId: "test", signal }),
    finish: (token: VerifiedToken, id: string, by = signal) =>
      finish({ token, id, context: { requestId: "test", signal: by } }),
    approved: (accountId: string, id: string) => approved(accountId, id, { requestId: "test", signal }),
  };
}
