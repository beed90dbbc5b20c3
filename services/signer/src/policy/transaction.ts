import type { DecodedMessage, HybridCustodyNetwork } from "@countersign/flow";
import type { Binding } from "./account.ts";
import type { Policy } from "./policy.ts";
import { refuse } from "./refusal.ts";
import type { Template } from "./template.ts";

/** What the rules know of a chain. */
export interface ChainPolicy {
  readonly chainName: string;
  /** 16 hex digits. */
  readonly paymaster: {
    readonly address: string;
    readonly keyId: number;
    readonly keyVersion?: number | undefined;
  };
  readonly creator: {
    readonly address: string;
    readonly keyCount: number;
    readonly keyVersions?: readonly { readonly firstKeyId: number; readonly version: number }[] | undefined;
  };
  /** The version of server keys that accounts are brought to. Default 1. */
  readonly serverKeyVersion?: number | undefined;
  /** For how long a reference block is taken to be good, whatever heights we are told. Default 900. */
  readonly referenceSeconds?: number | undefined;
  /** 16 hex digits. */
  readonly evmContract: string;
  /** What the templates of links through HybridCustody name; without it there are none. */
  readonly hybridCustody?: HybridCustodyNetwork | undefined;
}

/** The rules of every transaction of a user's account, whoever signs: proposer, payer, gas. */
export function checkTransaction(
  message: DecodedMessage,
  account: Binding,
  chain: ChainPolicy,
  template: Template | undefined,
  policy: Pick<Policy, "gasLimitCap">,
): void {
  if (message.proposalKey.address !== account.address) refuse("ProposerNotYours", "the proposer is not the account");
  if (message.payer !== chain.paymaster.address && message.payer !== account.address) {
    refuse("UnknownPayer", "the payer is neither our paymaster nor the account");
  }
  // The server key proposes templates, and only them: a device could use up its sequence numbers, and other transactions would void a template.
  const byServerKey = isServerKeyIndex(account, message.proposalKey.keyId);
  if (byServerKey && !template) refuse("ProposerNotYours", "the server key does not propose");
  if (!byServerKey && template) refuse("ProposerNotYours", "templates are proposed by the server key");
  if (message.script.trim() === "") refuse("ScriptNotUnderstood", "there is no script");
  checkGasLimit(message, template, policy);
}

/** Ordinary transactions have the policy's cap, templates their own: every key that an account ever had makes them dearer. */
export function checkGasLimit(
  message: DecodedMessage,
  template: Template | undefined,
  { gasLimitCap }: Pick<Policy, "gasLimitCap">,
): void {
  // Nodes may read 0 as "no limit of its own".
  const cap = template?.gasLimit ?? gasLimitCap;
  if (message.gasLimit === 0n || message.gasLimit > cap) refuse("GasLimit", `the gas limit is 1 to ${cap}`);
}

/** The authorizer signs a payload, or an envelope where the account pays itself: then it signs as the payer too. */
export function checkAuthorizerKind(message: DecodedMessage, account: Binding): void {
  if (message.kind === "envelope" && message.payer !== account.address) {
    refuse("WrongMessageKind", "the authorizer signs a payload; the envelope is the payer's");
  }
}

/** Whether one of our keys stands at an index of the account, or did before a rotation. */
export const isServerKeyIndex = ({ serverKeyIndex, retired = [] }: Binding, keyId: number): boolean =>
  keyId === serverKeyIndex || retired.some(({ index }) => index === keyId);

/** The version of server keys that a chain's accounts are brought to. */
export const wantedServerKeyVersion = ({ serverKeyVersion }: ChainPolicy): number => serverKeyVersion ?? 1;

/** 600 blocks of mainnet take eight minutes, and more where it is slow. */
const REFERENCE_SECONDS = 900;

/** Seconds for which what was signed is taken to be good, by our own clock. */
export const referenceSeconds = ({ referenceSeconds: own }: ChainPolicy): number => own ?? REFERENCE_SECONDS;

/** The version of the paymaster's key that stands at its index. */
export const paymasterVersion = ({ paymaster }: ChainPolicy): number => paymaster.keyVersion ?? 1;

/** The version of the creator's key at an index. */
export const creatorVersion = ({ creator }: ChainPolicy, keyId: number): number =>
  creator.keyVersions?.findLast(({ firstKeyId }) => firstKeyId <= keyId)?.version ?? 1;
