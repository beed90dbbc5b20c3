import { activeKey, type FlowTransaction, KEY_ROLES, type TransactionSignature, voidPayload } from "@countersign/flow";
import type { AlertChain } from "../chain-watch/find-alerts.ts";
import type { KeyAdditionChain } from "../key-additions/key-addition.ts";
import type { AccountOnChain, AccountStore } from "../ports.ts";

/** The chain, as far as voiding needs it. */
export type VoidChain = Pick<KeyAdditionChain, "chainName" | "paymaster" | "latestBlock" | "accountKeys" | "submit"> &
  Pick<AlertChain, "accountKey">;

/** Signs voiding: both signatures of voidPayload; undefined where nothing was signed for the number. */
export interface VoidSigner {
  signVoid(
    wanted: AccountOnChain & { referenceBlockId: string; sequenceNumber: bigint },
  ): Promise<{ payload: TransactionSignature; envelope: TransactionSignature } | undefined>;
}

export interface VoidTemplatesOptions {
  readonly accounts: Pick<AccountStore, "find">;
  readonly chains: ReadonlyMap<string, VoidChain>;
  readonly signer: VoidSigner;
  /** Waits between two looks at the chain. */
  pause(signal: AbortSignal): Promise<void>;
}

/** How often the chain is read for one transaction before voiding starts again. */
const LOOKS = 60;

/**
 * Uses up the sequence numbers of templates that the signer signed and that did not run, so that nothing
 * signed before a freeze runs after it. It reads the state from the chain alone, so a retry or a restart
 * continues where it ended.
 * Errors: those of the signer (SigningRefused, NotFrozen); Error where the chain did not execute it in time.
 */
export const voidTemplates =
  ({ accounts, chains, signer, pause }: VoidTemplatesOptions) =>
  async (accountId: string, signal: AbortSignal): Promise<void> => {
    async function voidOn(chain: VoidChain, address: string): Promise<void> {
      const { chainName } = chain;
      for (;;) {
        // Mostly the first one: the list of all keys may be too long to be read.
        const first = await chain.accountKey(address, KEY_ROLES.server.initialIndex, signal);
        const key = activeKey([first], "server") ?? activeKey(await chain.accountKeys(address, signal), "server");
        // An account that has left has no server key of ours, so no signed template can run.
        if (!key) return;
        const { index: keyId, sequenceNumber } = key;
        const { id: referenceBlockId } = await chain.latestBlock(signal);
        const signed = await signer.signVoid({ accountId, chainName, referenceBlockId, sequenceNumber });
        if (!signed) return;
        const proposalKey = { address, keyId, sequenceNumber };
        const transaction: FlowTransaction = {
          ...voidPayload({ referenceBlockId, proposalKey, payer: chain.paymaster }),
          payloadSignatures: [signed.payload],
          envelopeSignatures: [signed.envelope],
        };
        await chain.submit(transaction, signal);
        await usedUp(chain, address, keyId, sequenceNumber);
      }
    }

    /** Waits until any transaction has used up the number: a template that was signed before counts too. */
    async function usedUp(chain: VoidChain, address: string, keyId: number, sequenceNumber: bigint): Promise<void> {
      for (let look = 0; look < LOOKS; look++) {
        if ((await chain.accountKey(address, keyId, signal)).sequenceNumber > sequenceNumber) return;
        await pause(signal);
        signal.throwIfAborted();
      }
      throw new Error("the chain has not used up the sequence number");
    }

    const found = await accounts.find(accountId, "");
    const addresses = found?.account.addresses.filter(({ chainType }) => chainType === "cadence") ?? [];
    // Of one chain that does not answer, the others do not wait.
    const voided = await Promise.allSettled(
      addresses.map(async ({ chainName, address }) => {
        const chain = chains.get(chainName);
        if (chain) await voidOn(chain, address);
      }),
    );
    const refused = voided.find((result) => result.status === "rejected");
    if (refused) throw refused.reason;
  };
