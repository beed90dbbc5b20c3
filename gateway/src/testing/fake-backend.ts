import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { createTokenState, createTokenVerifier } from "@countersign/access-tokens";
import { AppError, systemClock } from "@countersign/core";
import { AccountsService, type GetMeResponse } from "@countersign/proto/account/v1/accounts.ts";
import { TokenStateService, type WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import { createRpcServer, peersFile } from "@countersign/rpc";
import { createLogger, createMetrics, loadTls, type TlsPaths } from "@countersign/runtime";
import { SAMPLE_KEYS } from "./samples.ts";

export const ISSUER = "http://gateway.test";
const KID = "test-key";

const peers = peersFile.parse({
  rpcs: {
    "rpc.v1.Calls/Stream": { callers: ["gateway"], token: "service" },
    "auth.v1.TokenState/Watch": { callers: ["gateway"], token: "service" },
    "auth.v1.TokenState/ListBlockedKeys": { callers: ["gateway"], token: "service" },
    "account.v1.Accounts/GetMe": { callers: ["gateway"], token: "user" },
    "account.v1.Accounts/DeployAccount": { callers: ["auth"], token: "service" },
    "account.v1.Accounts/GetAccount": { callers: ["auth"], token: "service" },
    "account.v1.Accounts/LinkParent": { callers: ["gateway"], token: "user" },
    "account.v1.Accounts/CancelDeployment": { callers: ["gateway"], token: "service" },
  },
});
const logger = createLogger({ name: "backend", level: "silent" });
const notHere = async () => {
  throw new AppError("NotImplemented");
};

/** Signs access tokens as auth does. */
function createTokens() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return {
    jwk: publicKey.export({ format: "jwk" }),
    issue(claims: object = {}): string {
      const iat = Math.floor(Date.now() / 1000);
      const key = { alg: "ES256", key: SAMPLE_KEYS.p256 };
      const id = (name: string) =>
        `0197a1b2-0000-7000-8000-${createHash("sha256").update(name).digest("hex").slice(0, 12)}`;
      const signed = `${part({ alg: "ES256", typ: "at+jwt", kid: KID })}.${part({
        iss: ISSUER,
        aud: "countersign",
        sub: id("account"),
        client_id: "demo",
        sid: id("session"),
        scope: "full",
        jti: id("token"),
        iat,
        exp: iat + 900,
        session_key: key,
        account_key: key,
        ...claims,
      })}`;
      return `${signed}.${sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
    },
  };
}

/** A server with auth's token state, its HTTPS listener for keys, and the account service, on free ports. */
export async function startFakeBackend(tlsOf: (name: string) => TlsPaths) {
  const tokens = createTokens();
  const state: WatchResponse = {
    cursor: "1",
    reset: true,
    complete: true,
    tokenKeys: [{ kid: KID, jwkJson: JSON.stringify(tokens.jwk) }],
    entries: Buffer.alloc(0),
  };
  const ownState = createTokenState({ clock: systemClock });
  ownState.apply(state);
  const common = { peers, logger, metrics: createMetrics("backend", { defaults: false }) };
  const auth = createRpcServer({ ...common, tls: loadTls(tlsOf("auth")) }).add(TokenStateService, {
    listBlockedKeys: notHere,
    async *watch(_request, call) {
      yield state;
      while (!call.signal.aborted) {
        await sleep(500, undefined, { signal: call.signal }).catch(() => undefined);
        const news = { ...state, reset: false };
        // Without news no token is accepted after ten seconds, and a busy machine starts the gateway in more.
        ownState.apply(news);
        yield news;
      }
    },
  });
  const seen: { requestId: string; clientIp: string | undefined }[] = [];
  const tokenVerifier = createTokenVerifier(ownState, { issuer: ISSUER, clock: systemClock });
  const account = createRpcServer({ ...common, tls: loadTls(tlsOf("account")), tokenVerifier });
  account.add(AccountsService, {
    async getMe(_request, call): Promise<GetMeResponse> {
      seen.push({ requestId: call.requestId, clientIp: call.clientIp });
      const now = new Date();
      return { account: { id: call.token!.accountId, addresses: [], parent: [], createdAt: now, updatedAt: now } };
    },
    deployAccount: notHere,
    cancelDeployment: notHere,
    getAccount: notHere,
    linkParent: notHere,
  });

  const keyRequests: { url: string | undefined; peer: string; headers: IncomingHttpHeaders }[] = [];
  const tls = loadTls(tlsOf("auth"));
  const https = createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    const socket = request.socket as TLSSocket;
    keyRequests.push({
      url: request.url,
      peer: String(socket.getPeerCertificate().subject.CN),
      headers: request.headers,
    });
    response.setHeader("set-cookie", "a=b");
    response.setHeader("cache-control", "public, max-age=300");
    response.setHeader("content-type", "application/jwk-set+json");
    response.end(JSON.stringify({ keys: [{ ...tokens.jwk, kid: KID }] }));
  });
  await new Promise<void>((resolve) => https.listen(0, "127.0.0.1", resolve));
  const [authPort, accountPort] = await Promise.all([auth.listen("127.0.0.1:0"), account.listen("127.0.0.1:0")]);
  return {
    tokens,
    seen,
    keyRequests,
    addresses: {
      CS_AUTH_ADDRESS: `127.0.0.1:${authPort.port}`,
      CS_ACCOUNT_ADDRESS: `127.0.0.1:${accountPort.port}`,
      CS_AUTH_HTTP_ADDRESS: `127.0.0.1:${(https.address() as AddressInfo).port}`,
    },
    async stopKeys() {
      https.closeAllConnections();
      await new Promise((resolve) => https.close(resolve));
    },
    async stop() {
      if (https.listening) await this.stopKeys();
      await Promise.all([auth.stop(0), account.stop(0)]);
    },
  };
}
