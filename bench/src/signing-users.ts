import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { bytesToHex } from "@countersign/keys";
import { type TlsFiles, tlsFiles } from "@countersign/local-stack/certificates.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import {
  type SignAnswer,
  SigningService,
  type SignRequest,
  type SignStreamRequest,
} from "@countersign/proto/signer/v1/signing.ts";
import { createCoalescer, createRpcClient } from "@countersign/rpc";
import { Client, credentials } from "@grpc/grpc-js";
import { expectOk, HttpConnection } from "./http-connection.ts";
import type { Operation } from "./load.ts";
import type { Signer, SigningPerson } from "./messages.ts";

/** Users that sign, and a function that closes their connections. */
export interface SigningUsers {
  users: Operation[];
  close(): void;
}

/** Connects to the signer with this certificate; paths may begin at the root. */
function signerAt(address: string, { ca, cert, key }: TlsFiles) {
  const file = (path: string) => readFileSync(resolve(root, path));
  const tls = { ca: file(ca), cert: file(cert), key: file(key) };
  return createRpcClient(SigningService, { address, tls, serverName: "signer", deadlineMs: 5000 });
}

/**
 * Creates `count` users that sign one message of a person after the other. Users of the same person share its
 * messages: none is repeated before all were signed.
 */
function usersOf(
  people: readonly SigningPerson[],
  signer: Signer,
  count: number,
  ask: (who: SigningPerson, message: Buffer) => Operation,
) {
  const turns = people.map((who) => {
    const operations = who[signer].map((message) => ask(who, message));
    let n = 0;
    return (): Promise<unknown> => {
      n += 1;
      return operations[n % operations.length]!();
    };
  });
  return Array.from({ length: count }, (_, i): Operation => turns[i % people.length]!);
}

/** Creates users of HTTP, with one connection each: for a gateway, or a floor. */
export function overHttp(
  baseUrl: string,
  people: readonly SigningPerson[],
  signer: Signer,
  count: number,
): SigningUsers {
  const connections = Array.from({ length: count }, () => new HttpConnection(baseUrl));
  const users = connections.flatMap((connection, i) =>
    usersOf([people[i % people.length]!], signer, 1, ({ token }, message) => {
      const body = JSON.stringify({ message: bytesToHex(message) });
      const path = `/sign/v1/cadence/${signer}`;
      return async () => expectOk(await connection.send({ method: "POST", path, token, body }));
    }),
  );
  return { users, close: () => connections.forEach((connection) => void connection.close()) };
}

/** Creates users that make unary calls without TLS: for a floor. */
export function bareUnary(
  address: string,
  people: readonly SigningPerson[],
  signer: Signer,
  count: number,
): SigningUsers {
  const client = new Client(address, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = SigningService.signPaymaster;
  const users = usersOf(people, signer, count, (_, message) => () => {
    return new Promise((resolve, reject) => {
      const request = { message, chainName: "" };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) =>
        error ? reject(error) : resolve(answer),
      );
    });
  });
  return { users, close: () => client.close() };
}

/** Creates users that make unary calls as another backend does: with its certificate and the user's token. */
export function overUnary(stack: Stack, people: readonly SigningPerson[], signer: Signer, count: number): SigningUsers {
  const { cert, key } = stack.tls.clients["demo-backend"]!;
  const client = signerAt(stack.processes.signer!.grpc!, { ca: stack.tls.ca, cert, key });
  const sign = signer === "transaction" ? client.signTransaction : client.signPaymaster;
  const users = usersOf(people, signer, count, ({ token }, message) => () => {
    return sign({ message, chainName: "" }, { token });
  });
  return { users, close: () => client.close() };
}

/**
 * Creates users that share one stream as the gateway does: the requests of one turn of the event loop are one
 * message, and each has its own user's token.
 */
export function overStream(
  stack: Stack,
  address: string,
  people: readonly SigningPerson[],
  signer: Signer,
  count: number,
): SigningUsers {
  const client = signerAt(address, tlsFiles(stack.stateDir, "gateway"));
  const stream = createCoalescer<SignRequest, SignAnswer>({
    open: (batches, signal) => client.signStream(messagesOf(batches), { signal }),
    bytesOf: ({ transaction, paymaster, accessToken }) =>
      (transaction ?? paymaster)!.message.length + accessToken.length + 256,
  });
  const users = usersOf(people, signer, count, ({ token }, message) => async () => {
    const operation = { [signer]: { message, chainName: "" } };
    const { refusal } = await stream.send({ accessToken: token, requestId: "", traceparent: "", ...operation }, 5000);
    if (refusal) throw new Error(`${refusal.reason}: ${refusal.detail}`);
  });
  const close = () => {
    stream.close();
    client.close();
  };
  return { users, close };
}

async function* messagesOf(batches: AsyncIterable<SignRequest[]>): AsyncGenerator<SignStreamRequest> {
  for await (const requests of batches) yield { requests };
}
