import { readFileSync } from "node:fs";
import { reportFailure } from "@countersign/build/fail.ts";
import { processPath, required } from "@countersign/local-stack/compose/settings.ts";
import { playDemo } from "@countersign/local-stack/demo.ts";
import type { ProviderConfig } from "@countersign/local-stack/identity-provider/config.ts";
import { readNetworks } from "@countersign/local-stack/networks.ts";

/** Plays a phone against the gateway of a trial (deploy/trial/trial.yaml), from inside of the cluster. */
async function demo(): Promise<void> {
  const { issuer, clients } = JSON.parse(
    readFileSync(processPath("identity-provider", "config.json"), "utf8"),
  ) as ProviderConfig;
  await playDemo({
    gateway: "http://countersign-gateway",
    identityProvider: {
      issuer,
      clients: clients.map(({ clientId, redirectUris: [redirectUri = ""] }) => ({ clientId, redirectUri })),
    },
    chains: readNetworks(required("CS_NETWORKS_FILE")).map(({ chainName, accessNode, paymaster }) => ({
      chainName,
      accessNode,
      paymaster: paymaster.address,
    })),
  });
}

await demo().catch(reportFailure);
