import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { listEventStreams } from "@countersign/events/set-up.ts";
import { GetAuditProofResponse, InformationService } from "@countersign/proto/signer/v1/information.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { connect } from "nats";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { firstRecord } from "../../services/signer/src/testing/audit-fixture.ts";
import { countersign } from "../support/admin.ts";
import { chainName, type Person, payloadOf, signUpPerson, stack } from "../support/person.ts";

const { ca, clients } = stack.tls;
const options = {
  address: stack.processes.signer!.grpc!,
  tls: loadTls({ ca, ...clients["demo-backend"]! }),
  serverName: "signer",
  deadlineMs: 5000,
};
const information = createRpcClient(InformationService, options);
const signing = createRpcClient(SigningService, options);
const directory = mkdtempSync(join(tmpdir(), "countersign-audit-"));
const place = (name: string) => join(directory, name);
const checkpointFile = join(stack.stateDir, "audit", "signer.checkpoints");

const run = promisify(execFile);
const signer = async (...args: string[]) => {
  const env = {
    PATH: process.env.PATH,
    SIGNER_KEYSTORE_FILE: join(stack.stateDir, "keys/signer-keystore.json"),
    SIGNER_KEYSTORE_PASSPHRASE_FILE: join(stack.stateDir, "keys/signer-keystore.passphrase"),
  };
  return run(process.execPath, ["services/signer/src/cli.ts", ...args], { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  );
};

let client: Person["client"];
let message: Uint8Array;
let proof: GetAuditProofResponse;
beforeAll(async () => {
  const person = await signUpPerson();
  client = person.client;
  message = await payloadOf(person);
  const { accessToken: token } = client.credentials!;
  const { audit: receipt } = await signing.signTransaction({ message: Buffer.from(message), chainName }, { token });
  // Until a checkpoint covers it, the proof is not there yet.
  proof = await vi.waitFor(() => information.getAuditProof({ receipt }), { timeout: 20_000, interval: 200 });
  writeFileSync(place("proof.json"), JSON.stringify(GetAuditProofResponse.toJSON(proof)));
  writeFileSync(place("message"), message);
  writeFileSync(place("public.json"), (await signer("keys", "export-public")).stdout);
});
afterAll(() => {
  information.close();
  signing.close();
  rmSync(directory, { recursive: true, force: true });
});

describe("the audit log of a running signer", () => {
  it("proves a signature to a reader who has only the audit key's public half", async () => {
    const args = ["--proof", place("proof.json"), "--public-key", place("public.json")];
    const { code, stdout } = await signer("audit", "verify-proof", ...args, "--message", place("message"));
    expect(JSON.parse(stdout)).toMatchObject({ verdict: "signed" });
    expect(code).toBe(0);
    writeFileSync(place("other"), "another message");
    expect(await signer("audit", "verify-proof", ...args, "--message", place("other"))).toMatchObject({ code: 1 });
    const changed = { ...proof, record: Buffer.from(proof.record.toString().replace('"signed"', '"GasLimit"')) };
    writeFileSync(place("proof.json"), JSON.stringify(GetAuditProofResponse.toJSON(changed)));
    expect(await signer("audit", "verify-proof", ...args)).toMatchObject({ code: 1 });
  });

  it("proves no invented receipt", async () => {
    const [, chainId] = JSON.parse(proof.record.toString()) as string[];
    const invented = { chainId: chainId!, sequence: 1n, recordHash: Buffer.alloc(32) };
    await expect(information.getAuditProof({ receipt: invented })).rejects.toMatchObject({ reason: "InvalidRequest" });
    const nonsense = { ...invented, chainId: "x" };
    await expect(information.getAuditProof({ receipt: nonsense })).rejects.toMatchObject({ reason: "InvalidRequest" });
  });

  it("has its checkpoints on the stream of events", async () => {
    const operator = loadTls({ ca, ...clients.operator! });
    const tls = { ca: operator.ca.toString(), cert: operator.cert.toString(), key: operator.key.toString() };
    const nats = await connect({ servers: stack.nats, tls });
    const manager = await nats.jetstreamManager();
    const subject = "cs.v1.signer.all.audit-checkpoint";
    const published = async () => {
      let count = 0;
      for (const stream of await listEventStreams(manager)) {
        const { state } = await manager.streams.info(stream, { subjects_filter: subject });
        count += state.subjects?.[subject] ?? 0;
      }
      return count;
    };
    await expect.poll(published, { timeout: 20_000 }).toBeGreaterThan(0);
    await nats.close();
  });

  it("is complete when its export is compared with the signer's file of checkpoints", async () => {
    copyFileSync(checkpointFile, place("checkpoints"));
    expect(await countersign(stack, "ada", "audit", "export", "--out", place("export"))).toMatchObject({ code: 0 });
    const kept = ["--checkpoints", place("checkpoints")];
    const args = ["--export", place("export"), "--public-key", place("public.json"), ...kept];
    const { code, stdout } = await signer("audit", "verify", ...args);
    expect(stdout).toMatch(/\nwhole\n$/);
    expect(code).toBe(0);
    const lines = readFileSync(place("export"), "utf8").split("\n");
    const removed = lines.findIndex((line) => /^[0-9a-f]{64} /.test(line));
    writeFileSync(place("export"), lines.toSpliced(1, 1).join("\n"));
    const hidden = await signer("audit", "verify", ...args);
    expect(hidden.stdout).toMatch(/WRONG {2}export hides checkpoint 1, which .*checkpoints has\n/);
    expect(hidden.code).toBe(1);
    writeFileSync(place("export"), lines.toSpliced(removed, 1).join("\n"));
    const again = await signer("audit", "verify", ...args);
    expect(again.stdout).toMatch(/WRONG .*record 1 is missing or moved/);
    expect(again.code).toBe(1);
  });

  it("accepts no records that another process wrote to its database, and the export shows them", async () => {
    const database = new pg.Client({ connectionString: stack.databases.signer });
    await database.connect();
    const chainId = randomUUID();
    const record = firstRecord(chainId, { time: new Date(), caller: "forged" });
    try {
      // Certificate and signature of a genuine chain, as the forger has none.
      const genuine = await database.query(
        `SELECT certificate, certificate_signature, signature FROM audit_chain JOIN audit_batch ON chain_id = id LIMIT 1`,
      );
      const { certificate, certificate_signature, signature } = genuine.rows[0];
      await database.query(
        `INSERT INTO audit_chain (id, started_at, head_sequence, head_hash, certificate, certificate_signature)
         VALUES ($1, now(), 1, $2, $3, $4)`,
        [chainId, record.hash, certificate, certificate_signature],
      );
      await database.query(
        `INSERT INTO audit_batch (chain_id, last_sequence, time, hashes, texts, signature)
         VALUES ($1, 1, $2, decode($3, 'hex'), $4, $5)`,
        [chainId, record.time, record.hash, record.text, signature],
      );
      // A checkpoint that was made with the chain in sight.
      const newest = async () => {
        const { rows } = await database.query("SELECT max(sequence)::int AS sequence FROM audit_checkpoint");
        return rows[0].sequence as number;
      };
      const before = await newest();
      await signing.signTransaction(
        { message: Buffer.from(message), chainName },
        { token: client.credentials!.accessToken },
      );
      await expect.poll(newest, { timeout: 20_000 }).toBeGreaterThan(before);
      const receipt = { chainId, sequence: 1n, recordHash: Buffer.from(record.hash, "hex") };
      await expect(information.getAuditProof({ receipt })).rejects.toMatchObject({ reason: "Unavailable" });
      copyFileSync(checkpointFile, place("checkpoints"));
      await countersign(stack, "ada", "audit", "export", "--out", place("forged"));
      const files = ["--public-key", place("public.json"), "--checkpoints", place("checkpoints")];
      const { code, stdout } = await signer("audit", "verify", "--export", place("forged"), ...files);
      expect(stdout.split("\n").filter((line) => line.startsWith("WRONG"))).toEqual([
        `WRONG  chain ${chainId}: records 1 to 1 were not signed by the process that began the chain`,
      ]);
      expect(code).toBe(1);
    } finally {
      await database.query("DELETE FROM audit_chain WHERE id = $1", [chainId]);
      await database.query("DELETE FROM audit_batch WHERE chain_id = $1", [chainId]);
      await database.end();
    }
  });
});
