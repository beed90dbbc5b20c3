import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheDir } from "@countersign/build/paths.ts";
import { withEnvelopeSignature } from "@countersign/flow/node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ensureServiceKey, serviceAddress, startEmulator } from "./emulator.ts";
import { freePorts } from "./ports.ts";
import { ServiceAccount } from "./service-account.ts";
import { ensureTools } from "./tools.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-emulator-"));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

let binary: string;
beforeAll(async () => {
  ({ flowEmulator: binary } = await ensureTools(console.log));
}, 900_000);

const script = "transaction { prepare(signer: &Account) {} }";

it("the emulator seals further transactions after a signature with a key index that does not exist", {
  timeout: 60_000,
}, async ({ skip }) => {
  skip(!binary.startsWith(cacheDir()), "this emulator was built elsewhere, without the patches");
  const [flowRest, flowGrpc, flowAdmin, flowDebugger] = (await freePorts(4)) as [number, number, number, number];
  const ports = { flowRest, flowGrpc, flowAdmin, flowDebugger };
  const emulator = await startEmulator({ binary, stateDir, ports, logFile: join(stateDir, "emulator.log") });
  try {
    const account = new ServiceAccount(`http://127.0.0.1:${flowRest}`, ensureServiceKey(stateDir));
    const { access, signer } = account;
    const unsigned = {
      script,
      arguments: [],
      referenceBlockId: (await access.latestSealedBlock()).id,
      gasLimit: 1000n,
      proposalKey: { address: serviceAddress, keyId: 0, sequenceNumber: 0n },
      payer: serviceAddress,
      authorizers: [serviceAddress],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    const id = await access.submit(withEnvelopeSignature(unsigned, { ...signer, keyId: 7 }));
    const { errorMessage } = await access.waitForSeal(id, { signal: AbortSignal.timeout(10_000) });
    expect(errorMessage).toMatch(/key/);
    await expect(account.run(script, [])).resolves.toBeDefined();
  } finally {
    await emulator.stop();
  }
});
