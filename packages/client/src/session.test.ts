import { describe, expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { SessionEndedError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";

const deviceKey = generateDeviceKey();
const credentials = { accessToken: "access-1", refreshToken: "refresh-1" };
const next = { accessToken: "access-2", refreshToken: "refresh-2" };
const login = { method: "id_token_channel", token: "id-token" } as const;
const chainName = "flow-emulator";
const expired: Answer = [401, { error: "AccessTokenExpired" }];
const unreachable = new TypeError("fetch failed");
const signedIn: Answer = [200, { account: {}, transaction: {}, credentials: next }];

function setUp(...answers: Answer[]) {
  const { seen, fetch } = fakeServer(...answers);
  const kept: (Credentials | undefined)[] = [];
  const onCredentials = (pair: Credentials | undefined) => kept.push(pair);
  const client = new CountersignClient({
    baseUrl: "http://gateway.test",
    deviceKey,
    fetch,
    credentials,
    onCredentials,
  });
  const paths = () => seen.map(({ path }) => path);
  const tokens = () => seen.map(({ headers }) => headers.get("authorization"));
  return { client, kept, paths, tokens };
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the account of a session", () => {
  it("is reported to listeners where another person signs in without a sign-out", async () => {
    const pairOf = (sub: string): Credentials => ({
      accessToken: `e30.${Buffer.from(JSON.stringify({ sub })).toString("base64url")}.e30`,
      refreshToken: `refresh-${sub}`,
    });
    const opened = (sub: string): Answer => [200, { account: {}, transaction: {}, credentials: pairOf(sub) }];
    const { client } = setUp(opened("ada"), opened("ada"), opened("grace"));
    const seen: unknown[] = [];
    client.session.subscribe(() => seen.push(client.session.accountId));
    for (let i = 0; i < 3; i++) await client.signUp({ login, chainName });
    expect(client.session).toMatchObject({ state: "signed-in", accountId: "grace" });
    expect(seen).toEqual(["ada", "grace"]);
  });
});

describe("a session that is over", () => {
  it.each(["InvalidRefreshToken", "RefreshTokenReused", "SessionEnded"])(
    "drops its tokens when refreshing answers %s, and sign-up sends no token",
    async (error) => {
      const { client, kept, tokens } = setUp(expired, [401, { error }], signedIn);
      const thrown = await errorOf(client.me());
      expect(thrown).toBeInstanceOf(SessionEndedError);
      expect(thrown).toMatchObject({ status: 401, error });
      expect(client.credentials).toBeUndefined();
      expect(kept).toEqual([undefined]);
      await client.signUp({ login, chainName });
      expect(tokens()[2]).toBeNull();
      expect(kept).toEqual([undefined, next]);
    },
  );

  it("drops its tokens when any call answers SessionEnded, without refreshing", async () => {
    const { client, kept, paths } = setUp([401, { error: "SessionEnded" }]);
    expect(await errorOf(client.me())).toBeInstanceOf(SessionEndedError);
    expect(kept).toEqual([undefined]);
    expect(paths()).toEqual(["/account/v1/me"]);
  });

  it("refreshes once for all calls, which get the same error", async () => {
    const { client, kept, paths } = setUp(expired, expired, expired, [401, { error: "InvalidRefreshToken" }]);
    const errors = await Promise.all([client.me(), client.keys(), client.devices()].map(errorOf));
    expect(paths().filter((path) => path.endsWith("/token/refresh"))).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(SessionEndedError);
    expect(new Set(errors).size).toBe(1);
    expect(kept).toEqual([undefined]);
  });

  it("gives a call that was still under way the same error", async () => {
    let answerLate = (_: Response) => {};
    const late = new Promise<Response>((resolve) => {
      answerLate = resolve;
    });
    const { fetch } = fakeServer(expired, [401, { error: "SessionEnded" }]);
    const client = new CountersignClient({
      baseUrl: "http://gateway.test",
      deviceKey,
      credentials,
      fetch: (input, init) => (String(input).endsWith("/devices") ? late : fetch(input, init)),
    });
    const devices = errorOf(client.devices());
    const first = await errorOf(client.me());
    answerLate(Response.json({ error: "AccessTokenExpired" }, { status: 401 }));
    expect(await devices).toBe(first);
  });

  it("does not take the tokens of a session that was opened meanwhile", async () => {
    let answerLate = (_: Response) => {};
    const late = new Promise<Response>((resolve) => {
      answerLate = resolve;
    });
    const { fetch } = fakeServer([200, { challengeData: "00".repeat(16) }], signedIn);
    const client = new CountersignClient({
      baseUrl: "http://gateway.test",
      deviceKey,
      credentials,
      fetch: (input, init) => (String(input).includes("signin") ? fetch(input, init) : late),
    });
    const refreshed = errorOf(client.refresh());
    await client.signIn({ login, chainName });
    answerLate(Response.json({ error: "SessionEnded" }, { status: 401 }));
    expect(await refreshed).toBeInstanceOf(SessionEndedError);
    expect(client.credentials).toEqual(next);
  });

  it("lets a sign-up that notices it go on without the token", async () => {
    const { client, tokens } = setUp([401, { error: "SessionEnded" }], signedIn);
    await client.signUp({ login, chainName });
    expect(tokens()).toEqual(["Bearer access-1", null]);
    expect(client.credentials).toEqual(next);
  });

  it.each<[string, Answer[]]>([
    ["its access token", [[401, { error: "SessionEnded" }]]],
    ["its refresh token", [expired, [401, { error: "InvalidRefreshToken" }]]],
    ["an access token that is not valid", [[401, { error: "InvalidAccessToken" }]]],
  ])("signs out all the same, known by %s", async (_, answers) => {
    const { client, kept, paths } = setUp(...answers);
    await client.signOut();
    await client.signOut();
    expect(kept).toEqual([undefined]);
    expect(paths()).toHaveLength(answers.length);
  });
});

describe("a session that may still be open", () => {
  it.each<[string, Answer]>([
    ["a broken network", unreachable],
    ["a server in trouble", [503, { error: "Unavailable" }]],
    ["a limit", [429, { error: "RateLimited" }]],
    ["a proof that is missing", [401, { error: "RefreshProofRequired" }]],
    ["an answer without tokens", [200, {}]],
    ["an answer with one token", [200, { credentials: { accessToken: "access-2" } }]],
  ])("keeps its tokens after %s", async (_, answer) => {
    const refreshing = setUp(expired, answer);
    expect(await errorOf(refreshing.client.me())).toBeDefined();
    const signingOut = setUp(answer);
    if (answer instanceof Error || ![200, 401].includes(answer[0])) {
      expect(await errorOf(signingOut.client.signOut())).toBeDefined();
      expect(signingOut.client.credentials).toEqual(credentials);
    }
    expect(refreshing.client.credentials).toEqual(credentials);
    expect(refreshing.kept).toEqual([]);
  });

  it("goes on after a sign-up that is answered without tokens, which rejects", async () => {
    const { client, kept } = setUp([200, { account: {}, transaction: {} }]);
    expect(await errorOf(client.signUp({ login, chainName }))).toMatchObject({ status: 200, error: "Unknown" });
    expect(client.credentials).toEqual(credentials);
    expect(kept).toEqual([]);
  });

  it("is not opened again by a refresh that a sign-out overtook", async () => {
    let answerLate = (_: Response) => {};
    const late = new Promise<Response>((resolve) => {
      answerLate = resolve;
    });
    const client = new CountersignClient({
      baseUrl: "http://gateway.test",
      deviceKey,
      credentials,
      fetch: async (input) => (String(input).endsWith("/refresh") ? late : new Response(null, { status: 204 })),
    });
    const refreshed = client.refresh();
    await client.signOut();
    answerLate(Response.json({ credentials: next }));
    await refreshed;
    expect(client.credentials).toBeUndefined();
  });
});
