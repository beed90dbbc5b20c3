import { type ClientOptions, CountersignClient } from "../countersign-client.ts";
import { browserCredentials, type CredentialStore } from "../credential-store.ts";
import { generateDeviceKey } from "../node/device-key.ts";
import type { Credentials } from "../resources.ts";

export const deviceKey = generateDeviceKey();
export const baseUrl = "http://gateway.test";
export const login = { method: "id_token_channel", token: "id-token" } as const;
export const REPEAT_MS = 30_000;

/** Returns an access token with these claims; nobody has signed it. */
export const accessTokenOf = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.e30`;

/** A storage that tabs share, and that notifies the other tabs of a change, as a browser's does. */
export function sharedStorage() {
  const values = new Map<string, string>();
  const tabs = new Set<() => void>();
  const tab = (name: string): CredentialStore => {
    let own: (() => void) | undefined;
    const store = browserCredentials({
      name,
      storage: {
        getItem: (key) => values.get(key) ?? null,
        setItem: (key, value) => void values.set(key, value),
        removeItem: (key) => void values.delete(key),
      },
    });
    return {
      ...store,
      save(credentials) {
        store.save(credentials);
        for (const listener of tabs) if (listener !== own) listener();
      },
      subscribe(listener) {
        own = listener;
        tabs.add(listener);
        return () => void tabs.delete(listener);
      },
    };
  };
  return { values, tab };
}

/**
 * Auth's part: single-use refresh tokens, whose last one may be repeated for 30 seconds; any other reuse ends
 * the session (docs/sessions.md).
 */
export class FakeAuth {
  time = 0;
  current = 1;
  ended = false;
  /** Tokens below this number are of a session that a later one has replaced. */
  replacedBelow = 0;
  /** Access tokens below this number are expired. */
  expiredBelow = 0;
  /** Answers to refreshes that are lost on their way. */
  loseAnswers = 0;
  readonly refreshes: string[] = [];
  #lastUsedAt = 0;

  pair(number = this.current): Credentials {
    return { accessToken: `access-${number}`, refreshToken: `refresh-${number}` };
  }

  fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(String(input));
    await new Promise((resolve) => setImmediate(resolve));
    const problem = (error: string) => Response.json({ error }, { status: 401 });
    if (pathname === "/auth/v1/token/refresh") {
      const { refreshToken } = JSON.parse(String(init?.body)) as Credentials;
      this.refreshes.push(refreshToken);
      const number = Number(refreshToken.split("-")[1]);
      const isRepeated = number === this.current - 1 && this.time - this.#lastUsedAt <= REPEAT_MS;
      if (this.ended) return problem("SessionEnded");
      if (number === this.current) {
        this.current += 1;
        this.#lastUsedAt = this.time;
      } else if (!isRepeated) {
        this.ended = true;
        return problem("RefreshTokenReused");
      }
      if (this.loseAnswers-- > 0) throw new TypeError("fetch failed");
      return Response.json({ credentials: this.pair() });
    }
    if (pathname === "/auth/v1/signout") return new Response(null, { status: 204 });
    if (pathname === "/auth/v1/signin/challenge") return Response.json({ challengeData: "00".repeat(16) });
    if (pathname === "/auth/v1/signin/challenge/respond") {
      this.ended = false;
      this.current += 10;
      this.replacedBelow = this.current;
      return Response.json({ account: {}, transaction: {}, credentials: this.pair() });
    }
    const number = Number(new Headers(init?.headers).get("authorization")?.split("-")[1]);
    if (this.ended || number < this.replacedBelow) return problem("SessionEnded");
    if (number < this.expiredBelow) return problem("AccessTokenExpired");
    return Response.json({ devices: [], keys: [], account: {} });
  };
}

export function setUp(options: Partial<ClientOptions> = {}) {
  const auth = new FakeAuth();
  const storage = sharedStorage();
  const name = `session-${Math.random()}`;
  storage.values.set(name, JSON.stringify(auth.pair()));
  const newTab = (more: Partial<ClientOptions> = {}) =>
    new CountersignClient({ baseUrl, deviceKey, fetch: auth.fetch, store: storage.tab(name), ...options, ...more });
  return { auth, storage, name, newTab };
}

export const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
