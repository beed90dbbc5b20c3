import { Failure } from "@countersign/build/fail.ts";
import { expect, it, vi } from "vitest";
import { playDemo } from "./demo.ts";
import type { Stack } from "./stack-file.ts";

it("names the step that failed, and why", async () => {
  vi.spyOn(console, "log").mockReturnValue();
  const stack = {
    gateway: "http://gateway.test",
    identityProvider: { issuer: "http://127.0.0.1:1", clients: [{ clientId: "demo", redirectUri: "http://a.test" }] },
    chains: [{ chainName: "flow-emulator", accessNode: "http://127.0.0.1:1", paymaster: "0x01" }],
  } as unknown as Stack;
  const failure = await playDemo(stack).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Failure);
  expect(String(failure)).toBe("Failure: log in at the identity provider: fetch failed: bad port");
});
