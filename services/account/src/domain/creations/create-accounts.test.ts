import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { createAccountsScript, envelopeMessage, type FlowTransaction } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { CreationSigner, CreationStore, SignedCreation } from "../ports.ts";
import type { Chain, DeployedAccount, Outcome } from "./chain.ts";
import { createAccounts } from "./create-accounts.ts";
import { type CreatedAccount, type Creation, type FailurePlan, planAfterFailure } from "./creation.ts";

const ids = ["a", "b", "c"];
const serverKeys = ids.map(() => generateKeyPair().publicKey);
const deployed = (): DeployedAccount[] =>
  // Not in the order of the accounts: only the key identifies each account.
  serverKeys
    .map(({ publicKey }, i) => {
      const address = `000000000000000${i}`;
      return { address, evmAddress: `0x${address}`, serverKey: publicKey, serverKeyIndex: 0 };
    })
    .reverse();

const creation = (change: Partial<Creation> = {}): Creation => ({
  id: "creation",
  chainName: "flow",
  keyIndex: 2,
  sequenceNumber: undefined,
  state: "assigned",
  accountIds: ids,
  serverKeys: [],
  serverKeyVersion: 1,
  userKeys: ids.map(() => generateKeyPair().publicKey),
  traces: [],
  transaction: undefined,
  transactionId: "",
  referenceHeight: undefined,
  ...change,
});

interface Script {
  /** The chain's answers, one after the other; the last is repeated. */
  outcomes: Outcome[];
  heights?: bigint[];
  sequenceNumber?: bigint;
  /** The number that a node shows which lags behind: it has no newer block. */
  outdatedNumber?: bigint;
  found?: DeployedAccount[];
  leaseLostAt?: "signed" | "sealed";
  refuse?: AppError;
  /** The version that the signer wants, time after time. */
  versions?: number[];
  /**
   * Whom the signer does not bind: what it has not remembered signing, until it is asked to sign it; or what
   * conflicts for another reason.
   */
  forgotten?: "until signed" | "never bound";
}

/** Runs a creation against a chain that plays its part, and returns what happened. */
async function play(script: Script, start: Creation = creation()) {
  const clock = new FixedClock();
  const log: string[] = [];
  const signedWith: bigint[] = [];
  const messages: Uint8Array[] = [];
  const submitted: FlowTransaction[] = [];
  const bound: string[] = [];
  let sealed: readonly CreatedAccount[] | undefined;
  let plan: FailurePlan | undefined;
  const next = <T>(list: T[]): T => (list.length > 1 ? list.shift()! : list[0]!);
  const outcomes = [...script.outcomes];
  const heights = [...(script.heights ?? [100n])];
  const versions = [...(script.versions ?? [1])];
  const boundWith: number[] = [];
  const committedWith: number[] = [];
  const chain: Chain = {
    chainName: "flow",
    evmChainId: 646,
    creator: { address: "e03daebed8ca0615", keyCount: 8 },
    creationScript: createAccountsScript("f8d6e0586b0a20c7"),
    maxReferenceAge: 650n,
    latestBlock: async () => ({ id: "ab".repeat(32), height: next(heights) }),
    sequenceNumber: async (_keyIndex, _signal, height) =>
      (height === undefined ? script.outdatedNumber : undefined) ?? script.sequenceNumber ?? 5n,
    submit: async (transaction) => {
      log.push("submit");
      submitted.push(transaction);
    },
    outcome: async () => next(outcomes),
    findDeployed: async () => script.found ?? [],
  };
  const signer: CreationSigner = {
    deriveServerKeys: async () => ({ version: next(versions), publicKeys: serverKeys }),
    signCreation: async (_chainName, message) => {
      if (script.refuse) throw script.refuse;
      log.push("sign");
      messages.push(message);
      return { address: chain.creator.address, keyId: 2, signature: "00".repeat(64) };
    },
    async bindAddress({ accountId, address, serverKeyVersion }) {
      const isKnown = script.forgotten === undefined || (script.forgotten === "until signed" && log.includes("sign"));
      if (!isKnown) throw new AppError("SigningRefused", { metadata: { reason: "BindingConflict" } });
      bound.push(`${accountId}=${address}`);
      boundWith.push(serverKeyVersion);
    },
  };
  const store: Pick<CreationStore, "signed" | "replace" | "sealed" | "failed"> = {
    async signed(_id, _owner, { sequenceNumber, serverKeyVersion }: SignedCreation) {
      log.push("commit");
      committedWith.push(serverKeyVersion);
      signedWith.push(sequenceNumber);
      return script.leaseLostAt !== "signed";
    },
    async replace() {
      log.push("replace");
      return true;
    },
    async sealed(_id, _owner, created) {
      log.push("sealed");
      sealed = created;
      return script.leaseLostAt !== "sealed";
    },
    async failed(_id, _owner, planned) {
      log.push("failed");
      plan = planned;
      return true;
    },
  };
  const pause = async (ms: number) => clock.advance(ms);
  const run = createAccounts({ store: store as CreationStore, signer, clock, owner: "me", pause });
  const failure = await run(start, chain, new AbortController().signal).catch((error: unknown) => error);
  if (failure !== undefined && script.forgotten === undefined) throw failure;
  return { failure, messages, log, signedWith, submitted, bound, boundWith, committedWith, sealed, plan };
}

const unknown: Outcome = { status: "unknown" };
const sealedOutcome: Outcome = { status: "sealed", accounts: deployed() };

describe("a creation", () => {
  it("is committed before it is submitted, and its addresses are found by server key", async () => {
    const { log, sealed, bound } = await play({ outcomes: [unknown, { status: "pending" }, sealedOutcome] });
    expect(log).toEqual(["sign", "commit", "submit", "sealed"]);
    expect(sealed).toEqual(
      ids.map((accountId, i) => {
        const address = `000000000000000${i}`;
        return { accountId, address, evmAddress: `0x${address}`, serverKeyIndex: 0 };
      }),
    );
    expect(bound.sort()).toEqual(ids.map((accountId, i) => `${accountId}=000000000000000${i}`));
  });

  it("whose key's next sequence number is known does not ask the chain for it", async () => {
    const start = creation({ sequenceNumber: 9n });
    expect((await play({ outcomes: [unknown, sealedOutcome] }, start)).signedWith).toEqual([9n]);
  });

  it("that was signed before a crash is submitted again and never signed again", async () => {
    const first = await play({ outcomes: [unknown, sealedOutcome] });
    const transaction = first.submitted[0]!;
    const committed = {
      state: "signed" as const,
      transaction,
      transactionId: "t",
      sequenceNumber: 5n,
      referenceHeight: 100n,
    };
    const keys = serverKeys.map(({ publicKey }) => publicKey);
    const { log, submitted, sealed } = await play(
      { outcomes: [unknown, sealedOutcome] },
      creation({ ...committed, serverKeys: keys }),
    );
    expect(log).toEqual(["submit", "sealed"]);
    expect(submitted).toEqual([transaction]);
    expect(sealed).toHaveLength(3);
  });

  it("that can never execute any more is replaced with the same sequence number", async () => {
    const { log, signedWith } = await play({
      outcomes: [unknown, sealedOutcome],
      // Reference block, then a look when the id is unknown: far too old.
      heights: [100n, 900n, 900n],
    });
    expect(log).toEqual(["sign", "commit", "submit", "replace", "sign", "commit", "submit", "sealed"]);
    expect(signedWith).toEqual([5n, 5n]);
  });

  it("is not replaced because of a node that lags behind and shows its sequence number as unused", async () => {
    const { log } = await play(
      {
        outcomes: [unknown, sealedOutcome],
        heights: [900n],
        sequenceNumber: 5n,
        outdatedNumber: 4n,
        found: deployed(),
      },
      signedLongAgo,
    );
    expect(log).toEqual(["sealed"]);
  });

  it("binds the version that its bytes were made with, whichever is wanted by then", async () => {
    const first = await play({ outcomes: [unknown, sealedOutcome], versions: [1, 2] });
    expect([first.committedWith, new Set(first.boundWith)]).toEqual([[1], new Set([1])]);
    const { log, committedWith, boundWith } = await play({
      outcomes: [unknown, sealedOutcome],
      heights: [100n, 900n, 900n],
      versions: [1, 2, 3],
    });
    expect(log).toEqual(["sign", "commit", "submit", "replace", "sign", "commit", "submit", "sealed"]);
    expect([committedWith, new Set(boundWith)]).toEqual([[1, 2], new Set([2])]);
    // After a crash it is the version that was committed.
    const taken = await play({ outcomes: [sealedOutcome], versions: [3] }, { ...signedLongAgo, serverKeyVersion: 2 });
    expect(new Set(taken.boundWith)).toEqual(new Set([2]));
  });

  const signedLongAgo = creation({
    state: "signed",
    transaction: {} as FlowTransaction,
    transactionId: "t",
    sequenceNumber: 4n,
    referenceHeight: 100n,
    serverKeys: serverKeys.map(({ publicKey }) => publicKey),
  });

  it("that the signer does not remember is bound by asking once more with the same bytes", async () => {
    const first = await play({ outcomes: [unknown, sealedOutcome] });
    const transaction = first.submitted[0]!;
    const again = await play(
      { outcomes: [sealedOutcome], forgotten: "until signed" },
      { ...signedLongAgo, transaction },
    );
    expect([again.failure, again.log]).toEqual([undefined, ["sign", "sealed"]]);
    expect(again.messages).toEqual([envelopeMessage(transaction)]);
    expect(again.messages).toEqual(first.messages);
    expect(again.bound.sort()).toEqual(ids.map((accountId, i) => `${accountId}=000000000000000${i}`));
    // And never more than once.
    const other = await play(
      { outcomes: [sealedOutcome], forgotten: "never bound" },
      { ...signedLongAgo, transaction },
    );
    expect(other.failure).toMatchObject({ reason: "SigningRefused", metadata: { reason: "BindingConflict" } });
    expect([other.log, other.plan]).toEqual([["sign"], undefined]);
  });

  it("whose twin executed under another id is found by its effect", async () => {
    const { log, sealed } = await play({ outcomes: [unknown], heights: [900n], found: deployed() }, signedLongAgo);
    expect(log).toEqual(["sealed"]);
    expect(sealed?.map(({ accountId }) => accountId)).toEqual(ids);
  });

  it("whose twin came first, so that its own sequence number is wrong, is found by its effect", async () => {
    const failed: Outcome = { status: "failed", cause: "[Error Code: 1007]", wrongSequenceAt: 107n };
    const { log, sealed } = await play({ outcomes: [failed], found: deployed() });
    expect(log).toEqual(["sign", "commit", "submit", "sealed"]);
    expect(sealed?.map(({ accountId }) => accountId)).toEqual(ids);
  });

  it("whose twin shows some of the accounts only is not made a second time", async () => {
    const found = deployed().slice(1);
    await expect(play({ outcomes: [unknown], heights: [900n], found }, signedLongAgo)).rejects.toThrow(
      "no account with the server key",
    );
  });

  it("whose sequence number went without the accounts is queued again as it was", async () => {
    const { log, plan } = await play({ outcomes: [unknown], heights: [900n], found: [] }, signedLongAgo);
    expect(log).toEqual(["failed"]);
    expect(plan).toEqual({ requeueWithLimit: 10 });
  });

  it("that failed is halved; with a wrong sequence number it is not", async () => {
    const failure = { status: "failed", cause: "bad key" } as const;
    expect((await play({ outcomes: [failure] })).plan).toEqual({ requeueWithLimit: 2 });
    expect((await play({ outcomes: [{ ...failure, wrongSequenceAt: 107n }] })).plan).toEqual({ requeueWithLimit: 10 });
  });

  it("that the creator could not pay for fails as a whole: a smaller one would too, and its accounts keep their limit", async () => {
    const cause = "[Error Code: 1118] payer f8d6e0586b0a20c7 has insufficient balance";
    expect((await play({ outcomes: [{ status: "failed", cause }] })).plan).toEqual({ failed: true });
  });

  it("that the signer refuses is taken apart, and nothing is submitted", async () => {
    const { log, plan } = await play({ outcomes: [unknown], refuse: new AppError("SigningRefused") });
    expect(log).toEqual(["failed"]);
    expect(plan).toEqual({ requeueWithLimit: 2 });
  });

  it.each(["BudgetExceeded", "SwitchedOff"])(
    "that is refused with %s stays as it is and is taken up again",
    async (reason) => {
      const refuse = new AppError("SigningRefused", { metadata: { reason } });
      await expect(play({ outcomes: [unknown], refuse })).rejects.toBe(refuse);
      // Also the one whose sequence number is kept, because its first bytes are too old.
      await expect(
        play({ outcomes: [unknown], heights: [900n], sequenceNumber: 4n, refuse }, signedLongAgo),
      ).rejects.toBe(refuse);
      // And the one that is on the chain and is requested once more, to be bound.
      const transaction = (await play({ outcomes: [unknown, sealedOutcome] })).submitted[0]!;
      const script: Script = { outcomes: [sealedOutcome], forgotten: "until signed", refuse };
      const { failure, plan } = await play(script, { ...signedLongAgo, transaction });
      expect([failure, plan]).toEqual([refuse, undefined]);
    },
  );

  it("whose server keys are of a version that is not wanted any more stays as it is and is taken up again", async () => {
    const refuse = new AppError("MessageRenewed");
    await expect(play({ outcomes: [unknown], refuse })).rejects.toBe(refuse);
  });

  it("whose lease is somebody else's is left alone", async () => {
    expect((await play({ outcomes: [unknown], leaseLostAt: "signed" })).log).toEqual(["sign", "commit"]);
    expect((await play({ outcomes: [sealedOutcome], leaseLostAt: "sealed" })).log).toEqual([
      "sign",
      "commit",
      "submit",
      "sealed",
    ]);
  });

  it("halves down to one, which fails alone", () => {
    expect(planAfterFailure(10, false)).toEqual({ requeueWithLimit: 5 });
    expect(planAfterFailure(2, false)).toEqual({ requeueWithLimit: 1 });
    expect(planAfterFailure(1, false)).toEqual({ failed: true });
  });
});
