import { describe, expect, it } from "vitest";
import { chainName, newEmail } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, idTokenOf } from "./attacker.ts";
import { exchange, HOST } from "./wire.ts";
import { auth, get, lines, ME } from "./wire-requests.ts";

const REFRESH = "/auth/v1/token/refresh";
const BODY = '{"refreshToken":"x"}';
/** A request that an attacker wants to smuggle in as another client's next request. */
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n\r\n`;

const post = (headers: string[], body: string) =>
  lines(`POST ${REFRESH} HTTP/1.1`, HOST, "Content-Type: application/json", ...headers) + body;
describe("ambiguous framing is refused, and nothing after it is read", () => {
  it.each<[string, () => string]>([
    ["length and chunks", () => post(["Content-Length: 5", "Transfer-Encoding: chunked"], `0\r\n\r\n${SMUGGLED}`)],
    ["chunks and length", () => post(["Transfer-Encoding: chunked", "Content-Length: 5"], `0\r\n\r\n${SMUGGLED}`)],
    ["two lengths", () => post(["Content-Length: 20", "Content-Length: 0"], BODY + SMUGGLED)],
    ["the same length twice", () => post(["Content-Length: 20", "Content-Length: 20"], BODY + SMUGGLED)],
    ["a list of lengths", () => post(["Content-Length: 20, 20"], BODY + SMUGGLED)],
    ["a length with a sign", () => post(["Content-Length: +20"], BODY + SMUGGLED)],
    ["a negative length", () => post(["Content-Length: -1"], BODY + SMUGGLED)],
    ["a length in hex", () => post(["Content-Length: 0x14"], BODY + SMUGGLED)],
    ["a huge length", () => post(["Content-Length: 99999999999999999999999"], BODY + SMUGGLED)],
    ["an empty length", () => post(["Content-Length: "], BODY + SMUGGLED)],
    ["a space before the colon", () => post(["Content-Length : 20"], BODY + SMUGGLED)],
    ["a tab before the colon", () => post(["Transfer-Encoding\t: chunked"], `0\r\n\r\n${SMUGGLED}`)],
    ["a coding that is none", () => post(["Transfer-Encoding: xchunked"], `0\r\n\r\n${SMUGGLED}`)],
    ["chunked not last", () => post(["Transfer-Encoding: chunked, identity"], `0\r\n\r\n${SMUGGLED}`)],
    ["identity", () => post(["Transfer-Encoding: identity", "Content-Length: 20"], BODY + SMUGGLED)],
    ["a vertical tab in the coding", () => post(["Transfer-Encoding: \x0bchunked"], `0\r\n\r\n${SMUGGLED}`)],
    ["two codings", () => post(["Transfer-Encoding: chunked", "Transfer-Encoding: x"], `0\r\n\r\n${SMUGGLED}`)],
    ["a chunk of a negative size", () => post(["Transfer-Encoding: chunked"], `-1\r\n${SMUGGLED}`)],
    ["a chunk size in hex notation", () => post(["Transfer-Encoding: chunked"], `0x0\r\n\r\n${SMUGGLED}`)],
    ["a huge chunk size", () => post(["Transfer-Encoding: chunked"], `fffffffffffffffff\r\n${SMUGGLED}`)],
    ["a chunk without CR", () => post(["Transfer-Encoding: chunked"], `14\n${BODY}\n0\n\n${SMUGGLED}`)],
    ["a chunk longer than said", () => post(["Transfer-Encoding: chunked"], `3\r\n${BODY}\r\n0\r\n\r\n${SMUGGLED}`)],
    [
      "a space after a chunk size",
      () => post(["Transfer-Encoding: chunked"], `14 \r\n${BODY}\r\n0\r\n\r\n${SMUGGLED}`),
    ],
    ["a bare CR in a header", () => post(["X: a\rContent-Length: 20"], BODY + SMUGGLED)],
    ["a bare LF in a header", () => post(["X: a\nContent-Length: 0"], BODY + SMUGGLED)],
    ["NUL in a header", () => post(["X: a\0b", "Content-Length: 20"], BODY + SMUGGLED)],
    ["a header without a colon", () => post(["Content-Length 20"], BODY + SMUGGLED)],
    ["a header without a name", () => post([": x", "Content-Length: 20"], BODY + SMUGGLED)],
    [
      "a space before the first header",
      () => `POST ${REFRESH} HTTP/1.1\r\n ${HOST}\r\nContent-Length: 0\r\n\r\n${SMUGGLED}`,
    ],
    ["line feeds alone", () => post(["Content-Length: 20"], BODY).replaceAll("\r\n", "\n") + SMUGGLED],
    ["no HTTP version", () => `GET ${ME}\r\n\r\n${SMUGGLED}`],
    ["HTTP/0.9", () => "GET /\n\n"],
    ["a version of the future", () => `GET ${ME} HTTP/3.7\r\n${HOST}\r\n\r\n${SMUGGLED}`],
    ["HTTP/2 without a word", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a lower-case verb", () => `get ${ME} HTTP/1.1\r\n${HOST}\r\n\r\n${SMUGGLED}`],
    ["an unknown verb", () => `HACK ${ME} HTTP/1.1\r\n${HOST}\r\n\r\n${SMUGGLED}`],
    ["a space in the path", () => `GET /a b HTTP/1.1\r\n${HOST}\r\n\r\n${SMUGGLED}`],
    ["NUL in the path", () => `GET /a\0 HTTP/1.1\r\n${HOST}\r\n\r\n${SMUGGLED}`],
    ["a path that is none", () => `GET me HTTP/1.1\r\n${HOST}\r\n\r\n${SMUGGLED}`],
    ["TLS", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["SSH", () => "SSH-2.0-OpenSSH_9.6\r\n"],
  ])("%s", async (_, bytes) => {
    const { answers, closed } = await exchange(bytes());
    expect(answers).toHaveLength(1);
    expectProblem(answers[0]!, 400, "InvalidRequest");
    expect(closed).toBe(true);
  });

  it.each<[string, () => string, number, string]>([
    ["headers of 17 KiB", () => get(ME, `X: ${"x".repeat(17_000)}`), 431, "HeadersTooLarge"],
    ["a path of 17 KiB", () => get(`/${"x".repeat(17_000)}`), 431, "HeadersTooLarge"],
    ["5,000 headers", () => get(ME, ...Array(5_000).fill("x: y")), 431, "HeadersTooLarge"],
    [
      "chunk extensions of 20 KiB",
      () => post(["Transfer-Encoding: chunked"], `14;x=${"y".repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`),
      413,
      "PayloadTooLarge",
    ],
    ["CONNECT", () => `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n\r\n${SMUGGLED}`, 405, "MethodNotAllowed"],
  ])("%s", async (_, bytes, status, error) => {
    const { answers, closed } = await exchange(bytes());
    expect(answers).toHaveLength(1);
    expectProblem(answers[0]!, status, error);
    expect(closed).toBe(true);
  });
});

describe("a body after a request for the keys is not read as a request", () => {
  const KEYS = "/.well-known/jwks.json";
  // Its last header would swallow the first line of the next request on the same connection to auth.
  const open = "GET /smuggled HTTP/1.1\r\nHost: x\r\nX: ";
  const bodies: Record<string, string[]> = {
    "with a length": [`Content-Length: ${open.length}`, open],
    "in chunks": ["Transfer-Encoding: chunked", `${open.length.toString(16)}\r\n${open}\r\n0\r\n\r\n`],
  };
  it.each(Object.entries(bodies))("%s", async (_, [header, body]) => {
    for (let round = 0; round < 5; round++) {
      const { answers } = await exchange(get(KEYS, header!) + body, { quietMs: 100 });
      expect(answers).toMatchObject([{ status: 200, body: { keys: [{ kty: "EC" }] } }]);
      const next = await send({ method: "GET", path: KEYS });
      expect(next).toMatchObject({ status: 200, body: { keys: [{ kty: "EC" }] } });
    }
  });
});

describe("unusual but valid HTTP is answered correctly", () => {
  it.each<[string, () => string, number[]]>([
    ["an absolute target", () => get(`http://evil.example${ME}`, auth()), [200]],
    ["an absolute target for the keys", () => get("http://evil.example/.well-known/jwks.json"), [200]],
    ["a target with a user", () => get(`http://a:b@evil.example${ME}`, auth()), [200]],
    ["the target *", () => `OPTIONS * HTTP/1.1\r\n${HOST}\r\n\r\n`, [404]],
    ["two slashes", () => get("//evil.example/.well-known/jwks.json"), [404]],
    ["chunk extensions", () => post(["Transfer-Encoding: chunked"], `14;a=b\r\n${BODY}\r\n0\r\n\r\n`), [401]],
    [
      "trailers",
      () => post(["Transfer-Encoding: chunked"], `14\r\n${BODY}\r\n0\r\nAuthorization: Bearer x\r\nHost: y\r\n\r\n`),
      [401],
    ],
    ["a body that a GET should not have", () => get(ME, auth(), "Content-Length: 20") + BODY, [200]],
    ["an upgrade", () => get(ME, auth(), "Connection: Upgrade", "Upgrade: websocket"), [200]],
    ["an upgrade to h2c", () => get(ME, auth(), "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"), [200]],
    ["an expectation nobody knows", () => post(["Expect: miracle", "Content-Length: 20"], BODY), [401]],
    ["400 headers", () => get(ME, ...Array(400).fill("x: y"), auth()), [200]],
    ["HTTP/1.0", () => `GET ${ME} HTTP/1.0\r\n${auth()}\r\n\r\n`, [200]],
    ["two requests at once", () => get(ME, auth()) + get("/nowhere"), [200, 404]],
    ["blank lines before a request", () => `\r\n\r\n${get(ME, auth())}`, [200]],
    ["a request after a refused body", () => post(["Content-Length: 3"], "{}x") + get(ME, auth()), [400, 200]],
  ])("%s", async (_, bytes, statuses) => {
    const { answers } = await exchange(bytes());
    expect(answers.map(({ status, text }) => `${status} ${status < 300 ? "" : text}`.slice(0, 4).trim())).toEqual(
      statuses.map(String),
    );
    for (const answer of answers) if (answer.status >= 300) expectProblem(answer, answer.status);
  });

  it("no Host, or two, is 400", async () => {
    for (const bytes of [
      `GET ${ME} HTTP/1.1\r\n${auth()}\r\n\r\n`,
      get(ME, "Host: evil.example", auth()),
      get(ME, HOST, auth()),
    ]) {
      const { answers } = await exchange(bytes);
      expect(answers).toHaveLength(1);
      expectProblem(answers[0]!, 400, "InvalidRequest");
    }
  });

  it("Expect: 100-continue gets a 100, and then the answer", async () => {
    const { answers } = await exchange(post(["Expect: 100-continue", "Content-Length: 20"], BODY));
    expect(answers.map(({ status }) => status)).toEqual([100, 401]);
    expectProblem(answers[1]!, 401, "InvalidRefreshToken");
  });

  it("a header that continues on the next line smuggles nothing", async () => {
    const { answers } = await exchange(get(ME, "X-Request-Id: request-1\r\n Set-Cookie: a=b", auth()));
    expect(answers).toHaveLength(1);
    expect(answers[0]!.headers["set-cookie"]).toBeUndefined();
    expect(answers[0]!.headers["x-request-id"]).toMatch(/^[\w.-]{8,64}$/);
  });

  it("a client that closes its half of the connection gets a complete answer or none", async () => {
    const { answers, closed } = await exchange(get(ME, auth()), { half: true });
    expect(closed).toBe(true);
    for (const answer of answers) expect(answer.status).toBe(200);
  });

  it.each([
    ["in a header", () => `GET ${ME} HTTP/1.1\r\n${HOST}\r\nX: `],
    ["in a body", () => post(["Content-Length: 20"], '{"refresh')],
    ["in a chunk", () => post(["Transfer-Encoding: chunked"], "14\r\n{")],
  ])("a client that closes %s is let go", async (_, bytes) => {
    const { answers, closed } = await exchange(bytes(), { half: true });
    expect(closed).toBe(true);
    for (const answer of answers) expectProblem(answer, 400, "InvalidRequest");
  });

  it("an invalid request after a running one is not answered in its place", async () => {
    const email = newEmail();
    const { deviceKey } = attackerPhone();
    const { idToken } = await idTokenOf(email);
    const userKey = { type: "device", publicKey: deviceKey.publicKey, device: {} };
    const body = JSON.stringify({ method: "id_token_channel", token: idToken, chainName, userKey });
    const signUp = lines(
      "POST /auth/v1/signup HTTP/1.1",
      HOST,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    );
    const { answers } = await exchange(`${signUp}${body}NONSENSE\r\n\r\n`, { quietMs: 15_000, limitMs: 15_000 });
    for (const answer of answers) expect(answer.status).toBe(200);
    // In either case, answered or disconnected, the same request again completes the operation.
    await expect
      .poll(async () => (await send({ method: "POST", path: "/auth/v1/signup", body })).status, { timeout: 20_000 })
      .toSatisfy((status) => status === 200 || status === 409);
  });

  it("a refused body that continues is disconnected, without a second answer", async () => {
    const bytes = post(["Transfer-Encoding: chunked", "Content-Encoding: gzip"], "5\r\nabcde\r\nZZ\r\n");
    const { answers, closed } = await exchange(bytes);
    expect(answers).toHaveLength(1);
    expect(closed).toBe(true);
    expectProblem(answers[0]!, [400, 415]);
  });
});

afterwards();
