import { readFileSync } from "node:fs";
import { reportFailure } from "@countersign/build/fail.ts";
import { placeOf, required } from "@countersign/local-stack/compose/settings.ts";
import { playDemo } from "@countersign/local-stack/demo.ts";
import type { ProviderConfig } from "@countersign/local-stack/identity-provider/config.ts";

/** Plays a phone against the gateway of a trial (deploy/trial/trial.yaml), from inside of the cluster. */
async function demo(): Promise<void> {
  const { issuer, clients } = JSON.parse(
    readFileSync(placeOf("identity-provider", "config.json"), "utf8"),
  ) as ProviderConfig;
  const { networks } = JSON.parse(readFileSync(required("CS_NETWORKS_FILE"), "utf8")) as {
    networks: { chainName: string; accessNode: string; paymaster: { address: string } }[];
  };
  await playDemo({
    gateway: "http://countersign-gateway",
    identityProvider: {
      issuer,
      clients: clients.map(({ clientId, redirectUris: [redirectUri = ""] }) => ({ clientId, redirectUri })),
    },
    chains: networks.map((network) => ({ ...network, paymaster: network.paymaster.address })),
  });
}

await demo().catch(reportFailure);
