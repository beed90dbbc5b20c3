import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { Client, credentials } from "@grpc/grpc-js";
import { afterAll, describe, expect, it } from "vitest";
import { chainName, signUpPerson, stack } from "../support/person.ts";

const { ca, clients } = stack.tls;
const tls = loadTls({ ca, ...clients["demo-backend"]! });
const address = stack.processes.signer!.grpc!;
const options = { address, tls, serverName: "signer", deadlineMs: 3000 };

describe("the signer, as another backend sees it", () => {
  const information = createRpcClient(InformationService, options);
  const signing = createRpcClient(SigningService, options);
  const creation = createRpcClient(CreationService, options);
  afterAll(() => {
    for (const client of [information, signing, creation]) client.close();
  });

  it("answers its public keys over mutual TLS", async () => {
    const { paymaster, creator } = await information.getPublicKeys({ chainName });
    expect(paymaster?.bytes).toHaveLength(64);
    expect(creator?.bytes).toHaveLength(64);
  });

  it("refuses what the caller table does not list", async () => {
    const asked = creation.deriveServerKeys({ chainName, accountIds: [] });
    await expect(asked).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  });

  it("requires the user's own token for a signature", async () => {
    const request = { message: Buffer.alloc(40), chainName };
    await expect(signing.signTransaction(request)).rejects.toMatchObject({ reason: "Unauthenticated" });
    const token = "eyJhbGciOiJub25lIn0.e30.AA";
    await expect(signing.signTransaction(request, { token })).rejects.toMatchObject({ reason: "InvalidAccessToken" });
    const { client } = await signUpPerson();
    const { accessToken, refreshToken } = client.credentials!;
    const decided = signing.signTransaction(request, { token: accessToken });
    await expect(decided).rejects.toMatchObject({ reason: "InvalidMessage" });
    await expect(signing.signTransaction(request, { token: refreshToken })).rejects.toMatchObject({
      reason: "InvalidAccessToken",
    });
  });

  it("refuses connections without a certificate", async () => {
    const anonymous = new Client(address, credentials.createSsl(tls.ca), {
      "grpc.ssl_target_name_override": "signer.countersign.internal",
    });
    const connected = new Promise((resolve) => anonymous.waitForReady(Date.now() + 1500, (error) => resolve(!error)));
    const { path, requestSerialize, responseDeserialize } = InformationService.getPublicKeys;
    const refused = new Promise<number>((resolve) => {
      const deadline = Date.now() + 1500;
      anonymous.makeUnaryRequest(path, requestSerialize, responseDeserialize, { chainName }, { deadline }, (error) =>
        resolve(error?.code ?? 0),
      );
    });
    await connected;
    // UNAVAILABLE or DEADLINE_EXCEEDED: no connection was ever had.
    expect([4, 14]).toContain(await refused);
    anonymous.close();
  });
});

describe("every service", () => {
  const services = ["auth", "device", "key", "account", "signer"];

  it.each(services)("%s answers health and reflection", async (name) => {
    const connection = new Client(stack.processes[name]!.grpc!, credentials.createSsl(tls.ca, tls.key, tls.cert), {
      "grpc.ssl_target_name_override": `${name}.countersign.internal`,
    });
    const raw = (bytes: Buffer) => bytes;
    const health = await new Promise<Buffer>((resolve, reject) => {
      const deadline = Date.now() + 3000;
      connection.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        raw,
        raw,
        Buffer.alloc(0),
        { deadline },
        (error, value) => (error ? reject(error) : resolve(value!)),
      );
    });
    // HealthCheckResponse{status: SERVING}
    expect([...health]).toEqual([0x08, 0x01]);
    const listed = await new Promise<string>((resolve, reject) => {
      const call = connection.makeBidiStreamRequest(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        raw,
        raw,
      );
      call.on("data", (answer: Buffer) => resolve(answer.toString("latin1"))).on("error", reject);
      // ServerReflectionRequest{list_services: ""}
      call.write(Buffer.from([0x3a, 0x00]));
      call.end();
    });
    expect(listed).toContain(`${name}.v1.`);
    connection.close();
  });

  it("logs no token, key or e-mail address", async () => {
    const { email, client, login, deviceKey } = await signUpPerson();
    await client.signIn({ login, chainName });
    const directory = join(stack.stateDir, "log");
    const ours = readdirSync(directory).filter((file) => [...services, "gateway"].includes(file.replace(/\.log$/, "")));
    expect(ours).toHaveLength(6);
    const { accessToken, refreshToken } = client.credentials!;
    const secrets = [email, login.token, accessToken, refreshToken, deviceKey.publicKey];
    for (const file of ours) {
      const text = readFileSync(join(directory, file), "utf8");
      for (const secret of secrets) expect(text.includes(secret), `${file} holds a secret`).toBe(false);
      expect(text).not.toMatch(/eyJ[\w-]{20,}\.|PRIVATE KEY|@example\.com/);
    }
  });
});
