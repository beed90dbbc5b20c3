import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createAccessApi } from "@countersign/flow";
import { parsePublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { ensurePython } from "@countersign/local-stack/python.ts";
import { hasPython } from "@countersign/local-stack/test-programs.ts";
import { ensureGrpcurl } from "@countersign/local-stack/tools.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chain, chainName, NOTHING, type Person, payloadOf, signUpPerson, stack } from "../support/person.ts";

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), "countersign-backend-"));
const place = (name: string) => join(directory, name);

describe.skipIf(!hasPython())("a backend in Python, generated from the same proto", () => {
  let program: string;
  let person: Person;
  beforeAll(async () => {
    program = await ensurePython("examples/python/requirements.txt");
    const generated = place("generated");
    mkdirSync(generated);
    const files = ["signer/v1", "common/v1"].flatMap((folder) =>
      readdirSync(join("proto", folder)).map((name) => join("proto", folder, name)),
    );
    const out = [`--python_out=${generated}`, `--grpc_python_out=${generated}`];
    await run(program, ["-m", "grpc_tools.protoc", "-I", "proto", ...out, ...files]);
    person = await signUpPerson();
  }, 300_000);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const sign = async (authorizer: string, other: { signer?: string; chain?: string } = {}) => {
    const message = await payloadOf(person, NOTHING, authorizer);
    writeFileSync(place("message"), message);
    writeFileSync(place("token"), person.client.credentials!.accessToken, { mode: 0o600 });
    const { ca, clients } = stack.tls;
    const { cert, key: tlsKey } = clients["demo-backend"]!;
    const places = [
      "--ca",
      ca,
      "--cert",
      cert,
      "--key",
      tlsKey,
      "--message",
      place("message"),
      "--token-file",
      place("token"),
    ];
    const args = [
      "examples/python/sign.py",
      "--signer",
      other.signer ?? stack.processes.signer!.grpc!,
      "--chain",
      other.chain ?? chainName,
      ...places,
    ];
    const env = { PATH: process.env.PATH, PYTHONPATH: place("generated") };
    return { message, ...(await run(program, args, { env, timeout: 60_000 })) };
  };

  it("gets the account's signature over mutual TLS, with a receipt", async () => {
    const { message, stdout } = await sign(person.address);
    const answer = JSON.parse(stdout);
    expect(answer).toMatchObject({ kind: "payload", address: person.address, keyId: 0 });
    expect(answer.receipt).toMatchObject({
      chainId: expect.any(String),
      recordHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const access = createAccessApi({ baseUrl: chain.accessNode });
    const { publicKey } = await access.accountKey(person.address, 0);
    const key = parsePublicKey(publicKey, "ES256");
    expect(verifySignature(key, message, Buffer.from(answer.signature, "hex"), "sha3-256")).toBe(true);
  });

  it("is refused what the rules refuse", async () => {
    const refused = sign(chain.creator.replace("0x", ""));
    await expect(refused).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^PERMISSION_DENIED NotYourAccount: .+\n$/),
    });
  });

  it("prints one line if no server answers, or the chain is unknown", async () => {
    const away = sign(person.address, { signer: "127.0.0.1:1" });
    await expect(away).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/^UNAVAILABLE .+\n$/) });
    const unknown = sign(person.address, { chain: "nowhere" });
    await expect(unknown).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/^\w+ UnknownChain: .+\n$/) });
  });
});

const grpcurl = await ensureGrpcurl(console.log);

describe("grpcurl", () => {
  const { ca, clients } = stack.tls;
  const { cert, key } = clients["demo-backend"]!;
  const ask = (...args: string[]) =>
    run(grpcurl, ["-cacert", ca, "-cert", cert, "-key", key, "-authority", "signer.countersign.internal", ...args]);
  const address = stack.processes.signer!.grpc!;

  it("finds services and methods by reflection, and calls them", async () => {
    expect((await ask(address, "list")).stdout).toContain("signer.v1.Information");
    expect((await ask(address, "describe", "signer.v1.Signing")).stdout).toContain("rpc SignTransaction");
    const { stdout } = await ask(
      "-d",
      JSON.stringify({ chain_name: chainName }),
      address,
      "signer.v1.Information/GetPublicKeys",
    );
    expect(JSON.parse(stdout)).toMatchObject({ paymaster: expect.anything(), creator: expect.anything() });
    const refused = ask("-d", "{}", address, "signer.v1.Creation/DeriveServerKeys");
    await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining("PermissionDenied") });
  });
});
