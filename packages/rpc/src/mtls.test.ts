import { AppError, type TlsMaterial } from "@countersign/core";
import { AccessService, UnfreezeAccountResponse } from "@countersign/proto/auth/v1/access.ts";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createRpcClient } from "./client.ts";
import { type Authority, createAuthority } from "./testing/authority.ts";
import { type TestServer, testServer } from "./testing/harness.ts";

const rpcs = {
  "auth.v1.Access/RemoveDevice": { callers: ["gateway"], token: "service" as const },
  "auth.v1.Access/FreezeAccount": { callers: ["gateway", "partner", "admin"], token: "service" as const },
  "auth.v1.Access/UnfreezeAccount": { callers: ["device"], token: "service" as const },
  "grpc.health.v1.Health/*": { callers: ["*"], token: "service" as const },
};

let ours: Authority;
let theirs: Authority;
let running: TestServer;
let address: string;
let callers: string[];
let persons: (string | undefined)[];

beforeAll(async () => {
  [ours, theirs] = await Promise.all([createAuthority("Ours"), createAuthority("Ours")]);
});

beforeEach(async () => {
  callers = [];
  persons = [];
  running = testServer(await ours.issue("auth"), rpcs, { names: { "signing.partner.example": "partner" } });
  running.server.add(AccessService, {
    removeDevice: async () => ({ publicKey: undefined }),
    freezeAccount: async (_request, call) => {
      callers.push(call.caller);
      persons.push(call.person);
      return {};
    },
    unfreezeAccount: async () => UnfreezeAccountResponse.create(),
  });
  address = await running.listen();
});

afterEach(() => running.server.stop(100));

function freeze(tls: TlsMaterial, serverName = "auth") {
  const client = createRpcClient(AccessService, { address, tls, serverName, deadlineMs: 2_000 });
  return client.freezeAccount({}).finally(() => client.close());
}

describe("permitted callers", () => {
  test("a listed caller with our authority's certificate", async () => {
    await freeze(await ours.issue("gateway"));
    expect(callers).toEqual(["gateway"]);
  });

  test("another service's certificate is refused", async () => {
    await expect(freeze(await ours.issue("device"))).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    expect(callers).toEqual([]);
  });

  test("the same name from another authority gets no connection, even when that authority has our name", async () => {
    const { cert, key } = await theirs.issue("gateway");
    await expect(freeze({ ca: ours.certificate, cert, key })).rejects.toMatchObject({ reason: "Unavailable" });
    expect(callers).toEqual([]);
  });

  test("a certificate that has ended gets no connection", async () => {
    await expect(freeze(await ours.issue("gateway", { expired: true }))).rejects.toMatchObject({
      reason: "Unavailable",
    });
    expect(callers).toEqual([]);
  });

  test("a connection without a certificate, or without TLS, is rejected", async () => {
    const attempt = (channel: ReturnType<typeof credentials.createSsl>) =>
      new Promise<ServiceError | null>((resolve) => {
        const client = new Client(address, channel, { "grpc.ssl_target_name_override": "auth.countersign.internal" });
        const { path, requestSerialize, responseDeserialize } = AccessService.freezeAccount;
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          {},
          { deadline: Date.now() + 2_000 },
          (error) => {
            client.close();
            resolve(error);
          },
        );
      });
    expect(await attempt(credentials.createSsl(ours.certificate))).not.toBeNull();
    expect(await attempt(credentials.createInsecure())).not.toBeNull();
    expect(callers).toEqual([]);
  });

  test("the common name and a claim in the metadata are ignored", async () => {
    const tls = await ours.issue("device", { commonName: "gateway.countersign.internal" });
    await expect(freeze(tls)).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    const nameless = await ours.issue("gateway", { dns: [] });
    await expect(freeze(nameless)).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  });

  test.each([
    [["gateway.countersign.internal.evil.example"]],
    [["evil.gateway.countersign.internal"]],
    [["*.countersign.internal"]],
    [["gateway.countersign.internal", "device.countersign.internal"]],
    [["x, DNS:gateway.countersign.internal, y"]],
  ])("%j is nobody, and the log has the names", async (dns) => {
    await expect(freeze(await ours.issue("x", { dns }))).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    const { caller } = running.log.lines().at(-1)!;
    // Node writes a comma within a name so that it does not look like two.
    for (const name of dns) expect(caller).toContain(name.replaceAll(",", "\\u002c"));
  });

  test("a registered name of another domain is its peer", async () => {
    await freeze(await ours.issue("x", { dns: ["signing.partner.example"] }));
    expect(callers).toEqual(["partner"]);
  });

  test("an administrator's certificate names the person", async () => {
    await freeze(await ours.issue("admin", { uris: ["countersign:person:ada.lovelace"] }));
    expect(persons).toEqual(["ada.lovelace"]);
  });

  test.each([
    [[]],
    [["countersign:person:ada", "countersign:person:grace"]],
    [["countersign:person:"]],
    [["countersign:person:Ada"]],
    [["https://countersign:person:ada"]],
    [["countersign:person:ada, URI:countersign:person:grace"]],
  ])("an administrator with the names %j is nobody", async (uris) => {
    await expect(freeze(await ours.issue("admin", { uris }))).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    expect(callers).toEqual([]);
  });

  test("a person in another caller's certificate is nobody", async () => {
    await freeze(await ours.issue("gateway", { uris: ["countersign:person:ada"] }));
    expect(persons).toEqual([undefined]);
  });

  test("a client accepts only the service that it asked for", async () => {
    await expect(freeze(await ours.issue("gateway"), "signer")).rejects.toMatchObject({ reason: "Unavailable" });
    const other = await theirs.issue("gateway");
    await expect(freeze(other)).rejects.toMatchObject({ reason: "Unavailable" });
  });

  test("the address of a client is accepted from the gateway only", async () => {
    const seen: (string | undefined)[] = [];
    const more = testServer(await ours.issue("auth"), {
      ...rpcs,
      "auth.v1.Access/FreezeAccount": { callers: ["gateway", "device"], token: "service" },
    });
    more.server.add(AccessService, {
      removeDevice: async () => ({ publicKey: undefined }),
      freezeAccount: async (_request, call) => {
        seen.push(call.clientIp);
        return {};
      },
      unfreezeAccount: async () => ({}),
    });
    address = await more.listen();
    for (const name of ["gateway", "device"]) {
      const client = createRpcClient(AccessService, {
        address,
        tls: await ours.issue(name),
        serverName: "auth",
        deadlineMs: 2_000,
      });
      await client.freezeAccount({}, { clientIp: "203.0.113.9" });
      client.close();
    }
    await more.server.stop(100);
    expect(seen).toEqual(["203.0.113.9", undefined]);
  });
});

describe("the table", () => {
  test("an RPC that is not listed does not start", async () => {
    const { server } = testServer(await ours.issue("auth"), {
      "auth.v1.Access/FreezeAccount": rpcs["auth.v1.Access/FreezeAccount"],
    });
    expect(() =>
      server.add(AccessService, {
        removeDevice: async () => ({ publicKey: undefined }),
        freezeAccount: async () => ({}),
        unfreezeAccount: async () => ({}),
      }),
    ).toThrow("auth.v1.Access/RemoveDevice is not in the caller table");
  });

  test("health answers every known peer and nobody else", async () => {
    const check = async (name: string) => {
      const client = createRpcClient(healthService as never, {
        address,
        tls: await ours.issue(name),
        serverName: "auth",
        deadlineMs: 2_000,
      }) as {
        Check?: (request: unknown) => Promise<unknown>;
        check?: (request: unknown) => Promise<unknown>;
        close(): void;
      };
      return (client.check ?? client.Check)?.({ service: "auth.v1.Access" }).finally(() => client.close());
    };
    expect(await check("device")).toMatchObject({ status: "SERVING" });
    await expect(check("unknown")).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  });

  test("the refusal of an unknown caller is an AppError and is counted", async () => {
    await expect(freeze(await ours.issue("unknown"))).rejects.toBeInstanceOf(AppError);
    const text = await running.metrics.registry.metrics();
    expect(text).toContain(
      'countersign_rpc_server_seconds_count{service="test",method="auth.v1.Access/FreezeAccount",code="PERMISSION_DENIED"} 1',
    );
  });
});
