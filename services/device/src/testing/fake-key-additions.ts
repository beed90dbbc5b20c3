import { createHash, randomBytes } from "node:crypto";
import { AppError, type Reason } from "@countersign/core";
import type { KeyAdditions } from "../domain/two-factor/ports.ts";
import type { ChainTransaction } from "../domain/two-factor/two-factor.ts";

type Fate = "submitted" | "sealed" | "failed" | "abandoned";

interface Attempt {
  fate: Fate;
  transaction: ChainTransaction;
  /** The key that is added; "" where nothing was committed. */
  key: string;
  /** The signed message. */
  message: Uint8Array;
}

export interface FakeKeyAdditions extends KeyAdditions {
  /** How the next submissions end; "lost" and "lost-before" commit or do not, and never answer. */
  submission: "submitted" | "lost" | "lost-before" | Reason;
  /** How the next verifications end. */
  verification: "sealed" | Reason;
  /** Set: every reading of the chain fails. */
  down: boolean;
  attempts: Map<string, Attempt>;
  /** Every attempt of which bytes were committed. */
  submissions: string[];
  /** The `notBefore` of each `verify`. */
  notBefore: Date[];
  /** The message shown first, of each verification. */
  firstMessages: Uint8Array[];
  /** Messages prepared from now on are other ones. */
  renew(): void;
  /** Decides the outcome of everything that was submitted. */
  decide(fate: "sealed" | "failed"): void;
}

const transactionOf = (text: string): ChainTransaction => {
  const id = createHash("sha256").update(text).digest("hex");
  return { id, refUrl: `http://127.0.0.1:8888/v1/transaction_results/${id}` };
};

/** Returns a fake account service for tests, by the contract of account.v1.KeyAdditions. */
export function fakeKeyAdditions(): FakeKeyAdditions {
  let message = Uint8Array.from(randomBytes(64));
  const lost = () => new AppError("Unavailable");
  return {
    submission: "submitted",
    verification: "sealed",
    down: false,
    attempts: new Map(),
    submissions: [],
    notBefore: [],
    firstMessages: [],
    renew() {
      message = Uint8Array.from(randomBytes(64));
    },
    decide(fate) {
      for (const attempt of this.attempts.values()) if (attempt.fate === "submitted") attempt.fate = fate;
    },
    async prepare() {
      if (this.down) throw new AppError("ChainUnavailable");
      return message;
    },
    async submit({ attemptId, userKey, message: signed }) {
      const answer = this.submission;
      // As over a network: others get their turn before it is decided.
      await new Promise((resolve) => setImmediate(resolve));
      if (answer === "lost-before") throw lost();
      if (answer !== "submitted" && answer !== "lost") throw new AppError(answer);
      if (this.attempts.get(attemptId)?.fate === "abandoned") throw new AppError("TwoFactorAuthNotPending");
      const transaction = transactionOf(attemptId);
      this.attempts.set(attemptId, { fate: "submitted", transaction, key: userKey.publicKey, message: signed });
      this.submissions.push(attemptId);
      if (answer === "lost") throw lost();
      return transaction;
    },
    async reconcile({ attemptId }) {
      if (this.down) throw lost();
      const transactionOfNone = transactionOf(attemptId);
      const none: Attempt = { fate: "abandoned", transaction: transactionOfNone, key: "", message: new Uint8Array() };
      const attempt = this.attempts.get(attemptId) ?? none;
      this.attempts.set(attemptId, attempt);
      const { fate, transaction } = attempt;
      if (fate === "abandoned") return { status: fate };
      return fate === "sealed" ? { status: fate, transaction, keyIndex: 2 } : { status: fate, transaction };
    },
    async verify({ transactionId, notBefore, firstMessage }) {
      const answer = this.verification;
      this.notBefore.push(notBefore);
      this.firstMessages.push(firstMessage);
      await new Promise((resolve) => setImmediate(resolve));
      if (this.down) throw new AppError("ChainUnavailable");
      if (answer !== "sealed") throw new AppError(answer);
      return { transaction: { id: transactionId, refUrl: "" }, keyIndex: 3 };
    },
  };
}
