import type { Watched } from "@countersign/core";
import type { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import type { Handlers } from "@countersign/rpc";
import type { Networks } from "@countersign/settings";

/** Handles account.v1.Networks: what clients may know of the configured networks. */
export const networksHandlers = (networks: Watched<Networks>): Handlers<NetworksService> => ({
  listNetworks: async () => ({
    networks: [...networks.current().values()]
      .sort((a, b) => (a.chainName < b.chainName ? -1 : 1))
      .map((network) => ({
        chainName: network.chainName,
        chainType: "cadence",
        chainId: BigInt(network.evmChainId),
        accessNode: network.publicAccessNode ?? network.accessNode,
        paymaster: Buffer.from(network.paymaster.address, "hex"),
        explorerUrl: network.explorerTransactionUrl,
      })),
  }),
});
