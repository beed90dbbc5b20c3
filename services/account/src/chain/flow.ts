import { isDeepStrictEqual } from "node:util";
import {
  type AccessApi,
  AccessApiError,
  addedKeys,
  cadenceAddress,
  createAccountsScript,
  encodeCadence,
  hybridCustodyParentsScript,
  INBOX_PARENTS_SCRIPT,
  revokedKeys,
} from "@countersign/flow";
import type { Network } from "@countersign/settings";
import type { ParentChain } from "../domain/accounts/link-parent.ts";
import type { SettlementChain } from "../domain/budgets/settle-budgets.ts";
import type { KeyWatchChain } from "../domain/chain-watch/watch-keys.ts";
import type { Chain } from "../domain/creations/chain.ts";
import type { KeyAdditionChain } from "../domain/key-additions/key-addition.ts";
import type { ObservedChain } from "../domain/ports.ts";
import { accountEventOf } from "./account-events.ts";
import { deployedAccounts } from "./deployed-accounts.ts";
import { eventsIn } from "./events-in.ts";
import { paidTransactions } from "./fee-events.ts";

/** A reference block may be 600 blocks old; the margin is for a node that lags behind. */
const MAX_REFERENCE_AGE = 650n;
const EVENT_BLOCKS = 250n;
/** Few, because anybody can fill blocks with new keys: a creation must be found among them. */
const SEARCHED_BLOCKS = 25n;
const KEY_ADDED = "flow.AccountKeyAdded";
/** FVM error 1007: the sequence number is not the key's. */
const WRONG_SEQUENCE = /error code:? ?1007/i;

/** Reaches a Flow network through the Access API. `longAnswers`: see EventsAccess. */
export function createFlowChain(
  network: Network,
  access: AccessApi,
  longAnswers = access,
): Chain & KeyAdditionChain & KeyWatchChain & ObservedChain & ParentChain & SettlementChain {
  const { chainName, evmChainId, creator, evmContract, paymaster, hybridCustody, hybridCustodySetUp } = network;
  const parentsScript = hybridCustody ? hybridCustodyParentsScript(hybridCustody) : INBOX_PARENTS_SCRIPT;
  const node = { access, longAnswers };
  const evmCreated = `A.${evmContract}.EVM.CadenceOwnedAccountCreated`;
  return {
    chainName,
    evmChainId,
    creator,
    paymaster: paymaster.address,
    maxReferenceAge: MAX_REFERENCE_AGE,
    latestBlock: (signal) => access.latestSealedBlock(signal),
    newestBlock: (signal) => access.latestFinalBlock(signal),
    paidTransactions: (from, to, signal) => paidTransactions(node, network, from, to, signal),
    sequenceNumber: async (keyIndex, signal, height) =>
      (await access.accountKey(creator.address, keyIndex, signal, height)).sequenceNumber,
    submit: async (transaction, signal) => void (await access.submit(transaction, signal)),

    async outcome(id, signal) {
      const result = await access.transactionResult(id, signal, [KEY_ADDED, evmCreated]);
      if (!result) return { status: "unknown" };
      if (result.status === "Expired") return { status: "expired" };
      if (result.status !== "Sealed") return { status: "pending" };
      const { statusCode, errorMessage: cause } = result;
      if (statusCode === 0 && cause === "")
        return { status: "sealed", accounts: deployedAccounts(result.events, evmCreated) };
      if (!WRONG_SEQUENCE.test(cause)) return { status: "failed", cause };
      const block = await access.block(result.blockId, signal);
      // A node that lags behind does not know the block yet.
      return block ? { status: "failed", cause, wrongSequenceAt: block.height } : { status: "pending" };
    },

    async findDeployed({ serverKeys, transaction }, from, to, signal) {
      const isTwin = async (id: string) =>
        isDeepStrictEqual((await access.transaction(id, signal)).proposalKey, transaction.proposalKey);
      for (let start = from, blocks = SEARCHED_BLOCKS; start <= to; ) {
        const end = start + blocks - 1n < to ? start + blocks - 1n : to;
        const inRange = eventsIn(node, [KEY_ADDED, evmCreated], { from: start, to: end }, (event) => event, signal);
        const events = await inRange.catch((error: unknown) => {
          if (start === end) throw error;
          blocks = 1n;
        });
        if (!events) continue;
        const own = events.filter((event) =>
          addedKeys([event]).some(({ publicKey }) => serverKeys.includes(publicKey)),
        );
        for (const id of new Set(own.map(({ transactionId }) => transactionId))) {
          // A sequence number is used once.
          if (!(await isTwin(id))) continue;
          return deployedAccounts(
            events.filter(({ transactionId }) => transactionId === id),
            evmCreated,
          );
        }
        start = end + 1n;
      }
      return [];
    },

    blockHeight: async (id, signal) => (await access.block(id, signal))?.height,
    accountKeys: (address: string, signal: AbortSignal, height?: bigint) => access.accountKeys(address, signal, height),
    accountKey: (address, index, signal) => access.accountKey(address, index, signal),
    balance: (address, signal) => access.balance(address, signal),

    async keyAdditionOutcome(id, signal) {
      const result = await access.transactionResult(id, signal);
      if (!result) return { status: "unknown", events: [] };
      if (result.status === "Expired") return { status: "expired", events: [] };
      if (result.status !== "Sealed") return { status: "pending", events: [] };
      const block = await access.block(result.blockId, signal);
      if (!block) return { status: "pending", events: [] };
      const { height } = block;
      if (result.statusCode !== 0 || result.errorMessage !== "") return { status: "failed", height, events: [] };
      const next = await access.blockAt(height + 1n, signal);
      const events = result.events.map((event) => {
        const [addedKey] = addedKeys([event]);
        const [revokedKey] = revokedKeys([event]);
        return { type: event.type, ...(addedKey && { addedKey }), ...(revokedKey && { revokedKey }) };
      });
      return { status: "sealed", height, ...(next && { before: next.time }), events };
    },

    maxEventBlocks: EVENT_BLOCKS,
    accountEvents: (types, from, to, signal) =>
      eventsIn(node, types, { from, to }, (event) => accountEventOf(event, to), signal),
    async transaction(id, signal) {
      try {
        return await access.transaction(id, signal);
      } catch (error) {
        if (error instanceof AccessApiError && error.status === 404) return undefined;
        throw error;
      }
    },
    creationScript: createAccountsScript(evmContract),
    ...(hybridCustody && hybridCustodySetUp && { hybridCustody: { contract: hybridCustody, ...hybridCustodySetUp } }),

    async parentsOf(address, signal) {
      const found = await access.executeScript(parentsScript, [encodeCadence(cadenceAddress(address))], signal);
      const parents = (found as string[]).map((parent) => parent.replace(/^0x/, ""));
      if (!parents.every((parent) => /^[0-9a-f]{16}$/.test(parent))) throw new Error("not a list of addresses");
      return parents.sort();
    },
  };
}
