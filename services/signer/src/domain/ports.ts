import type { Binding, ServerKeyPlace } from "../policy/account.ts";

export type AccountOnChain = Pick<Binding, "accountId" | "chainName">;

/** Where accounts stand; see proto signer.v1.Creation/BindAddress. */
export interface BindingStore {
  /** All bindings of an account, oldest first. */
  find(accountId: string): Promise<Binding[]>;
  /** Writes the binding and its event, unless account or address is bound on that chain. Answers what stands there now for the account. */
  insert(binding: Binding, context: { now: Date; requestId: string }): Promise<Binding | undefined>;
  /** Remembers, before the signature leaves, that a rotation to this version may come; the same again changes nothing. */
  beginRotation(account: AccountOnChain, version: number, now: Date): Promise<void>;
  /** Appends the version that a rotation brought, behind the one before and where one was begun; of two for one version the first stays. Answers what stands there now. */
  appendVersion(account: AccountOnChain, place: ServerKeyPlace, now: Date): Promise<Binding | undefined>;
  /** A version that a rotation brought stands elsewhere than it was told; still between its neighbours, else nothing changes. Answers what stands there now. */
  moveVersion(account: AccountOnChain, place: ServerKeyPlace): Promise<Binding | undefined>;
  /** The newest version is not on chain; of one that is not the newest nothing changes. Answers what stands there now. */
  takeBackVersion(account: AccountOnChain, version: number): Promise<Binding | undefined>;
  /** Which of these accounts are bound on the chain. */
  bound(chainName: string, accountIds: readonly string[]): Promise<string[]>;
}

/** With which versions of server keys creations of accounts were signed. */
export interface SignedCreations {
  /** Before the signature leaves; the same again changes nothing. */
  note(chainName: string, accountIds: readonly string[], version: number, now: Date): Promise<void>;
  has(account: AccountOnChain, version: number): Promise<boolean>;
}

/** How often a token that is good for few uses was used. */
export interface EphemeralUses {
  /** Counts one more use; false, and nothing counted, once there were `most`. */
  use(requestId: string, operation: "transaction" | "paymaster", most: number, now: Date): Promise<boolean>;
}

/** Sequence numbers of server keys for which something was signed. */
export interface SignedTemplates {
  /**
   * Remembers a number as this session's, before the signature leaves. False, and nothing remembered, where
   * `most` other numbers of this key were signed for last by this session, since then, and are not known to
   * be used up; over all replicas. `unfrozenAt`: what was signed up to then stays known as signed before the
   * account's last freeze.
   */
  note(
    account: Pick<Binding, "accountId" | "chainName" | "address" | "serverKeyIndex">,
    number: bigint,
    now: Date,
    open: {
      readonly sessionId: string;
      readonly most: number;
      readonly since: Date;
      readonly unfrozenAt?: Date | undefined;
    },
  ): Promise<boolean>;
  /**
   * When a later number was last signed before the account's freeze was lifted; undefined: not since then.
   */
  laterKeptAt(
    account: Pick<Binding, "accountId" | "chainName" | "serverKeyIndex">,
    number: bigint,
    freeze: { readonly since: Date; readonly unfrozenAt: Date },
  ): Promise<Date | undefined>;
  has(account: Pick<Binding, "accountId" | "chainName" | "serverKeyIndex">, number: bigint): Promise<boolean>;
}
