import { formatTraceParent, hasAtMost, invalidField } from "@countersign/core";
import {
  AttestationType,
  LoginMethod,
  type LoginToken,
  type Attestation as ProtoAttestation,
} from "@countersign/proto/auth/v1/login.ts";
import type { SignUpRequest } from "@countersign/proto/auth/v1/sign_up.ts";
import { DeviceAttributes, type UserKey } from "@countersign/proto/common/v1/types.ts";
import {
  accountOf,
  type CallContext,
  deviceAttributes,
  nameOf,
  parseRequest,
  USER_KEY_TYPES,
  validPublicKeyFromProto,
} from "@countersign/rpc";
import { z } from "zod";
import type { Attestation } from "../domain/attestation.ts";
import type { Login } from "../domain/login.ts";
import type { NewKeyRequest } from "../domain/new-key-request.ts";
import type { StepContext } from "../domain/sign-up/sign-up-saga.ts";

const MAX_TOKEN_CHARS = 16_384;
const MAX_TEXT_CHARS = 256;
const MAX_LONG_TEXT_CHARS = 4096;

function field(pointer: string, detail: string): never {
  throw invalidField(pointer, detail);
}

function limited(value: string, limit: number, pointer: string): string {
  return hasAtMost(value, limit) ? value : field(pointer, `at most ${limit} characters`);
}

const METHODS = new Map<number, Login["method"]>([
  [LoginMethod.LOGIN_METHOD_UNSPECIFIED, ""],
  [LoginMethod.LOGIN_METHOD_ID_TOKEN_CHANNEL, "id_token_channel"],
  [LoginMethod.LOGIN_METHOD_REDIRECT_CODE_CHANNEL, "redirect_code_channel"],
]);

/** Reads a login token; undefined means that none was sent. Errors: InvalidRequest. */
export function loginFrom(login: LoginToken | undefined): Login {
  return {
    method: METHODS.get(login?.method ?? 0) ?? field("/login/method", "unknown"),
    token: limited(login?.token ?? "", MAX_TOKEN_CHARS, "/login/token"),
    provider: limited(login?.provider ?? "", MAX_TEXT_CHARS, "/login/provider"),
    redirectUri: limited(login?.redirectUri ?? "", MAX_LONG_TEXT_CHARS, "/login/redirectUri"),
    codeVerifier: limited(login?.codeVerifier ?? "", MAX_TEXT_CHARS, "/login/codeVerifier"),
    nonce: limited(login?.nonce ?? "", MAX_TEXT_CHARS, "/login/nonce"),
  };
}

const ATTESTATION_TYPES = new Map<number, Attestation["type"]>([
  [AttestationType.ATTESTATION_TYPE_APP_ATTEST, "app-attest"],
  [AttestationType.ATTESTATION_TYPE_PLAY_INTEGRITY, "play-integrity"],
]);

/** Reads an attestation; undefined means that none was sent. Errors: InvalidRequest. */
function attestationFrom(attestation: ProtoAttestation | undefined): Attestation | undefined {
  if (!attestation) return undefined;
  return {
    type: ATTESTATION_TYPES.get(attestation.type) ?? field("/attestation/type", "unknown"),
    keyId: limited(attestation.keyId, MAX_TEXT_CHARS, "/attestation/keyId"),
    token: limited(attestation.token, MAX_TOKEN_CHARS, "/attestation/token"),
  };
}

const withDevice = z.object({ userKey: z.object({ device: deviceAttributes }) });

/** Reads a user key with its device. Errors: InvalidRequest, InvalidPublicKey. */
function userKeyFrom(userKey: UserKey | undefined) {
  const userKeyType = nameOf(USER_KEY_TYPES, userKey?.type);
  if (!userKey || !userKeyType) return field("/userKey/type", "unknown");
  const accountKey = validPublicKeyFromProto(userKey.accountKey, "/userKey/publicKey");
  const deviceKey = userKey.deviceKey
    ? validPublicKeyFromProto(userKey.deviceKey, "/userKey/device/publicKey")
    : accountKey;
  const { device } = parseRequest(withDevice, {
    userKey: { device: userKey.device ?? DeviceAttributes.create() },
  }).userKey;
  return { userKeyType, accountKey, deviceKey, device };
}

/** Reads a short text, such as the name of a chain. Errors: InvalidRequest. */
export const nameFrom = (value: string, pointer: string): string => limited(value, MAX_TEXT_CHARS, pointer);

/** Returns the context of the calls that are part of this one. */
export const contextOf = ({ requestId, trace, signal }: CallContext): StepContext => ({
  requestId,
  traceparent: formatTraceParent(trace),
  signal,
});

/** Reads a sign-up or the request of a new device. Errors: InvalidRequest, InvalidPublicKey. */
export const newKeyRequestFrom = (request: SignUpRequest, chainPointer: string, call: CallContext): NewKeyRequest => ({
  login: loginFrom(request.login),
  chainName: nameFrom(request.chainName, chainPointer),
  ...userKeyFrom(request.userKey),
  idempotencyKey: nameFrom(request.idempotencyKey, "/idempotencyKey"),
  attestation: attestationFrom(request.attestation),
  context: contextOf(call),
  accountFound: accountOf(call),
});
