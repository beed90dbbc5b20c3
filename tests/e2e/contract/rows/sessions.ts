import { randomUUID } from "node:crypto";
import { z } from "zod";
import { chainName, logIn, newPhone, secondPhone, signUpPerson, tokenOf } from "../../../support/person.ts";
import { nobodysToken } from "../common-codes.ts";
import { exchange } from "../exchange.ts";
import { exhausted, once, signed } from "../people.ts";
import { credentials, identityToken, session } from "../resources.ts";
import { type Rows, seenIn } from "../rows.ts";

const person = once(signUpPerson);

/** The person's other phone. */
const otherPhone = once(async () => secondPhone(await person()));

/** Returns a new session of the person's other phone, in the place of its older one; its tokens. */
async function newSession() {
  const { email } = await person();
  const other = await otherPhone();
  const { client } = other;
  const login = await logIn(email);
  const { challengeData } = await client.requestChallenge({ login, chainName });
  const signature = await signed(other, challengeData);
  const body = { challengeType: "deviceKey", challengeData, deviceKey: { signature } };
  const answer = await exchange("respondChallenge", { body });
  return answer.body.credentials as { accessToken: string; refreshToken: string };
}

const refresh = (refreshToken: string, proof?: string) =>
  exchange("refreshToken", { body: { refreshToken, ...(proof !== undefined && { proof }) } });

/** Returns the bytes that a refresh token's proof signs, as hex. */
const proofMessage = (refreshToken: string): string =>
  Buffer.from(`countersign-token-refresh\n${refreshToken}`).toString("hex");

export const sessions: Rows = {
  refreshToken: {
    success: async () => refresh((await newSession()).refreshToken),
    answer: z.strictObject({ credentials }),
    codes: {
      InvalidRefreshToken: async () => refresh((await newSession()).accessToken),
      SessionEnded: async () => {
        const { accessToken, refreshToken } = await newSession();
        await exchange("signOut", { token: accessToken });
        return refresh(refreshToken);
      },
      RefreshTokenReused: async () => {
        const { refreshToken: first } = await newSession();
        const second = (await refresh(first)).body.credentials.refreshToken;
        await refresh(second);
        return refresh(first);
      },
      RefreshProofRequired: async () => {
        const { refreshToken } = await newSession();
        const proved = await refresh(refreshToken, await signed(await otherPhone(), proofMessage(refreshToken)));
        return refresh(proved.body.credentials.refreshToken);
      },
      InvalidSignature: async () => {
        const { refreshToken } = await newSession();
        return refresh(refreshToken, await signed(newPhone(), proofMessage(refreshToken)));
      },
      RateLimited: async () => {
        const { refreshToken } = await newSession();
        return exhausted("refresh", () => refresh(refreshToken));
      },
    },
    hostile: {
      answers: ["InvalidRefreshToken"],
      // An access token is no refresh token.
      sample: ({ signedUp: { credentials } }) => ({
        body: { refreshToken: credentials.accessToken, proof: "ab".repeat(64) },
      }),
    },
  },
  signOut: {
    success: async () => exchange("signOut", { token: (await newSession()).accessToken }),
    codes: {},
  },
  issueIdentityToken: {
    success: async () => exchange("issueIdentityToken", { token: tokenOf(await person()), body: { nonce: "n" } }),
    answer: identityToken,
    codes: {},
    hostile: { sample: () => ({ body: { nonce: "n" } }) },
    besides: "docs/identity-token.md",
  },
  listSessions: {
    success: async () => exchange("listSessions", { token: tokenOf(await person()) }),
    answer: z.strictObject({ sessions: z.array(session).min(1) }),
    codes: {},
  },
  endSession: {
    success: async () => {
      const { accessToken } = await newSession();
      const own = (await exchange("listSessions", { token: accessToken })).body.sessions;
      const { id } = own.find(({ current }: { current: boolean }) => current);
      return exchange("endSession", { token: tokenOf(await person()), name: id });
    },
    codes: {
      SessionNotFound: async () => exchange("endSession", { token: tokenOf(await person()), name: randomUUID() }),
      InvalidRequest: async () => exchange("endSession", { token: await nobodysToken(), name: "1" }),
      TimeLockContested: seenIn("services/auth/src/store/postgres-session-store.service.test.ts"),
    },
    hostile: { answers: ["SessionNotFound"] },
  },
  endOtherSessions: {
    success: async () => exchange("endOtherSessions", { token: tokenOf(await person()) }),
    codes: {},
  },
};
