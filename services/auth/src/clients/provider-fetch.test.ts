import { describe, expect, it } from "vitest";
import { createProviderFetch } from "./provider-fetch.ts";

describe("the provider's addresses", () => {
  it.each([
    ["http://provider.example/x", true],
    ["http://127.0.0.1.evil.example/x", true],
    ["http://localhost.evil.example/x", true],
    ["http://idp.localhost.evil.example/x", true],
    ["http://evil-localhost/x", true],
    ["http://127.0.0.1:1/x", false],
    ["http://idp.localhost:1/x", false],
    ["ftp://127.0.0.1/x", true],
  ])("%s is not asked, with plain http allowed: %s", async (address, allowInsecureHttp) => {
    await expect(createProviderFetch({ allowInsecureHttp })(address, {})).rejects.toThrow("only https");
  });

  it.each(["http://127.0.0.1:1/x", "http://idp.localhost:1/x"])(
    "%s is asked with plain http allowed",
    async (address) => {
      await expect(createProviderFetch({ allowInsecureHttp: true })(address, {})).rejects.toThrow("fetch failed");
    },
  );
});
