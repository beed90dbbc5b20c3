export { type ClientOptions, CountersignClient } from "./countersign-client.ts";
export type { AccountEvent, EventOptions } from "./events.ts";
export type { Fetch } from "./http.ts";
export { type FieldProblem, ProblemError } from "./problem-error.ts";
export type * from "./resources.ts";
export {
  type ClientNetwork,
  type SendTransactionOptions,
  type SentTransaction,
  sendTransaction,
  signTransaction,
  TransactionFailedError,
} from "./send-transaction.ts";
