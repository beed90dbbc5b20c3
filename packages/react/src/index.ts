export { formatMatchingCode, MatchingCode, type MatchingCodeProps } from "./matching-code.tsx";
export { CountersignProvider, type CountersignProviderProps, useClient } from "./provider.tsx";
export { type SignatureParty, SignatureSteps, type SignatureStepsProps } from "./signature-steps.tsx";
export { TimeUntil, type TimeUntilProps } from "./time-until.tsx";
export { type Action, useAction } from "./use-action.ts";
export { useAccountEvents, useIsLive } from "./use-events.ts";
export { type OpenAccountOptions, type OpeningState, useOpenAccount } from "./use-open-account.ts";
export {
  type Resource,
  useAccount,
  useDevices,
  useKeys,
  useNetworks,
  usePendingTwoFactor,
  useResource,
  useSessions,
  useTimeLocks,
} from "./use-resource.ts";
export { type GateProps, SignedIn, SignedOut, useSession } from "./use-session.ts";
export {
  type Confirmation,
  DeclinedError,
  type Send,
  type TransactionHooks,
  type TransactionState,
  useTransaction,
} from "./use-transaction.ts";
