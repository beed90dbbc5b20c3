import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccessApi } from "@countersign/flow";
import { afterAll, beforeAll, expect, it } from "vitest";
import { setUpNetwork } from "./chain-setup.ts";
import type { Child } from "./child.ts";
import { serviceAddress, startEmulator } from "./emulator.ts";
import { readNetworks, writeNetworks } from "./networks.ts";
import { freePorts } from "./ports.ts";
import { baseEnvironment, stateFiles } from "./service-environment.ts";
import { sampleNetwork } from "./testing/sample-network.ts";
import { ensureTools } from "./tools.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-chain-setup-"));
const files = stateFiles(stateDir);
const other = { ...sampleNetwork("http://127.0.0.1:1"), chainName: "other" };

let emulator: Child;
let accessNode: string;
async function startChain(): Promise<void> {
  const { flowEmulator: binary } = await ensureTools(console.log);
  const [flowRest, flowGrpc, flowAdmin, flowDebugger] = (await freePorts(4)) as [number, number, number, number];
  const ports = { flowRest, flowGrpc, flowAdmin, flowDebugger };
  emulator = await startEmulator({ binary, stateDir, ports, logFile: join(stateDir, "emulator.log") });
  accessNode = `http://127.0.0.1:${flowRest}`;
}
const setUp = (more: { isCopy?: boolean } = {}) =>
  setUpNetwork({
    accessNode,
    networksFile: files.networks,
    serviceKeyFile: files.flowServiceKey,
    env: {
      ...baseEnvironment(),
      SIGNER_KEYSTORE_FILE: files.keystore,
      SIGNER_KEYSTORE_PASSPHRASE_FILE: files.keystorePassphrase,
    },
    ...more,
  });

beforeAll(async () => {
  await startChain();
  writeFileSync(files.keystorePassphrase, "correct horse battery staple\n");
  writeNetworks(files.networks, [other]);
}, 900_000);
afterAll(async () => {
  await emulator.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

it("creates creator and paymaster where the chain does not have them", { timeout: 120_000 }, async () => {
  const created = await setUp();
  expect(readNetworks(files.networks)).toEqual([other, { ...created, publicAccessNode: undefined }]);
  expect(created).toMatchObject({ chainName: "flow-emulator", creator: { keyCount: 8 }, paymaster: { keyId: 0 } });
  expect(readdirSync(stateDir).filter((name) => name.startsWith("networks.json."))).toEqual([]);
  expect(await setUp()).toEqual(created);

  await emulator.stop();
  rmSync(join(stateDir, "flow"), { recursive: true });
  await startChain();
  const again = await setUp();
  const access = createAccessApi({ baseUrl: accessNode });
  expect(await access.accountKeys(again.creator.address)).toHaveLength(8);
  expect(await access.accountKeys(again.paymaster.address)).toHaveLength(1);
  const knowsFclCrypto = `access(all) fun main(): Bool { return getAccount(0x${serviceAddress}).contracts.get(name: "FCLCrypto") != nil }`;
  expect(await access.executeScript(knowsFclCrypto, [])).toBe(true);
  expect(readNetworks(files.networks).map(({ chainName }) => chainName)).toEqual(["other", "flow-emulator"]);
});

it("asks no chain about a copy, and names its access node", async () => {
  const [, before] = readNetworks(files.networks);
  accessNode = "http://127.0.0.1:2";
  expect(await setUp({ isCopy: true })).toMatchObject({ accessNode, creator: before!.creator });
});
