import type { HybridCustodyNetwork } from "@countersign/flow";

/** Settings of one chain that the rules use. */
export interface ChainPolicy {
  readonly chainName: string;
  readonly paymaster: {
    /** 16 hex digits. */
    readonly address: string;
    readonly keyId: number;
    readonly keyVersion?: number | undefined;
  };
  readonly creator: {
    /** 16 hex digits. */
    readonly address: string;
    readonly keyCount: number;
    readonly keyVersions?: readonly { readonly firstKeyId: number; readonly version: number }[] | undefined;
  };
  /** The version of server keys that accounts are rotated to. Default 1. */
  readonly serverKeyVersion?: number | undefined;
  /** Seconds for which a transaction may still execute, by the signer's own clock. Default 900. */
  readonly referenceSeconds?: number | undefined;
  /** 16 hex digits. */
  readonly evmContract: string;
  /** Contracts that the HybridCustody templates name; undefined: the chain has no such templates. */
  readonly hybridCustody?: HybridCustodyNetwork | undefined;
}

/** Returns the version of server keys that a chain's accounts are rotated to. */
export const wantedServerKeyVersion = ({ serverKeyVersion }: ChainPolicy): number => serverKeyVersion ?? 1;

/** Returns the version of the paymaster's key at its index. */
export const paymasterVersion = ({ paymaster }: ChainPolicy): number => paymaster.keyVersion ?? 1;

/** Returns the version of the creator's key at an index. */
export const creatorVersion = ({ creator }: ChainPolicy, keyId: number): number =>
  creator.keyVersions?.findLast(({ firstKeyId }) => firstKeyId <= keyId)?.version ?? 1;

/** A reference block expires after 600 blocks: eight minutes on mainnet, and more where blocks are slow. */
const REFERENCE_SECONDS = 900;

/** Returns the seconds for which a signed transaction may still execute, by the signer's own clock. */
export const referenceSeconds = ({ referenceSeconds: own }: ChainPolicy): number => own ?? REFERENCE_SECONDS;
