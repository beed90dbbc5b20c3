import { createPublicKey } from "node:crypto";
import { GetPublicKeyCommand, KMSClient, SignCommand } from "@aws-sdk/client-kms";
import { fromIni } from "@aws-sdk/credential-provider-ini";
import { parseSignature } from "@countersign/keys";
import { holderUnavailable, type KeyHolder, KeyHolderError, p256Key } from "./key-holder.ts";

export interface AwsKmsOptions {
  readonly region: string;
  /** Instead of the region's own: for tests and private endpoints. */
  readonly endpoint?: string | undefined;
  /** In the form of ~/.aws/credentials, with the profile `default`. Absent: as the SDK finds them. */
  readonly credentialsFile?: string | undefined;
}

const TIMEOUT_MS = 3000;

/**
 * Opens AWS KMS: keys of spec ECC_NIST_P256 with usage SIGN_VERIFY, named by id, ARN or alias. It does not
 * support SHA3, so it gets the digest (MessageType DIGEST). Without a file, credentials come from the places
 * that the AWS SDK searches: the role of the pod or machine, files, variables.
 */
export function awsKms({ region, endpoint, credentialsFile }: AwsKmsOptions): KeyHolder {
  // The SDK keeps what it has read of a file for all clients, which `ignoreCache` prevents.
  const credentials = credentialsFile && fromIni({ filepath: credentialsFile, profile: "default", ignoreCache: true });
  const client = new KMSClient({
    region,
    ...(endpoint && { endpoint }),
    ...(credentials && { credentials }),
    maxAttempts: 2,
  });
  const signal = () => ({ abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
  return {
    async publicKey(id) {
      const answer = await client.send(new GetPublicKeyCommand({ KeyId: id }), signal()).catch((cause: unknown) => {
        throw holderUnavailable(cause);
      });
      if (answer.KeySpec !== "ECC_NIST_P256" || answer.KeyUsage !== "SIGN_VERIFY" || !answer.PublicKey)
        throw new KeyHolderError("the key in AWS KMS is not ECC_NIST_P256 for SIGN_VERIFY");
      return p256Key(createPublicKey({ key: Buffer.from(answer.PublicKey), format: "der", type: "spki" }));
    },
    async signDigest(id, digest) {
      const input = { KeyId: id, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
      const { Signature } = await client.send(new SignCommand(input), signal()).catch((cause: unknown) => {
        throw holderUnavailable(cause);
      });
      if (!Signature) throw holderUnavailable(new Error("AWS KMS answered without a signature"));
      return parseSignature(Signature);
    },
    close: () => client.destroy(),
  };
}
