import { expect, test } from "vitest";
import { newestOf } from "./releases.ts";

test("the newest release is the highest version, by numbers", () => {
  expect(newestOf(["v0.9.0", "v0.10.0", "v0.2.7"])).toBe("v0.10.0");
  expect(newestOf(["v1.0.0", "v1.0.1", "v0.99.99"])).toBe("v1.0.1");
});

test("pre-releases and other tags are no releases", () => {
  expect(newestOf(["v1.0.0-rc.1", "vendor", "v2", ""])).toBeUndefined();
});
