export { type Fcl, type FclPlugin, type FclUser, useCountersign } from "./plugin.ts";
export {
  type Authorization,
  type CompositeSignature,
  type FclWallet,
  type FclWalletOptions,
  fclWallet,
  type Signable,
  type SigningDescription,
} from "./wallet.ts";
