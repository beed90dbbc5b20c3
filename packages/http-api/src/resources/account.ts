import { z } from "zod";
import {
  ChainAddress,
  ChainName,
  createdAt,
  described,
  OptionalTimestamp,
  OptionalTransactionId,
  openEnum,
  resource,
  Timestamp,
  Uuid,
} from "../formats.ts";

export const Address = resource("Address", "An address of an account: each account has two on every network.", {
  address: ChainAddress.meta({ description: "16 hex digits for Cadence, 40 for EVM, with `0x`." }),
  profileImageUrl: described('The picture that the identity provider knows; "" for none.', ""),
  domainName: described('A name of the chain\'s name service; "" for none.', "ada.find"),
  chainName: ChainName,
  chainId: z.int().meta({
    description: "The network's EVM chain id, for both addresses: 747 mainnet, 545 testnet, 646 emulator.",
    format: "int64",
    examples: [646],
  }),
  chainType: openEnum(["cadence", "evm"], "The virtual machine that the address belongs to."),
});
export type Address = z.infer<typeof Address>;

export const Account = z
  .object({
    id: Uuid.meta({ description: "The account's id." }),
    addresses: z.array(Address).meta({ description: "Empty until the chain has executed the deployment." }),
    parent: z.array(Address).meta({ description: "The accounts that the chain shows as this one's parents." }),
    createdAt,
    updatedAt: Timestamp.meta({ description: "The time of the last change. The answer of `linkParent` has none." }),
  })
  .meta({
    id: "Account",
    description: "A person's account: multi-key, on one or more networks.",
    // One class in generated clients, with and without the time.
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      jsonSchema.required = ["id", "addresses", "parent", "createdAt"];
    },
  });
export type Account = z.infer<typeof Account>;

export const TransactionReference = resource(
  "TransactionReference",
  "A transaction on chain, with a page that a person can open.",
  {
    id: OptionalTransactionId.meta({ description: 'The transaction\'s id; "" while none has been submitted.' }),
    chainName: ChainName,
    refUrl: described("A page that shows the transaction.", "https://explorer.example/tx/21c86909067d9056"),
  },
);
export type TransactionReference = z.infer<typeof TransactionReference>;

export const TimeLock = resource("TimeLock", "A change of the account's keys that waits.", {
  id: Uuid.meta({ description: "The id to cancel it by." }),
  operation: described("The template of the change.", "add-recovery-key"),
  chainName: ChainName,
  startedAt: Timestamp.meta({ description: "The first request for the change." }),
  availableAt: Timestamp.meta({ description: "The same request is granted from here on." }),
  cancelledAt: OptionalTimestamp.meta({ description: '"" unless it was cancelled.' }),
});
export type TimeLock = z.infer<typeof TimeLock>;
