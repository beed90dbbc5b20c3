import type { CompositeSignature } from "@countersign/http-api/resources.ts";
import type { SignedMessage } from "@countersign/proto/signer/v1/signing.ts";
import { toHex } from "../../http/fields.ts";

export const toSignatureResponse = ({ signature }: SignedMessage): { signature: CompositeSignature } => ({
  signature: {
    addr: `0x${toHex(signature?.address)}`,
    keyId: signature?.keyId ?? 0,
    signature: toHex(signature?.signature),
  },
});
