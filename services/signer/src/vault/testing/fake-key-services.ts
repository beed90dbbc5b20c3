import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { p256 } from "@noble/curves/nist.js";
import { crc32c } from "../gcp-kms.ts";

const spki = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ type: "spki", format: "der" });

/** ECDSA over 32 given bytes, as a key service does it; node:crypto would hash them. */
export const signBytes = (privateKey: KeyObject, bytes: Uint8Array, format: "der" | "compact"): Buffer =>
  Buffer.from(
    p256.sign(bytes, Buffer.from(privateKey.export({ format: "jwk" }).d!, "base64url"), { prehash: false, format }),
  );

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString());
}

/** Starts a server with the interfaces of AWS KMS and Google Cloud KMS, as their references describe them. */
export async function startFakeKeyServices() {
  /** The key behind every id, except for those with "secp", which are of another curve. */
  const key = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const otherCurve = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
  const requests: { path: string; headers: IncomingMessage["headers"]; body: Record<string, unknown> }[] = [];
  /** `damage`: wrong values in an answer of the Google service. */
  const faults: { down: boolean; damage: Record<string, unknown> } = { down: false, damage: {} };
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const path = request.url!;
    requests.push({ path, headers: request.headers, body });
    const answer = (status: number, value: object) => {
      response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(value));
    };
    if (faults.down) return answer(400, { __type: "KMSInvalidStateException", message: "pending deletion" });
    const target = request.headers["x-amz-target"];
    const pair = body.KeyId === "secp" || path.includes("secp") ? otherCurve : key;
    if (target === "TrentService.GetPublicKey") {
      const KeySpec = pair === key ? "ECC_NIST_P256" : "ECC_SECG_P256K1";
      return answer(200, {
        KeyId: body.KeyId,
        PublicKey: spki(pair).toString("base64"),
        KeySpec,
        KeyUsage: "SIGN_VERIFY",
      });
    }
    if (target === "TrentService.Sign") {
      const Signature = signBytes(key.privateKey, Buffer.from(String(body.Message), "base64"), "der").toString(
        "base64",
      );
      return answer(200, { KeyId: body.KeyId, Signature, SigningAlgorithm: body.SigningAlgorithm });
    }
    if (path.endsWith("/publicKey")) {
      const algorithm = pair === key ? "EC_SIGN_P256_SHA256" : "EC_SIGN_SECP256K1_SHA256";
      const pem = pair.publicKey.export({ type: "spki", format: "pem" }) as string;
      return answer(200, { pem, pemCrc32c: String(crc32c(Buffer.from(pem))), algorithm, ...faults.damage });
    }
    const { sha256 } = body.digest as { sha256: string };
    const signature = signBytes(key.privateKey, Buffer.from(sha256, "base64"), "der");
    answer(200, {
      name: path.replace("/v1/", "").replace(":asymmetricSign", ""),
      signature: signature.toString("base64"),
      signatureCrc32c: String(crc32c(signature)),
      verifiedDigestCrc32c: body.digestCrc32c === String(crc32c(Buffer.from(sha256, "base64"))),
      ...faults.damage,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env.AWS_ACCESS_KEY_ID = "AKIATEST";
  process.env.AWS_SECRET_ACCESS_KEY = "secret-of-the-test";
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    requests,
    faults,
    async close() {
      delete process.env.AWS_ACCESS_KEY_ID;
      delete process.env.AWS_SECRET_ACCESS_KEY;
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type FakeKeyServices = Awaited<ReturnType<typeof startFakeKeyServices>>;
