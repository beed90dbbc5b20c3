import { z } from "zod";
import { CadenceAddress, ChainName, described, Hex, resource } from "../formats.ts";

export const CompositeSignature = resource(
  "Signature",
  "A composite signature, in the shape of Flow's client library.",
  {
    addr: CadenceAddress.meta({ description: "The signing account." }),
    keyId: z.int32().meta({ description: "The index of the signing key on chain.", examples: [0] }),
    signature: Hex.meta({ description: "Hex of raw r||s.", examples: ["ab".repeat(64)] }),
  },
);
export type CompositeSignature = z.infer<typeof CompositeSignature>;

export const Network = resource("Network", "A chain that accounts can be on, with the facts that a client needs.", {
  chainName: ChainName,
  chainType: described("The virtual machine of its transactions: `cadence`.", "cadence"),
  chainId: z.int().meta({ description: "The EVM chain id.", format: "int64", examples: [646] }),
  accessNode: described("The base URL of the Access API (REST).", "https://rest-testnet.onflow.org"),
  paymaster: CadenceAddress.meta({ description: "The payer of sponsored transactions." }),
  explorerUrl: described("Has `{id}` in the place of a transaction's id.", "https://explorer.example/tx/{id}"),
});
export type Network = z.infer<typeof Network>;

export const TemplateParameter = resource("TemplateParameter", "A parameter of a template.", {
  name: described("The parameter's name in the script.", "recoveryKey"),
  type: described("Its Cadence type.", "String"),
  value: described('The only value that the signer accepts; "" for any.', ""),
});

export const Template = resource("Template", "A transaction template that the signer signs.", {
  name: described("The template's name.", "add-recovery-key"),
  script: described("The script, to the byte.", "transaction(serverKey: String) {}"),
  parameters: z.array(TemplateParameter).meta({ description: "The script's parameters, in order." }),
  gasLimit: z.int().meta({ description: "The transaction's gas limit.", format: "int64", examples: [9999] }),
});
export type Template = z.infer<typeof Template>;

export const ServerKeyRotation = resource(
  "ServerKeyRotation",
  "A rotation of the server key that needs a device's signature.",
  {
    chainName: ChainName,
    message: Hex.meta({ description: "Hex of the payload to sign: domain tag and RLP." }),
  },
);
export type ServerKeyRotation = z.infer<typeof ServerKeyRotation>;
