import { beforeAll, describe, expect, it } from "vitest";
import { chainName } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, newVictim, remember, type Victim } from "./attacker.ts";
import { secret } from "./secrets.ts";
import { mintAccessToken, query } from "./token-forge.ts";

let victim: Victim;
let other: Victim;
beforeAll(async () => {
  [victim, other] = await Promise.all([newVictim(), newVictim()]);
});

type Signer = Pick<Victim["deviceKey"], "sign">;

async function newChallenge(whose: Victim = victim): Promise<string> {
  const body = {
    challengeType: "deviceKey",
    request: { method: "id_token_channel", token: whose.idToken, chainName },
    publicKey: whose.deviceKey.publicKey,
  };
  const answer = await send({ method: "POST", path: "/auth/v1/signin/challenge", body });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.challengeData;
}

async function signed(data: string, by: Signer = victim.deviceKey): Promise<string> {
  return secret("signature of a challenge", Buffer.from(await by.sign(Buffer.from(data, "hex"))).toString("hex"));
}

const respond = (challengeData: string, signature: string, more: Record<string, unknown> = {}) =>
  send({
    method: "POST",
    path: "/auth/v1/signin/challenge/respond",
    body: { challengeType: "deviceKey", challengeData, deviceKey: { signature }, ...more },
  });

async function sessionCount(whose: Victim): Promise<number> {
  const rows = await query("auth", "SELECT 1 FROM session WHERE account_id = $1", [whose.accountId]);
  return rows.length;
}

/** Returns the DER form of a raw signature. */
function der(raw: string): string {
  const integer = (hex: string) => {
    const digits = hex.replace(/^(00)+/, "") || "00";
    const positive = Number.parseInt(digits.slice(0, 2), 16) & 0x80 ? `00${digits}` : digits;
    return `02${(positive.length / 2).toString(16).padStart(2, "0")}${positive}`;
  };
  const body = integer(raw.slice(0, 64)) + integer(raw.slice(64));
  return `30${(body.length / 2).toString(16).padStart(2, "0")}${body}`;
}

const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const hex32 = (value: bigint) => value.toString(16).padStart(64, "0");
const twin = (raw: string) => raw.slice(0, 64) + hex32(N - BigInt(`0x${raw.slice(64)}`));

describe("a challenge succeeds once", () => {
  it("a replay is unknown, also in a non-canonical encoding of challenge or signature", async () => {
    const data = await newChallenge();
    const signature = await signed(data);
    const first = await respond(data, signature);
    expect(first.status, first.text).toBe(200);
    remember(first.body);
    for (const [challenge, answer] of [
      [data, signature],
      [`0x${data}`, signature],
      [data.toUpperCase(), signature.toUpperCase()],
      [data, der(signature)],
      [data, twin(signature)],
      [data, await signed(data)],
    ] as const) {
      expectProblem(await respond(challenge, answer), 400, "UnknownChallenge");
    }
  });

  it("exactly one of twenty concurrent answers wins, in every encoding", async () => {
    const data = await newChallenge();
    const before = await sessionCount(victim);
    const signature = await signed(data);
    const forms = [signature, der(signature), twin(signature), await signed(data), signature.toUpperCase()];
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => respond(data, forms[i % forms.length]!)));
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    remember(winners[0]!.body);
    for (const answer of answers) if (answer.status !== 200) expectProblem(answer, 400, "UnknownChallenge");
    expect(await sessionCount(victim)).toBe(before + 1);
  });

  it("five wrong answers end it: the sixth, correct one is rejected", async () => {
    const data = await newChallenge();
    for (let i = 0; i < 5; i++) {
      expectProblem(await respond(data, await signed(data, attackerPhone().deviceKey)), 401, "InvalidSignature");
    }
    expectProblem(await respond(data, await signed(data)), 400, "UnknownChallenge");
  });

  it("four wrong answers do not", async () => {
    const data = await newChallenge();
    for (let i = 0; i < 4; i++) expectProblem(await respond(data, "ab".repeat(64)), 401, "InvalidSignature");
    const answer = await respond(data, await signed(data));
    expect(answer.status).toBe(200);
    remember(answer.body);
  });

  it("only five of fifty concurrent wrong answers are checked", async () => {
    const data = await newChallenge();
    const answers = await Promise.all(Array.from({ length: 50 }, () => respond(data, "ab".repeat(64))));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
    expectProblem(await respond(data, await signed(data)), 400, "UnknownChallenge");
  });

  it("a late answer finds it expired", async () => {
    const data = await newChallenge();
    await query("auth", "UPDATE challenge SET expires_at = now() - interval '1 second' WHERE data = $1", [data]);
    expectProblem(await respond(data, await signed(data)), 400, ["ChallengeExpired", "UnknownChallenge"]);
  });

  it("it lives five minutes, and no two are the same", async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => newChallenge()));
    expect(new Set(all).size).toBe(10);
    const rows = await query<{ left: number }>(
      "auth",
      "SELECT extract(epoch FROM expires_at - now())::float AS left FROM challenge WHERE data = ANY($1)",
      [all],
    );
    expect(rows).toHaveLength(10);
    for (const { left } of rows) expect(left).toBeGreaterThan(280);
    for (const { left } of rows) expect(left).toBeLessThanOrEqual(300);
  });
});

describe("only the named key answers it", () => {
  it.each<[string, (data: string) => Promise<string>]>([
    ["another phone's signature", (data) => signed(data, attackerPhone().deviceKey)],
    ["another account's signature", (data) => signed(data, other.deviceKey)],
    ["a signature of the text instead of the bytes", (data) => signed(Buffer.from(data).toString("hex"))],
    ["a signature of another challenge", async () => signed(await newChallenge())],
    ["a signature of the challenge twice", (data) => signed(data + data)],
    ["a signature of nothing", () => signed("")],
    ["zeros", async () => "00".repeat(64)],
    ["r and s of the order", async () => hex32(N) + hex32(N)],
    ["r of zero", async (data) => "00".repeat(32) + (await signed(data)).slice(64)],
    ["s of zero", async (data) => (await signed(data)).slice(0, 64) + "00".repeat(32)],
    [
      "s plus the order",
      async (data) => {
        const raw = await signed(data);
        return raw.slice(0, 64) + hex32((BigInt(`0x${raw.slice(64)}`) + N) & ((1n << 256n) - 1n));
      },
    ],
    [
      "r and s exchanged",
      async (data) => {
        const raw = await signed(data);
        return raw.slice(64) + raw.slice(0, 64);
      },
    ],
    ["a byte too many", async (data) => `${await signed(data)}00`],
    ["a byte too few", async (data) => (await signed(data)).slice(2)],
    ["DER with a byte behind it", async (data) => `${der(await signed(data))}00`],
    ["DER in BER's long form", async (data) => der(await signed(data)).replace(/^30(..)/, "3081$1")],
    ["one byte", async () => "00"],
    ["256 bytes", async () => "ab".repeat(256)],
  ])("%s is refused", async (_, make) => {
    const data = await newChallenge();
    expectProblem(await respond(data, await make(data)), 401, "InvalidSignature");
    // The attempts do not block the owner.
    const answer = await respond(data, await signed(data));
    expect(answer.status, answer.text).toBe(200);
    remember(answer.body);
  });

  it("a passkey's answer does not fit a device key's challenge", async () => {
    const data = await newChallenge();
    const answer = await respond(data, await signed(data), {
      challengeType: "passKey",
      passKey: { clientDataJSON: "{}", authenticatorData: "AAAA", signature: "AAAA" },
    });
    expectProblem(answer, 400, "ChallengeTypeMismatch");
    const right = await respond(data, await signed(data));
    expect(right.status).toBe(200);
    remember(right.body);
  });

  it.each(["00".repeat(15), "00".repeat(17), "00".repeat(32), "00".repeat(64), "00", "ff".repeat(16)])(
    "a challenge that was never issued is unknown: %s",
    async (data) => expectProblem(await respond(data, "ab".repeat(64)), 400, "UnknownChallenge"),
  );

  it("one account's token opens no challenge of another and does not reveal a key's owner", async () => {
    const ask = (whose: Victim, publicKey: string) =>
      send({
        method: "POST",
        path: "/auth/v1/signin/challenge",
        body: {
          challengeType: "deviceKey",
          request: { method: "id_token_channel", token: whose.idToken, chainName },
          publicKey,
        },
      });
    const theirs = await ask(victim, other.deviceKey.publicKey);
    const nobodys = await ask(victim, attackerPhone().deviceKey.publicKey);
    expectProblem(theirs, 400, "PleaseRegisterKey");
    expectProblem(nobodys, 400, "PleaseRegisterKey");
    expect({ ...theirs.body, instance: "" }).toEqual({ ...nobodys.body, instance: "" });
  });

  it("a session that a challenge opens is its own account's", async () => {
    const data = await newChallenge(other);
    const answer = await respond(data, await signed(data, other.deviceKey));
    expect(answer.body.account.id).toBe(other.accountId);
    remember(answer.body);
    const me = await send({ method: "GET", path: "/account/v1/me", token: await mintAccessToken(other) });
    expect(me.body.account.id).toBe(other.accountId);
  });
});

afterwards();
