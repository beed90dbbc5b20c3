import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { payloadMessage, type TransactionPayload } from "@countersign/flow";
import { type Child, startChild } from "@countersign/local-stack/child.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient, type SoleRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { vi } from "vitest";
import { access, chain, type Person, stack } from "../support/person.ts";

/** Starts one more signer beside the stack's own: a test may kill it and give it other settings. */
export interface ExtraSigner {
  readonly child: Child;
  /** As the demonstration's backend. */
  readonly signing: SoleRpcClient<SigningService>;
  /** The Prometheus text. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

const directory = mkdtempSync(join(tmpdir(), "countersign-signer-"));
let count = 0;

/** Starts a signer with the running one's environment and these changes, and waits until it serves. */
export async function startExtraSigner(changes: Record<string, string> = {}): Promise<ExtraSigner> {
  const running = readFileSync(`/proc/${stack.processes.signer!.pid}/environ`, "utf8");
  const [grpc, admin] = await freePorts(2);
  count += 1;
  const name = `signer-extra-${count}`;
  const env = {
    ...Object.fromEntries(running.split("\0").flatMap((line) => (line ? [line.split(/=(.*)/s).slice(0, 2)] : []))),
    SIGNER_LISTEN: `127.0.0.1:${grpc}`,
    SIGNER_ADMIN_LISTEN: `127.0.0.1:${admin}`,
    SIGNER_AUDIT_CHECKPOINT_FILE: join(directory, `${name}.checkpoints`),
    ...changes,
  };
  const logFile = join(directory, `${name}.log`);
  const child = await startChild({
    name,
    command: process.execPath,
    args: ["services/signer/src/main.ts"],
    env,
    logFile,
  });
  await vi.waitFor(
    async () => {
      const { status } = await fetch(`http://127.0.0.1:${admin}/startupz`);
      if (status !== 200) throw new Error(`${name} is not ready: ${status}, see ${logFile}`);
    },
    { timeout: 60_000, interval: 100 },
  );
  const { ca, clients } = stack.tls;
  const signing = createRpcClient(SigningService, {
    address: `127.0.0.1:${grpc}`,
    tls: loadTls({ ca, ...clients["demo-backend"]! }),
    serverName: "signer",
    deadlineMs: 10_000,
  });
  return {
    child,
    signing,
    metrics: async () => (await fetch(`http://127.0.0.1:${admin}/metrics`)).text(),
    async stop() {
      signing.close();
      await child.stop();
    },
  };
}

/** Returns the payload of a harmless transaction of a person; another gas limit makes another message. */
export async function harmless({ address }: Person, gasLimit = 999n): Promise<Buffer> {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 1)]);
  const payload: TransactionPayload = {
    script: "transaction { prepare(a: &Account) {} }",
    arguments: [],
    referenceBlockId: block.id,
    gasLimit,
    proposalKey: { address, keyId: 1, sequenceNumber: key.sequenceNumber },
    payer: chain.paymaster.replace("0x", ""),
    authorizers: [address],
  };
  return Buffer.from(payloadMessage(payload));
}
