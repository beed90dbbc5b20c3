import { generateKeyPair, signMessage } from "@countersign/keys/node";
import {
  SigningService,
  type SignPaymasterRequest,
  type SignPaymasterResponse,
  type SignStreamRequest,
  type SignStreamResponse,
} from "@countersign/proto/signer/v1/signing.ts";
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { announce } from "./announce.ts";

// Floor of the signer: bare grpc-js that signs any message, without TLS, token, policy or record.
const { privateKey } = generateKeyPair();
const signature = (message: Uint8Array) => ({
  address: Buffer.alloc(8),
  keyId: 0,
  // The fastest known way: with Node's option for r||s it takes twice as long.
  signature: Buffer.from(signMessage(privateKey, message, "sha3-256")),
});

const server = new Server();
server.addService(SigningService, {
  signTransaction: (_call: unknown, callback: sendUnaryData<never>) => callback({ code: 12 }),
  signPaymaster: (
    call: ServerUnaryCall<SignPaymasterRequest, SignPaymasterResponse>,
    callback: sendUnaryData<SignPaymasterResponse>,
  ) => callback(null, { signature: signature(call.request.message), audit: undefined }),
  signStream: (stream: ServerDuplexStream<SignStreamRequest, SignStreamResponse>) => {
    stream.on("data", ({ requests }: SignStreamRequest) => {
      stream.write({
        answers: requests.map(({ id, paymaster }) => ({
          id,
          signed: { signature: signature(paymaster?.message ?? Buffer.alloc(0)), audit: undefined },
        })),
      });
    });
    stream.on("end", () => stream.end());
  },
});
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_error, port) =>
  announce({ address: "127.0.0.1", family: "IPv4", port }),
);
