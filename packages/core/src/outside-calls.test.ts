import { afterEach, expect, it } from "vitest";
import { AppError } from "./app-error.ts";
import { observeOutsideCalls } from "./outside-calls.ts";
import { asOutsidePort } from "./port.ts";

afterEach(() => observeOutsideCalls(undefined));

const provider = {
  name: "example",
  issuer: () => "https://example.com",
  verify: async (token: string) => token,
  refuse: () => Promise.reject(new AppError("InvalidLoginToken")),
  break: () => Promise.reject(new AppError("IdentityProviderUnavailable")),
  throw: () => Promise.reject(new TypeError("fetch failed")),
};

it("times each call by port and method; a refusal of the other side is no failure", async () => {
  const calls: string[] = [];
  observeOutsideCalls((port, method) => (seconds, failed) => {
    expect(seconds).toBeGreaterThanOrEqual(0);
    calls.push(`${port}.${method} ${failed ? "failed" : "ok"}`);
  });
  const port = asOutsidePort("provider", provider, { issuer: false });
  expect(port.name).toBe("example");
  expect(port.issuer()).toBe("https://example.com");
  expect(await port.verify("a")).toBe("a");
  await expect(port.refuse()).rejects.toThrow("InvalidLoginToken");
  await expect(port.break()).rejects.toThrow("IdentityProviderUnavailable");
  await expect(port.throw()).rejects.toThrow("fetch failed");
  expect(calls).toEqual(["provider.verify ok", "provider.refuse ok", "provider.break failed", "provider.throw failed"]);
});

it("is the port itself where nothing records calls", () => {
  expect(asOutsidePort("provider", provider, { issuer: false })).toBe(provider);
});
