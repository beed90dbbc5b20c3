import { expect, test } from "vitest";
import { lastRelease } from "./check-contracts.ts";

test("the last release is the highest version, by numbers", () => {
  expect(lastRelease(["v0.9.0", "v0.10.0", "v0.2.7"])).toBe("v0.10.0");
  expect(lastRelease(["v1.0.0", "v1.0.1", "v0.99.99"])).toBe("v1.0.1");
});

test("pre-releases and other tags are no releases", () => {
  expect(lastRelease(["v1.0.0-rc.1", "vendor", "v2", ""])).toBeUndefined();
});
