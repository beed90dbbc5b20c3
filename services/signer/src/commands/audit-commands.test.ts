import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkpointLine } from "../audit/checkpoint-file.ts";
import { auditKey, auditWorld, chainIdOf } from "../testing/audit-fixture.ts";
import { auditVerify, readCheckpoints } from "./audit-verify.ts";
import { auditVerifyProof } from "./audit-verify-proof.ts";

/** The most characters of a string are fewer. */
const LONGER_THAN_A_STRING = 2 ** 29;

let directory: string;
const place = (name: string) => join(directory, name);
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "countersign-audit-"));
  const audit = [{ version: 1, publicKey: auditKey.publicKey.publicKey }];
  writeFileSync(place("public"), JSON.stringify({ audit }));
});
afterAll(() => rmSync(directory, { recursive: true }));

async function run({ run: work }: Command, ...args: string[]) {
  const lines: string[] = [];
  const code = await work({
    args: [...args, "--public-key", place("public")],
    env: {},
    print: (line) => lines.push(line),
  });
  return { code, text: lines.join("\n") };
}

describe("audit verify", () => {
  const world = auditWorld();
  world.write(1, 3);
  world.checkpoint();
  const ownOnly = "compared with the export's own checkpoints only";
  const verify = (checkpoints: string) => {
    writeFileSync(place("export"), `${world.export().join("\n")}\n`);
    writeFileSync(place("checkpoints"), checkpoints);
    return run(auditVerify, "--export", place("export"), "--checkpoints", place("checkpoints"));
  };

  it("compares with the whole lines of a file of checkpoints", async () => {
    const line = checkpointLine(world.checkpoints[0]!);
    const { code, text } = await verify(`${line}\n${line.slice(0, 40)}`);
    expect([code, text]).toEqual([0, expect.not.stringContaining(ownOnly)]);
    expect(await verify(`${line}\nhello\n`)).toMatchObject({ code: 1 });
  });

  it.each(["", "hello"])("says that nothing was compared with a file that has no checkpoint: %j", async (content) => {
    expect((await verify(content)).text).toContain(ownOnly);
  });

  it("reads a file of checkpoints that is longer than a string", () => {
    const [signed] = world.checkpoints;
    writeFileSync(place("long"), `${checkpointLine(signed!)}\n`);
    // The rest takes no place on the disk.
    truncateSync(place("long"), LONGER_THAN_A_STRING);
    const { checkpoints } = readCheckpoints(place("long"));
    expect(checkpoints[Symbol.iterator]().next().value).toEqual(signed);
  });
});

describe("audit verify-proof", () => {
  const verify = async (verdict: string, ...more: string[]) => {
    const world = auditWorld();
    world.write(1, 1, () => ({ verdict }));
    world.checkpoint();
    const { text, signature } = world.checkpoints[0]!;
    const proof = {
      record: Buffer.from(world.chains.get(chainIdOf(1))!.records[0]!.text).toString("base64"),
      checkpoint: Buffer.from(text).toString("base64"),
      checkpointSignature: Buffer.from(signature, "hex").toString("base64"),
    };
    writeFileSync(place("proof"), JSON.stringify(proof));
    return run(auditVerifyProof, "--proof", place("proof"), ...more);
  };

  it("accepts a signature", async () => {
    expect(await verify("signed")).toMatchObject({ code: 0, text: expect.stringContaining('"verdict":"signed"') });
  });

  it("does not take a refusal for a signature", async () => {
    expect(await verify("GasLimit")).toMatchObject({ code: 1, text: expect.stringContaining("GasLimit") });
  });

  it("does not leave out the comparison with a message whose file has no name, as of an unset variable", async () => {
    await expect(verify("signed", "--message", "")).rejects.toThrow("ENOENT");
  });
});
