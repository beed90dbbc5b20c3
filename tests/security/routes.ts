import { randomUUID } from "node:crypto";
import { chainName } from "../support/person.ts";
import { attackerPhone, type Victim } from "./attacker.ts";

/** A valid request of a route, without the token. */
export interface Sample {
  path: string;
  body?: Record<string, unknown>;
}

/** One row per route of the gateway. */
export interface HostileRoute {
  operationId: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path as in the route table: `/auth/v1/sessions/{id}`. */
  path: string;
  /** Whether the gateway requires a token. */
  token: "none" | "optional" | "required";
  /** Returns a sample that is valid in every field and can be sent repeatedly without relevant effects. */
  sample(victim: Victim): Sample;
  /** The answer to the sample: the status of success, or the error of the last rule. */
  answers: (200 | 204 | string)[];
  /** Sent with the token of an account that does not exist, since it would affect a real one. */
  asNobody?: boolean;
}

const login = ({ idToken, nonce }: Victim) => ({
  method: "id_token_channel",
  token: idToken,
  provider: "dev",
  redirectUri: "",
  codeVerifier: "",
  nonce,
});

const device = ({ deviceKey: { publicKey } }: Victim) => ({
  publicKey,
  algorithm: "ES256",
  pushToken: "",
  name: "Phone",
  osName: "OS",
  osVersion: "1",
  deviceManufacturer: "M",
  deviceModel: "X",
  lang: "en",
  type: "mobile",
  sdkVersion: "1",
});

const userKey = (victim: Victim) => ({
  type: "device",
  publicKey: victim.deviceKey.publicKey,
  algorithm: "ES256",
  device: device(victim),
});

/** Returns the path of a device that does not exist, with a new key each time. */
const nobodysDevice = () => `/device/v1/devices/${attackerPhone().deviceKey.publicKey}`;

type Row = Pick<HostileRoute, "method" | "path" | "operationId" | "token">;

/** Describes a route without a body, or one whose answer to any body is the same in the samples' state. */
function plain(row: Row, answers: HostileRoute["answers"], body?: Record<string, unknown>): HostileRoute {
  const path = row.path.replace("{id}", randomUUID()).replace("{publicKey}", "ab".repeat(64));
  return { ...row, answers, sample: () => ({ path, ...(body && { body }) }) };
}

const row = (
  method: HostileRoute["method"],
  path: string,
  operationId: string,
  token: HostileRoute["token"] = "required",
): Row => ({ method, path, operationId, token });

/** Every route, with a valid request. A test compares the list with the gateway's routes. */
export const HOSTILE_ROUTES: readonly HostileRoute[] = [
  {
    ...row("POST", "/auth/v1/signup", "signUp", "optional"),
    // The identity has its account: valid to the last field, and refused.
    answers: ["AccountExists"],
    sample: (victim) => ({
      path: "/auth/v1/signup",
      body: {
        ...login(victim),
        chainName,
        userKey: userKey(victim),
      },
    }),
  },
  {
    ...row("POST", "/auth/v1/token/refresh", "refreshToken", "none"),
    answers: ["InvalidRefreshToken"],
    sample: (victim) => ({
      path: "/auth/v1/token/refresh",
      // An access token is no refresh token.
      body: { refreshToken: victim.signedUp.credentials.accessToken, proof: "ab".repeat(64) },
    }),
  },
  { ...row("POST", "/auth/v1/signout", "signOut"), answers: [204], sample: () => ({ path: "/auth/v1/signout" }) },
  plain(row("GET", "/auth/v1/sessions", "listSessions"), [200]),
  plain(row("DELETE", "/auth/v1/sessions/{id}", "endSession"), ["SessionNotFound"]),
  plain(row("DELETE", "/auth/v1/sessions", "endOtherSessions"), [204]),
  {
    ...row("POST", "/auth/v1/signin/challenge", "issueChallenge", "none"),
    answers: [200],
    sample: (victim) => ({
      path: "/auth/v1/signin/challenge",
      body: {
        challengeType: "deviceKey",
        request: { ...login(victim), chainName },
        publicKey: victim.deviceKey.publicKey,
        algorithm: "ES256",
        passKey: { username: "" },
      },
    }),
  },
  {
    ...row("POST", "/auth/v1/signin/challenge/respond", "respondChallenge", "none"),
    answers: ["UnknownChallenge"],
    sample: () => ({
      path: "/auth/v1/signin/challenge/respond",
      body: {
        challengeType: "deviceKey",
        challengeData: "000102030405060708090a0b0c0d0e0f",
        deviceKey: { signature: "ab".repeat(64) },
        passKey: { clientDataJSON: "data", authenticatorData: "AAAA", signature: "AAAA" },
      },
    }),
  },
  plain(row("GET", "/device/v1/devices", "listDevices"), [200]),
  {
    ...row("PUT", "/device/v1/devices/{publicKey}", "updateDevice"),
    answers: ["DeviceNotFound"],
    sample: (victim) => {
      const { publicKey: _key, algorithm: _algorithm, type: _type, ...attributes } = device(victim);
      return { path: nobodysDevice(), body: { id: "", ...attributes } };
    },
  },
  {
    ...row("DELETE", "/device/v1/devices/{publicKey}", "removeDevice"),
    answers: ["DeviceNotFound"],
    sample: () => ({ path: nobodysDevice() }),
  },
  plain(row("GET", "/key/v1/keys", "listKeys"), [200]),
  plain(row("GET", "/account/v1/me", "getMe"), [200]),
  ...(["transaction", "paymaster"] as const).map(
    (operation): HostileRoute => ({
      ...row(
        "POST",
        `/sign/v1/cadence/${operation}`,
        operation === "transaction" ? "signTransaction" : "signPaymaster",
      ),
      answers: ["InvalidMessage"],
      sample: () => ({ path: `/sign/v1/cadence/${operation}`, body: { message: "00".repeat(40), chainName } }),
    }),
  ),
  {
    ...row("POST", "/auth/v1/signin/2fa", "requestTwoFactor", "none"),
    // The account's own key asks to be added: valid to the last field, and refused.
    answers: ["KeyAlreadyRegistered"],
    sample: (victim) => ({
      path: "/auth/v1/signin/2fa",
      body: {
        request: { ...login(victim), chainName },
        userKey: userKey(victim),
      },
    }),
  },
  plain(
    row("POST", "/auth/v1/signin/2fa/finish", "finishTwoFactor"),
    // A session's token is not the ephemeral one of a request.
    ["InsufficientScope"],
    { twoFactorAuthRequestId: randomUUID() },
  ),
  plain(row("GET", "/device/v1/2fa", "listTwoFactor"), [200]),
  plain(row("POST", "/device/v1/2fa/reopen", "reopenTwoFactor"), [204]),
  plain(row("GET", "/device/v1/2fa/{id}", "getTwoFactor"), ["TwoFactorAuthNotFound"]),
  plain(row("PUT", "/device/v1/2fa/{id}", "redirectTwoFactor"), ["TwoFactorAuthNotFound"], {
    destDeviceId: randomUUID(),
  }),
  plain(row("DELETE", "/device/v1/2fa/{id}", "rejectTwoFactor"), ["TwoFactorAuthNotFound"]),
  plain(row("POST", "/device/v1/2fa/{id}/approve", "approveTwoFactor"), ["TwoFactorAuthNotFound"], {
    signature: "ab".repeat(64),
    clientDataJSON: "data",
    authenticatorData: "AAAA",
  }),
  plain(row("GET", "/device/v1/events", "watchEvents"), [200, "RateLimited"]),
  plain(row("GET", "/account/v1/time-locks", "listTimeLocks"), [200]),
  plain(row("DELETE", "/account/v1/time-locks/{id}", "cancelTimeLock"), ["TimeLockNotFound"]),
  {
    ...row("POST", "/key/v1/recovery", "registerRecoveryKey"),
    // The account's own device key: valid to the last field, and refused.
    answers: ["KeyAlreadyRegistered"],
    sample: (victim) => ({
      path: "/key/v1/recovery",
      body: {
        recoveryKey: {
          publicKey: victim.deviceKey.publicKey,
          algorithm: "ES256",
          cloudKey: { accountName: "somebody@cloud.example" },
        },
        chainName,
      },
    }),
  },
  {
    ...row("DELETE", "/key/v1/keys/{publicKey}", "reportRevocation"),
    answers: ["KeyNotFound"],
    sample: () => ({ path: `/key/v1/keys/${attackerPhone().deviceKey.publicKey}?txId=${"ab".repeat(32)}` }),
  },
  plain(row("POST", "/account/v1/parent", "linkParent"), ["ParentNotLinked"]),
  plain(row("GET", "/account/v1/networks", "listNetworks"), [200]),
  plain(row("GET", "/sign/v1/cadence/templates", "listTemplates"), [200]),
  {
    ...row("POST", "/account/v1/messages", "prepareMessage"),
    answers: [200],
    sample: () => ({
      path: "/account/v1/messages",
      body: {
        template: "add-recovery-key",
        chainName,
        publicKey: attackerPhone().deviceKey.publicKey,
        algorithm: "ES256",
        address: "0x01cf0e2f2f715450",
      },
    }),
  },
  plain(row("GET", "/account/v1/server-key-rotation", "listServerKeyRotations"), [200]),
  {
    ...row("POST", "/account/v1/server-key-rotation", "rotateServerKey"),
    answers: ["InvalidMessage"],
    sample: () => ({
      path: "/account/v1/server-key-rotation",
      body: { chainName, message: "00".repeat(40), signature: "ab".repeat(64), extensionData: "ab" },
    }),
  },
  { ...plain(row("POST", "/account/v1/freeze", "freezeAccount"), [204]), asNobody: true },
  {
    ...plain(row("POST", "/account/v1/unfreeze", "unfreezeAccount"), [204]),
    asNobody: true,
  },
];
