import { SigningService, type SignRequest } from "@countersign/proto/signer/v1/signing.ts";
import { Client, credentials } from "@grpc/grpc-js";
import express from "express";
import { announce } from "./announce.ts";

// Floor of the gateway: express that forwards a message to the floor signer, by one unary call each or
// coalesced on one stream.
const [, , signerAddress = "", mode = "stream"] = process.argv;
const client = new Client(signerAddress, credentials.createInsecure());

interface Signed {
  signature?: { address: Uint8Array; keyId: number; signature: Uint8Array } | undefined;
}

function unary(message: Buffer): Promise<Signed> {
  const { path, requestSerialize, responseDeserialize } = SigningService.signPaymaster;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { message, chainName: "" }, (error, answer) =>
      error ? reject(error) : resolve(answer!),
    );
  });
}

function coalesced(): (message: Buffer) => Promise<Signed> {
  const { path, requestSerialize, responseDeserialize } = SigningService.signStream;
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const waiting = new Map<number, (signed: Signed) => void>();
  let outgoing: SignRequest[] = [];
  let nextId = 0;
  stream.on("data", ({ answers }) => {
    for (const { id, signed } of answers) {
      waiting.get(id)?.(signed!);
      waiting.delete(id);
    }
  });
  return (message) =>
    new Promise((resolve) => {
      nextId += 1;
      waiting.set(nextId, resolve);
      outgoing.push({
        id: nextId,
        accessToken: "",
        requestId: "",
        traceparent: "",
        paymaster: { message, chainName: "" },
      });
      if (outgoing.length > 1) return;
      setImmediate(() => {
        stream.write({ requests: outgoing });
        outgoing = [];
      });
    });
}

const ask = mode === "unary" ? unary : coalesced();
const app = express();
app.disable("x-powered-by");
app.disable("etag");
app.post("/sign/v1/cadence/paymaster", express.json(), async (request, response) => {
  const { signature } = await ask(Buffer.from(request.body.message, "hex"));
  response.json({
    signature: {
      addr: Buffer.from(signature!.address).toString("hex"),
      keyId: signature!.keyId,
      signature: Buffer.from(signature!.signature).toString("hex"),
    },
  });
});
const server = app.listen(0, "127.0.0.1", () => announce(server.address()));
