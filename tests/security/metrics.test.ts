import { readFileSync } from "node:fs";
import { METHODS } from "node:http";
import { GRPC_CODES } from "@countersign/core";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { type Call, CallsService } from "@countersign/proto/rpc/v1/calls.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { expect, it } from "vitest";
import { readMetrics } from "../support/metrics.ts";
import { application, chainName, stack } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { exchange, HOST } from "./wire.ts";

const FORGED = "forged-label";
const FILES = ["tls", "peers", "backends", "database-url", "networks", "passkeys", "providers", "policy", "vaults"];
FILES.push("attestation", "token-key-encryption-keys", "chain-nodes", "push-and-mail", "webhooks");

/** Returns every label of a process's metrics with its values, except `le` and Node's own labels. */
async function labelsOf(process: string): Promise<Map<string, Set<string>>> {
  const labels = new Map<string, Set<string>>();
  for (const [metric, { series }] of await readMetrics(stack.processes[process]!.metrics!)) {
    if (!metric.startsWith("countersign_")) continue;
    for (const [name, value] of series.flatMap((each) => Object.entries(each.labels))) {
      if (name !== "le") labels.set(name, (labels.get(name) ?? new Set()).add(value));
    }
  }
  return labels;
}

/** Returns the values that each label may have. A new label needs its closed set here. */
async function closedSets(process: string): Promise<Record<string, (value: string) => boolean>> {
  const oneOf =
    (...values: string[]) =>
    (value: string) =>
      values.includes(value);
  const { rpcs, backends } = JSON.parse(readFileSync("deploy/peers.json", "utf8"));
  const { paths } = (await send({ method: "GET", path: "/openapi.json" })).body;
  const pages = ["/", "/openapi.json", "/callback", "/.well-known/jwks.json"];
  pages.push("/.well-known/identity-keys.json", "/.well-known/openid-configuration");
  for (const file of ["", "/start.js", "/swagger-ui.css", "/swagger-ui-bundle.js"]) pages.push(`/docs${file}`);
  // Methods of ports to the outside.
  const chainMethods = ["accountEvents", "accountKey", "accountKeys", "balance", "blockHeight", "findDeployed"];
  chainMethods.push("keyAdditionOutcome", "latestBlock", "newestBlock", "outcome", "paidTransactions", "parentsOf");
  chainMethods.push("sequenceNumber", "submit", "transaction");
  const outside: Record<string, string[]> = {
    account: chainMethods,
    auth: ["completeProfile", "exchangeCode", "verifyIdToken", "verifyToken"],
    device: ["send"],
    signer: ["publicKey", "sign"],
  };
  const methods =
    process === "gateway"
      ? oneOf("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "OTHER", ...Object.keys(rpcs))
      : oneOf("unknown", ...Object.keys(rpcs), ...(outside[process] ?? []));
  return {
    service: oneOf(process),
    method: (value) => methods(value) || /^grpc\.(health|reflection)\.v1(alpha)?\.\w+\/\w+$/.test(value),
    code: oneOf(...Object.keys(GRPC_CODES)),
    // Of chain nodes: with names in place of what the client sent.
    route: (value) =>
      oneOf("none", ...pages, ...Object.keys(paths))(value) ||
      /^\/chain\/v1\/\{chainName\}\/v1(\/[a-z_]+|\/\{(id|ids|address|index)\})+$/.test(value),
    status: (value) => /^[245]\d\d$/.test(value),
    chain: oneOf(chainName),
    kind: oneOf("keys", "contracts", "account-capabilities", "inbox"),
    frozen: oneOf("true", "false"),
    version: (value) => /^[\w./-]{1,128}$/.test(value),
    scope: oneOf("account", "app", "service", "backend", "creation", "open"),
    whose: oneOf(
      "all",
      "",
      application.appId,
      ...stack.identityProvider.clients.map(({ appId }) => appId),
      ...Object.keys(backends),
    ),
    window_seconds: (value) => /^\d+$/.test(value),
    amount: oneOf("count", "computation", "fees"),
    operation: oneOf("transaction", "paymaster", "creation", "user-message", "account-proof"),
    verdict: (value) => /^[A-Z][A-Za-z]{2,40}$/.test(value) || value === "signed",
    port: oneOf("chain", "provider", "vault", "push", "mail"),
    outcome: oneOf("ok", "failed", "handled", "dropped", "sealed", "loaded", "refused", "delivered", "dead"),
    // Of tests/e2e/webhooks.test.ts.
    endpoint: oneOf("demo", "elsewhere"),
    file: oneOf(...FILES),
    encrypted_by: oneOf("first", "other", "unknown"),
    durable: (value) => value.startsWith(`${process}-`) && /^[a-z]+(-[a-z]+)+$/.test(value),
    pool: oneOf("main", "locks", "binding", "record", "administration"),
    saga: oneOf("sign-up", "deployment", "creation", "server-key-rotation"),
    state: oneOf(
      "busy",
      "idle",
      "max",
      "deploying",
      "registering",
      "queued",
      "assigned",
      "signed",
      "submitted",
      ...["waiting", "dead"],
    ),
    account: oneOf("paymaster", "creator"),
    certificate: oneOf("own", "ca", "database", "database-client"),
  };
}

/** Calls methods that do not exist, over the stream that takes a method's name from the caller. */
async function callByForgedNames(caller: string, service: string): Promise<void> {
  const tls = loadTls(tlsFiles(stack.stateDir, caller));
  const address = stack.processes[service]!.grpc!;
  const client = createRpcClient(CallsService, { address, tls, serverName: service, deadlineMs: 3_000 });
  async function* messages() {
    const names = Array.from({ length: 50 }, (_, index) => `${FORGED}.v1.Nothing/At${index}`);
    const rest = {
      request: Buffer.alloc(0),
      accessToken: "",
      requestId: "",
      traceparent: "",
      clientIp: "",
      timeoutMs: 1_000,
    };
    yield { calls: names.map((method, id): Call => ({ ...rest, id, method })) };
  }
  try {
    for await (const { answers } of client.stream(messages())) expect(answers.every(({ status }) => status)).toBe(true);
  } finally {
    client.close();
  }
}

it("no label of any process contains what callers and clients send", async () => {
  const services = ["auth", "device", "key", "account", "signer"];
  for (const service of services) {
    await callByForgedNames("gateway", service);
    const refused = callByForgedNames("demo-backend", service);
    await expect(refused).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  }
  for (const method of METHODS.filter((each) => each !== "CONNECT")) {
    await exchange(`${method} /${FORGED} HTTP/1.1\r\n${HOST}\r\nX-Request-Id: ${FORGED}\r\nConnection: close\r\n\r\n`);
  }
  const forged = { method: "id_token_channel", token: FORGED, chainName: FORGED, provider: FORGED };
  const userKey = { type: "device", publicKey: "00", device: { name: FORGED } };
  await send({ method: "POST", path: "/auth/v1/signup", body: { ...forged, userKey } });
  await send({ method: "DELETE", path: `/device/v1/devices/${FORGED}`, token: FORGED });

  for (const process of ["gateway", ...services]) {
    const sets = await closedSets(process);
    for (const [label, values] of await labelsOf(process)) {
      const open = [...values].filter((value) => !sets[label]?.(value));
      expect({ process, label, open }).toEqual({ process, label, open: [] });
    }
  }
});
