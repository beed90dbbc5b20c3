import { AppError, type Reason } from "@countersign/errors";
import { systemClock, type VerifiedToken } from "@countersign/service-kit";
import { expect, it } from "vitest";
import { type SignUpOptions, signUp } from "./sign-up.ts";

const key = { algorithm: "ES256" as const, publicKey: "ab".repeat(64) };
const session = { accountId: "account", accountKey: key, sessionKey: key } as unknown as VerifiedToken;

/** Asks for an identity that has an account, with the token and its refusal. Returns the error. */
async function refused(token: VerifiedToken | undefined, tokenRefusal: Reason | undefined): Promise<AppError> {
  const claims: unknown[] = [];
  const options = {
    verifyLogin: async () => ({ issuer: "i", subject: "s", picture: "", app: { appId: "demo", appName: "Demo" } }),
    store: {
      claim: async (claim: { session: unknown }) => {
        claims.push(claim.session);
        return { kind: "account-exists" };
      },
    },
    chains: new Set(["flow"]),
    passkeys: { relyingPartiesOf: () => [] },
    clock: systemClock,
  } as unknown as SignUpOptions<never>;
  const command = {
    login: { method: "id-token", token: "t" },
    chainName: "flow",
    userKeyType: "device",
    userKey: key,
    deviceKey: key,
    device: {},
    idempotencyKey: "",
    token,
    tokenRefusal,
    requestId: "request-1",
  } as unknown as Parameters<ReturnType<typeof signUp>>[0];
  const error: unknown = await signUp(options)(command, new AbortController().signal).catch((thrown) => thrown);
  // A refused token is never a session.
  expect(claims).toEqual([token && { accountId: "account", accountKey: key, deviceKey: key }]);
  return error as AppError;
}

it("the error for an identity with an account says what was wrong with the session that was sent", async () => {
  const expired = await refused(undefined, "AccessTokenExpired");
  expect(expired).toMatchObject({ reason: "AccountExists" });
  expect(expired.detail).toContain("the access token that was sent does not count (AccessTokenExpired)");
  expect((await refused(undefined, undefined)).detail).toMatch(/sign in instead/);
  expect((await refused(session, undefined)).detail).toMatch(
    /a full session of this account and that session's own keys$/,
  );
});

it("where it cannot be known whether the session holds, the answer is Unavailable", async () => {
  expect(await refused(undefined, "Unavailable")).toBeInstanceOf(AppError);
  expect(await refused(undefined, "Unavailable")).toMatchObject({ reason: "Unavailable" });
});
