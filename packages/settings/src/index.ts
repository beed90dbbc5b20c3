export { chainNamesOf, loadNetworks, type Network, type Networks, watchNetworks } from "./networks.ts";
export { loadPasskeys, watchPasskeys } from "./passkeys.ts";
