import type { VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { Binding } from "./account.ts";
import type { ChainPolicy } from "./chain.ts";
import type { Policy } from "./policy.ts";
import type { Template } from "./template.ts";

/**
 * The facts of a request for a signature with a user's token: TRANSACTION_RULES and PAYMASTER_RULES are
 * functions of them.
 */
export interface RequestFacts {
  readonly message: DecodedMessage;
  readonly token: VerifiedToken;
  /** The name in the caller's certificate. */
  readonly caller: string;
  /** The token's account on the chain that the message is for. */
  readonly account: Binding;
  readonly chain: ChainPolicy;
  readonly policy: Policy;
  /** Keys of the account that must not have signed, such as a removed device's. */
  readonly blockedKeys: readonly PublicKey[];
  /** The template that the message runs; undefined: a custom script. */
  readonly template: TemplateFacts | undefined;
  /** Why the arguments of a template cannot be read; empty where they can. */
  readonly templateProblem: string;
}

/** A template and the service's keys, with which its arguments are compared. */
export interface TemplateFacts extends Template {
  readonly serviceKeys: ServiceKeys;
}

/** Public keys of the service. */
export interface ServiceKeys {
  /** The account's server key. */
  readonly serverKey: PublicKey;
  /** The account's next server key; undefined where it has the wanted version already. */
  readonly nextServerKey: PublicKey | undefined;
  /** Server keys that the account had before. */
  readonly retiredServerKeys: readonly PublicKey[];
  /** Every version of the account's server key, and of creator and paymaster on its chain. */
  readonly all: readonly PublicKey[];
}
