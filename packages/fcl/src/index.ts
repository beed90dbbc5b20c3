export { type Fcl, type FclPlugin, type FclUser, useCountersign } from "./plugin.ts";
export { accountProofMessage, signUserMessage, USER_MESSAGE_TAG } from "./user-message.ts";
export {
  type Authorization,
  type CompositeSignature,
  type FclWallet,
  type FclWalletOptions,
  fclWallet,
  type Signable,
} from "./wallet.ts";
