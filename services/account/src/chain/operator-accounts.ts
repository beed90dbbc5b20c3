import {
  type AccessApi,
  type ChainEvent,
  type ChainKey,
  cadenceInt,
  cadenceString,
  cadenceUFix64,
  encodeCadence,
  type FlowTransaction,
} from "@countersign/flow";
import type { Network } from "@countersign/settings";
import { CORE_CONTRACTS } from "./core-contracts.ts";

/** The two accounts that the service itself has on a chain. Amounts are UFix64 texts, such as "10.0". */
export interface OperatorAccounts {
  /** 128 hex digits, P-256. */
  readonly creatorKey: string;
  /** Proposal keys: so many creations can be under way at once. */
  readonly creatorKeys: number;
  readonly creatorFlow: string;
  readonly paymasterKey: string;
  readonly paymasterFlow: string;
}

/** 16 hex digits each. */
export interface OperatorAddresses {
  readonly creator: string;
  readonly paymaster: string;
}

const createAccounts = ({ fungibleToken, flowToken }: (typeof CORE_CONTRACTS)["mainnet"]) => `\
import FungibleToken from 0x${fungibleToken}
import FlowToken from 0x${flowToken}

/// Creates and funds the account that creates users' accounts, and the one that pays fees, in this order.
transaction(creatorKey: String, creatorKeys: Int, creatorFlow: UFix64, paymasterKey: String, paymasterFlow: UFix64) {
  prepare(funder: auth(BorrowValue) &Account) {
    let vault = funder.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)
      ?? panic("the funder has no vault")
    let addAccount = fun (_ publicKey: String, _ keys: Int, _ amount: UFix64) {
      let account = Account(payer: funder)
      let key = PublicKey(publicKey: publicKey.decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256)
      var added = 0
      while added < keys {
        account.keys.add(publicKey: key, hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
        added = added + 1
      }
      let receiver = account.capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)
        ?? panic("the new account has no receiver")
      receiver.deposit(from: <-vault.withdraw(amount: amount))
    }
    addAccount(creatorKey, creatorKeys, creatorFlow)
    addAccount(paymasterKey, 1, paymasterFlow)
  }
}
`;

/** Returns the script and the arguments (JSON-Cadence) of the transaction that creates both accounts. */
export const createOperatorAccounts = (
  network: Network["network"],
  { creatorKey, creatorKeys, creatorFlow, paymasterKey, paymasterFlow }: OperatorAccounts,
): Pick<FlowTransaction, "script" | "arguments"> => ({
  script: createAccounts(CORE_CONTRACTS[network]),
  arguments: [
    cadenceString(creatorKey),
    cadenceInt(creatorKeys),
    cadenceUFix64(creatorFlow),
    cadenceString(paymasterKey),
    cadenceUFix64(paymasterFlow),
  ].map(encodeCadence),
});

/** Returns the addresses that the transaction's events name. Errors: Error. */
export function createdAccounts(events: readonly ChainEvent[]): OperatorAddresses {
  const addresses = events.filter(({ type }) => type === "flow.AccountCreated").map(({ fields }) => fields.address);
  const [creator, paymaster] = addresses.map((address) => String(address).replace(/^0x/, ""));
  if (creator === undefined || paymaster === undefined || addresses.length > 2)
    throw new Error(`the transaction created ${addresses.length} accounts, not 2`);
  return { creator, paymaster };
}

const serves = (key: ChainKey, publicKey: string) =>
  !key.revoked && key.publicKey === publicKey && key.weight >= 1000 && key.hashAlgorithm === "SHA3_256";

/** Requires that the accounts on chain can serve. Errors: AccessApiError; Error that says why they cannot. */
export async function requireServing(
  access: Pick<AccessApi, "accountKeys">,
  { creator, paymaster }: OperatorAddresses,
  wanted: Pick<OperatorAccounts, "creatorKey" | "creatorKeys" | "paymasterKey">,
): Promise<void> {
  const [creatorKeys, paymasterKeys] = await Promise.all([creator, paymaster].map((each) => access.accountKeys(each)));
  const first = creatorKeys!.slice(0, wanted.creatorKeys).filter((key) => serves(key, wanted.creatorKey));
  if (first.length < wanted.creatorKeys)
    throw new Error(
      `the creator ${creator} has ${first.length} of ${wanted.creatorKeys} keys with weight 1000 and SHA3_256`,
    );
  const [key] = paymasterKeys!;
  if (key === undefined || !serves(key, wanted.paymasterKey))
    throw new Error(`the first key of the paymaster ${paymaster} is not the given one with weight 1000 and SHA3_256`);
}
