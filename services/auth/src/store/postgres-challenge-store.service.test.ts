import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { Challenge } from "../domain/sign-in/ports.ts";
import { respondChallenge } from "../domain/sign-in/respond-challenge.ts";
import { app, clock, now, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";

const someChallenge = (change: Partial<Challenge> = {}): Challenge => ({
  data: uuidv4().replaceAll("-", ""),
  type: "device-key",
  accountId: uuidv7(clock),
  chainName: "c",
  app,
  signer: undefined,
  key: undefined,
  authTime: now,
  expiresAt: new Date(now.getTime() + 1000),
  ...change,
});

describe("challenges", () => {
  it("keep when the person logged in and the key's registration, and that they are not known", async () => {
    const challenges = postgresChallengeStore(postgres);
    const { publicKey } = generateKeyPair();
    const key = { type: "device", accountKey: publicKey, deviceKey: publicKey, origin: "sign-up" } as const;
    for (const authTime of [now, undefined]) {
      const challenge = someChallenge({ key: authTime && { ...key, readAt: authTime }, authTime });
      await challenges.insert(challenge);
      expect(await challenges.find(challenge.data)).toEqual(challenge);
    }
  });

  it("ten right answers at once open one session; five wrong ones end it", async () => {
    const challenges = postgresChallengeStore(postgres);
    const pair = generateKeyPair();
    const { signMessage } = await import("@countersign/keys/node");
    const respond = respondChallenge({
      challenges,
      findSignInKey: async () => ({
        type: "device" as const,
        accountKey: pair.publicKey,
        deviceKey: pair.publicKey,
        origin: "sign-up",
      }),
      recordKeyUse: () => undefined,
      listPasskeys: async () => [],
      passkeys: { relyingPartiesOf: () => [] },
      clock,
      limitSignIns: () => undefined,
      issue: async () => ({ accessToken: "", refreshToken: "" }),
    });
    const newChallenge = async () => {
      const data = uuidv4().replaceAll("-", "");
      const accountId = uuidv7(clock);
      const expiresAt = new Date(now.getTime() + 1000);
      await challenges.insert({
        data,
        type: "device-key",
        accountId,
        chainName: "c",
        app,
        signer: pair.publicKey,
        key: undefined,
        authTime: now,
        expiresAt,
      });
      const answer = (message = data) =>
        respond({
          data,
          answer: { type: "device-key", signature: signMessage(pair.privateKey, Buffer.from(message, "hex")) },
          context: { requestId: "", signal: new AbortController().signal },
          count: async () => undefined,
          findAccount: async () => undefined,
        });
      return { accountId, answer };
    };
    const good = await newChallenge();
    const answers = await Promise.allSettled(times(10, () => good.answer()));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await prisma.session.count({ where: { accountId: good.accountId } })).toBe(1);

    const guessed = await newChallenge();
    const guesses = await Promise.allSettled(times(8, () => guessed.answer("00")));
    const reasons = guesses.map((guess) => guess.status === "rejected" && guess.reason.reason);
    expect(reasons.filter((reason) => reason === "InvalidSignature")).toHaveLength(5);
    await expect(guessed.answer()).rejects.toMatchObject({ reason: "UnknownChallenge" });
  });

  it("are over with the fifth wrong answer, also for a right one that is under way", async () => {
    const challenges = postgresChallengeStore(postgres);
    const { data } = someChallenge();
    await challenges.insert(someChallenge({ data }));
    const wrong: boolean[] = [];
    for (let i = 0; i < 6; i++) {
      expect((await challenges.find(data))?.data).toBe(i < 5 ? data : undefined);
      wrong.push(await challenges.countWrongAnswer(data));
    }
    expect(wrong).toEqual([true, true, true, true, true, false]);
    const session = someSession();
    expect(await challenges.succeed(data, session, "")).toBe(false);
    expect(await challenges.succeed(data, session, "", { key: session.accountKey, signCount: 1 })).toBe(false);
    const where = { accountId: session.accountId };
    expect([await prisma.session.count({ where }), await prisma.passkeyCounter.count({ where })]).toEqual([0, 0]);
  });

  it("are used for a copy of the answer, also with a counter and with others open", async () => {
    const challenges = postgresChallengeStore(postgres);
    const [answered, open] = [someChallenge(), someChallenge()];
    for (const each of [answered, open]) await challenges.insert(each);
    const session = someSession();
    expect(await challenges.succeed(answered.data, session, "", { key: session.accountKey, signCount: 7 })).toBe(true);
    const copy = { ...session, id: uuidv7(clock) };
    expect(await challenges.succeed(answered.data, copy, "", { key: session.accountKey, signCount: 7 })).toBe(false);
    expect(await challenges.find(open.data)).toEqual(open);
  });
});
