import { Failure } from "@countersign/build/fail.ts";
import { expect, test } from "vitest";
import { buildClients } from "./test-native.ts";

test.each(["http://127.0.0.1:1/openapi.json", "nowhere/openapi.json"])(
  "a document that is not there is named before the generator fails on it: %s",
  async (document) => {
    await expect(buildClients(document)).rejects.toThrow(
      new Failure(`${document} is not there: run \`npm start\` in another terminal first, or give its --document.`),
    );
  },
);
