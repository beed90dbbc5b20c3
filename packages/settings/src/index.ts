export { loadNetworks, type Network } from "./networks.ts";
export { loadPasskeys } from "./passkeys.ts";
