import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { writeNetworks } from "./networks.ts";
import { serviceEnvironment } from "./service-environment.ts";
import { type Ports, portTable } from "./settings.ts";
import { sampleNetwork } from "./testing/sample-network.ts";

const ports = Object.fromEntries(Object.entries(portTable).map(([name, { port }]) => [name, port])) as Ports;

const stateDir = mkdtempSync(join(tmpdir(), "countersign-environment-"));
const networksFile = join(stateDir, "networks.json");
writeNetworks(networksFile, [sampleNetwork("http://127.0.0.1:8888")]);
afterAll(() => rmSync(stateDir, { recursive: true }));

const environmentOf = (name: "gateway" | "auth", allowedOrigins?: string[]) =>
  serviceEnvironment(name, 0, {
    stateDir,
    replicas: [ports],
    gateway: "http://localhost:8080",
    ...(allowedOrigins && { allowedOrigins }),
    natsUrl: "nats://127.0.0.1:4222",
    networksFile,
    databaseUrl: (service) => `postgres://localhost/${service}`,
  });

afterEach(() => vi.unstubAllEnvs());

describe("GATEWAY_ALLOWED_ORIGINS", () => {
  it.each([
    ["", ["http://localhost:8090"], "http://localhost:8090"],
    ["capacitor://localhost", ["http://localhost:8090"], "http://localhost:8090,capacitor://localhost"],
    ["capacitor://localhost,ionic://localhost", undefined, "capacitor://localhost,ionic://localhost"],
    ["", undefined, undefined],
  ])("of the developer (%j) is added to the stack's own (%j)", async (developers, own, expected) => {
    vi.stubEnv("GATEWAY_ALLOWED_ORIGINS", developers);
    expect((await environmentOf("gateway", own)).GATEWAY_ALLOWED_ORIGINS).toBe(expected);
  });

  it("reaches the gateway alone", async () => {
    vi.stubEnv("GATEWAY_ALLOWED_ORIGINS", "capacitor://localhost");
    expect(await environmentOf("auth", ["http://localhost:8090"])).not.toHaveProperty("GATEWAY_ALLOWED_ORIGINS");
  });
});

it("the gateway passes requests on to the nodes of the networks file, and no other process does", async () => {
  const { GATEWAY_CHAIN_NODES_FILE: file } = await environmentOf("gateway");
  expect(JSON.parse(readFileSync(file!, "utf8"))).toEqual({ "flow-emulator": { url: "http://127.0.0.1:8888" } });
  expect(await environmentOf("auth")).not.toHaveProperty("GATEWAY_CHAIN_NODES_FILE");
});
