import { FixedClock } from "@countersign/core/testing";
import { payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../audit/record.ts";
import { signTransaction } from "../../domain/sign-transaction.ts";
import { startReader } from "../../parser/start-reader.ts";
import { asked, refusal, signing, state, tx } from "../../testing/policy-fixture.ts";
import { changing } from "../../testing/template-fixture.ts";
import { DEFAULT_POLICY } from "../policy.ts";
import { createKnownScripts } from "./known-scripts.ts";

const scripts = createKnownScripts({ reader: undefined, clock: new FixedClock() });
const transaction = signTransaction({ ...signing, scripts });

describe("without a parser", () => {
  it("no custom script is signed, however harmless", async () => {
    expect(await refusal(transaction(asked(payloadMessage(tx()))))).toBe("ScriptNotUnderstood");
  });

  it("templates and listed scripts are", async () => {
    const { publicKey: oldKey } = generateKeyPair().publicKey;
    await transaction(asked(payloadMessage(changing({ template: "revoke-user-key", oldKey }))));
    const allowed = new Set([sha256(tx().script)]);
    state.policy = { ...DEFAULT_POLICY, scripts: { ...DEFAULT_POLICY.scripts, allowed } };
    await transaction(asked(payloadMessage(tx())));
    expect(state.records.map(({ verdict }) => verdict)).toEqual(["signed", "signed"]);
  });
});

describe("a signer whose parser is missing or broken", () => {
  it.each(["/nowhere", import.meta.dirname])("starts, says so, and has none: %s", async (directory) => {
    const said: unknown[] = [];
    const metrics = { registry: { registerMetric: () => undefined } };
    const reader = await startReader(
      { workers: 1, timeLimitMs: 1000, directory },
      {
        logger: { error: (about: object) => said.push(about), warn: () => undefined } as never,
        metrics: metrics as never,
        onClose: () => undefined,
      },
    );
    expect(reader).toBeUndefined();
    expect(said).toMatchObject([{ event: "parser-missing" }]);
  });
});
