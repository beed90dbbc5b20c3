import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { createAccessApi, envelopeMessage, type FlowTransaction } from "@countersign/flow";
import { withPayloadSignature } from "@countersign/flow/node";
import { bytesToHex } from "@countersign/keys";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/service-kit";
import { Client, credentials } from "@grpc/grpc-js";
import { startFloor } from "../floors/start-floor.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, fixedRate, type Operation } from "../load.ts";
import type { Resident } from "../people.ts";
import { withCpu } from "../processes.ts";
import type { Bench, Case } from "./case.ts";

const root = join(import.meta.dirname, "../../..");
const MESSAGES_PER_PERSON = 16;

/** Envelopes as a phone sends them: the payload signed by the device's key. */
async function envelopes(bench: Bench): Promise<{ token: string; messages: Buffer[] }[]> {
  const chain = bench.stack.chains[0]!;
  const block = await createAccessApi({ baseUrl: chain.accessNode }).latestSealedBlock();
  const envelope = ({ deviceKey, address }: Resident, sequence: number): Buffer => {
    const transaction: FlowTransaction = {
      script: "transaction(text: String) { prepare(account: &Account) { log(text) } }",
      arguments: [JSON.stringify({ type: "String", value: "hello" })],
      referenceBlockId: block.id,
      gasLimit: 999n,
      proposalKey: { address, keyId: 1, sequenceNumber: BigInt(sequence) },
      payer: chain.paymaster.slice(2),
      authorizers: [address],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    const privateKey = createPrivateKey({ format: "jwk", key: deviceKey.toJwk() });
    return Buffer.from(
      envelopeMessage(withPayloadSignature(transaction, { address, keyId: 1, privateKey, hash: "sha256" })),
    );
  };
  return bench.residents.map((resident) => ({
    token: resident.client.credentials!.accessToken,
    messages: Array.from({ length: MESSAGES_PER_PERSON }, (_, i) => envelope(resident, i)),
  }));
}

/** The paymaster's signature: through the gateway and over gRPC, beside what express and grpc-js do with nothing but the signature itself. */
export const paymaster: Case = async (bench) => {
  const { stack, connections } = bench;
  const people = await envelopes(bench);
  const overHttp = (baseUrl: string): Operation[] =>
    Array.from({ length: connections }, (_, i) => {
      const connection = new HttpConnection(baseUrl);
      const { token, messages } = people[i % people.length]!;
      const bodies = messages.map((message) => JSON.stringify({ message: bytesToHex(message) }));
      let n = 0;
      return async () => {
        n += 1;
        const body = bodies[n % bodies.length]!;
        expectOk(await connection.send({ method: "POST", path: "/sign/v1/cadence/paymaster", token, body }));
      };
    });

  const signer = await startFloor("floor-signer");
  const bareUnary = await closedLoop(bareGrpc(signer.address, people, connections), bench);
  const viaUnary = await startFloor("floor-gateway", signer.address, "unary");
  const expressUnary = await closedLoop(overHttp(`http://${viaUnary.address}`), bench);
  viaUnary.stop();
  const viaStream = await startFloor("floor-gateway", signer.address, "stream");
  const coalesced = await closedLoop(overHttp(`http://${viaStream.address}`), bench);
  viaStream.stop();
  signer.stop();

  const gateway = await withCpu(stack, bench, (timed) => closedLoop(overHttp(stack.gateway), timed));
  const half = await fixedRate(overHttp(stack.gateway), gateway.measured.perSecond / 2, bench);
  const { users, close } = grpcUsers(bench, people);
  const unary = await withCpu(stack, bench, (timed) => closedLoop(users, timed));
  close();
  return [
    { name: "bare grpc-js unary, signing", measured: bareUnary },
    { name: "express + grpc-js unary, signing", measured: expressUnary },
    { name: "express + coalesced stream, signing", measured: coalesced },
    {
      name: "paymaster through the gateway",
      ...gateway,
      floor: "express + coalesced stream, signing",
      goal: 0.5,
    },
    { name: "paymaster through the gateway, half load", measured: half, goalP99: 10 },
    { name: "paymaster over gRPC, unary", ...unary, floor: "bare grpc-js unary, signing" },
  ];
};

function bareGrpc(address: string, people: { messages: Buffer[] }[], connections: number): Operation[] {
  const client = new Client(address, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = SigningService.signPaymaster;
  return Array.from({ length: connections }, (_, i) => {
    const message = people[i % people.length]!.messages[0]!;
    return () =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          { message, chainName: "" },
          (error, answer) => (error ? reject(error) : resolve(answer)),
        );
      });
  });
}

/** Another backend's way: its own certificate, the user's token. */
function grpcUsers({ stack, connections }: Bench, people: { token: string; messages: Buffer[] }[]) {
  const file = (path: string) => readFileSync(isAbsolute(path) ? path : join(root, path));
  const { cert, key } = stack.tls.clients["demo-backend"]!;
  const client = createRpcClient(SigningService, {
    address: stack.processes.signer!.grpc!,
    tls: { ca: file(stack.tls.ca), cert: file(cert), key: file(key) },
    serverName: "signer",
    deadlineMs: 5000,
  });
  const users = Array.from({ length: connections }, (_, i): Operation => {
    const { token, messages } = people[i % people.length]!;
    let n = 0;
    return () => {
      n += 1;
      return client.signPaymaster({ message: messages[n % messages.length]!, chainName: "" }, { token });
    };
  });
  return { users, close: () => client.close() };
}
