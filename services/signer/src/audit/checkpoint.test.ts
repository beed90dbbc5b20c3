import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { auditKeys, auditWorld, signedText } from "../testing/audit-fixture.ts";
import { parseCheckpoint, readCheckpoint } from "./checkpoint.ts";

const world = auditWorld();
world.write(1, 2);
world.checkpoint();
const [signed] = world.checkpoints as [{ text: string; signature: string }];

it("a checkpoint is read where the audit key has signed it", () => {
  expect(readCheckpoint(signed, auditKeys)).toEqual(parseCheckpoint(signed.text));
  expect(readCheckpoint(signedText(signed.text, generateKeyPair()), auditKeys)).toBeUndefined();
});

it.each([signed.text.replace(",", ", "), signed.text.replace(".000Z", "Z"), `${signed.text}\n`])(
  "no text is one that the signer would write otherwise: %j",
  (text) => {
    expect(text).not.toBe(signed.text);
    expect(parseCheckpoint(text)).toBeUndefined();
  },
);
