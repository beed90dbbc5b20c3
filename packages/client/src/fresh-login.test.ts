import { describe, expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { withFreshLogin } from "./fresh-login.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import type { Credentials } from "./resources.ts";
import { accessTokenOf } from "./testing/fake-auth.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";

const deviceKey = generateDeviceKey();
const stored = { accessToken: "old", refreshToken: "r" };
const fresh = { accessToken: "fresh", refreshToken: "r-2" };
const chainName = "flow-emulator";
const tooOld: Answer = [403, { error: "LoginTooOld" }];
const signIn: Answer[] = [
  [200, { challengeData: "00".repeat(16) }],
  [200, { account: {}, transaction: {}, credentials: fresh }],
];

function setUp(credentials: Credentials, ...answers: Answer[]) {
  const { seen, fetch } = fakeServer(...answers);
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, credentials });
  const logins: object[] = [];
  const logIn = async (request: object) => {
    logins.push(request);
    return { method: "id_token_channel", token: "id-token" } as const;
  };
  const change = () => withFreshLogin(client, { chainName, logIn }, () => client.signTransaction("00"));
  return { seen, logins, change };
}

describe("withFreshLogin", () => {
  it("has the person log in with max_age, signs in, and does the work again", async () => {
    const { seen, logins, change } = setUp(stored, tooOld, ...signIn, [200, { signature: { keyId: 7 } }]);
    expect(await change()).toEqual({ keyId: 7 });
    expect(logins).toEqual([{ maxAge: 300, nonce: expect.stringMatching(/^[\w-]{43}$/) }]);
    expect(seen[1]!.body).toMatchObject({ request: { token: "id-token", chainName } });
    expect(seen[3]!.headers.get("authorization")).toBe("Bearer fresh");
  });

  it("does nothing in the name of another person, who logs in", async () => {
    const of = (sub: string) => ({ accessToken: accessTokenOf({ sub }), refreshToken: sub });
    const other: Answer[] = [signIn[0]!, [200, { account: {}, transaction: {}, credentials: of("grace") }]];
    const { seen, change } = setUp(of("ada"), tooOld, ...other, [200, { signature: { keyId: 7 } }]);
    await expect(change()).rejects.toMatchObject({ error: "LoginTooOld" });
    expect(seen).toHaveLength(3);
  });

  it("asks for no login where none is needed, and for one at most", async () => {
    const granted = setUp(stored, [200, { signature: {} }]);
    await granted.change();
    expect(granted.logins).toEqual([]);
    const refused = setUp(stored, [403, { error: "TimeLockRequired" }]);
    await expect(refused.change()).rejects.toMatchObject({ error: "TimeLockRequired" });
    expect(refused.logins).toEqual([]);
    const refusedTwice = setUp(stored, tooOld, ...signIn, tooOld);
    await expect(refusedTwice.change()).rejects.toMatchObject({ error: "LoginTooOld" });
    expect(refusedTwice.logins).toHaveLength(1);
  });
});
