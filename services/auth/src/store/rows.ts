import type { DeviceAttributes } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { Session } from "../domain/sessions/session.ts";
import type { SignUpSaga, SignUpStep } from "../domain/sign-up/sign-up-saga.ts";
import type { TwoFactorSignIn } from "../domain/two-factor/two-factor-sign-in.ts";
import type {
  Prisma,
  SignUp as SignUpRow,
  TwoFactorSignIn as TwoFactorSignInRow,
  Session as WholeSessionRow,
} from "./generated/client.ts";

/** Returns a key of its columns. */
export const toKey = (algorithm: string, publicKey: string): PublicKey => ({
  algorithm: algorithm as PublicKey["algorithm"],
  publicKey,
});

/** The column that holds when a step was done. */
const STEP_COLUMNS = {
  DeployAccount: "deployedAt",
  RegisterKey: "keyRegisteredAt",
  RegisterDevice: "deviceRegisteredAt",
} as const satisfies Record<SignUpStep, keyof SagaRow>;

/** A sign-up without its end. */
export type SagaRow = Omit<SignUpRow, "completedAt">;

export function toSaga(row: SagaRow): SignUpSaga {
  const steps = Object.entries(STEP_COLUMNS) as [SignUpStep, (typeof STEP_COLUMNS)[SignUpStep]][];
  return {
    accountId: row.accountId,
    chainName: row.chainName,
    app: { appId: row.appId, appName: row.appName },
    userKeyType: row.userKeyType === "passkey" ? "passkey" : "device",
    accountKey: toKey(row.accountKeyAlgorithm, row.accountKey),
    deviceKey: toKey(row.deviceKeyAlgorithm, row.deviceKey),
    device: row.deviceAttributes as unknown as DeviceAttributes,
    deviceId: row.deviceId,
    sessionId: row.sessionId!,
    profileImageUrl: row.profileImageUrl,
    createdAt: row.createdAt,
    done: new Set(steps.filter(([, column]) => row[column] !== null).map(([step]) => step)),
    leaseUntil: row.leaseUntil,
  };
}

/** A session without its end. */
export type SessionRow = Omit<WholeSessionRow, "endedAt" | "endedCause">;

export function toSession(row: SessionRow & Partial<WholeSessionRow>): Session {
  const { appId, appName, deviceKeyAlgorithm, accountKeyAlgorithm, endedAt: _at, endedCause: _cause, ...rest } = row;
  return {
    ...rest,
    app: { appId, appName },
    deviceKey: toKey(deviceKeyAlgorithm, row.deviceKey),
    accountKey: toKey(accountKeyAlgorithm, row.accountKey),
    authTime: row.authTime ?? undefined,
    previousRefreshId: row.previousRefreshId ?? undefined,
    rotatedAt: row.rotatedAt ?? undefined,
    scope: row.scope === "full" ? "full" : "recover",
  };
}

/** Returns a new session with the names of its columns, for a statement that takes rows as JSON. */
export const toSessionColumns = (session: Session) => ({
  id: session.id,
  account_id: session.accountId,
  app_id: session.app.appId,
  app_name: session.app.appName,
  device_key_algorithm: session.deviceKey.algorithm,
  device_key: session.deviceKey.publicKey,
  account_key_algorithm: session.accountKey.algorithm,
  account_key: session.accountKey.publicKey,
  auth_time: session.authTime,
  created_at: session.createdAt,
  last_used_at: session.lastUsedAt,
  expires_at: session.expiresAt,
  refresh_id: session.refreshId,
  refresh_expires_at: session.refreshExpiresAt,
  proof_required: session.proofRequired,
  scope: session.scope,
  ended_cause: "",
});

export function toTwoFactorSignIn(row: TwoFactorSignInRow): TwoFactorSignIn {
  const { appId, appName, accountKeyAlgorithm, deviceKeyAlgorithm, deviceAttributes, ...columns } = row;
  const { transactionId: _id, transactionRefUrl: _url, ...rest } = columns;
  return {
    ...rest,
    app: { appId, appName },
    userKeyType: row.userKeyType === "passkey" ? "passkey" : "device",
    accountKey: toKey(accountKeyAlgorithm, row.accountKey),
    deviceKey: toKey(deviceKeyAlgorithm, row.deviceKey),
    device: deviceAttributes as unknown as DeviceAttributes,
    authTime: row.authTime ?? undefined,
    enrolledAt: row.enrolledAt ?? undefined,
    finishedAt: row.finishedAt ?? undefined,
  };
}

export function toTwoFactorSignInRow(signIn: TwoFactorSignIn): Prisma.TwoFactorSignInUncheckedCreateInput {
  const { app, accountKey, deviceKey, device, authTime, enrolledAt, finishedAt, ...rest } = signIn;
  return {
    ...rest,
    ...app,
    accountKeyAlgorithm: accountKey.algorithm,
    accountKey: accountKey.publicKey,
    deviceKeyAlgorithm: deviceKey.algorithm,
    deviceKey: deviceKey.publicKey,
    deviceAttributes: { ...device },
    authTime: authTime ?? null,
    enrolledAt: enrolledAt ?? null,
    finishedAt: finishedAt ?? null,
  };
}
