import { afterEach, describe, expect, it, vi } from "vitest";
import { serviceEnvironment } from "./service-environment.ts";
import { type Ports, portTable } from "./settings.ts";

const ports = Object.fromEntries(Object.entries(portTable).map(([name, { port }]) => [name, port])) as Ports;

const environmentOf = (name: "gateway" | "auth", allowedOrigins?: string[]) =>
  serviceEnvironment(name, 0, {
    stateDir: "/state",
    replicas: [ports],
    gateway: "http://localhost:8080",
    ...(allowedOrigins && { allowedOrigins }),
    natsUrl: "nats://127.0.0.1:4222",
    networksFile: "/state/networks.json",
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
