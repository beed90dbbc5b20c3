import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";
import { checkSettings, settingsOf } from "./check-settings.ts";

test("a schema's settings are found, also those that are written over several lines", () => {
  const source =
    "const schema = sharedEnv.extend({\n  AUTH_LISTEN: listenAddress,\n  AUTH_DAYS: z\n    .number(),\n});";
  expect(settingsOf(source)).toEqual(["AUTH_LISTEN", "AUTH_DAYS"]);
  expect(settingsOf("  listen: settings.AUTH_LISTEN,")).toEqual([]);
});

test("every setting of this repository is documented", () => {
  expect(checkSettings(root)).toEqual([]);
});
