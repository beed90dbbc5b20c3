import { createHash } from "node:crypto";
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { reportFailure } from "@countersign/build/fail.ts";
import { internalName } from "@countersign/core";
import { processPath, required } from "@countersign/local-stack/compose/settings.ts";
import { readNetworks } from "@countersign/local-stack/networks.ts";
import { readMounted } from "./mounted-secret.ts";

/**
 * Prints the values of the Helm chart that the steps of a trial decide (deploy/trial/trial.yaml). The others
 * are in deploy/trial/values.yaml.
 */
async function printValues(): Promise<void> {
  const { address } = await lookup(required("CS_TRIAL_SERVICE"));
  const provider = new URL(required("CS_PROVIDER_ISSUER"));
  const authority = createHash("sha256").update(readFileSync(processPath("auth", "ca.pem")));
  const values = {
    networks: readNetworks(required("CS_NETWORKS_FILE")),
    ...readMounted(processPath("auth", "providers.json"), processPath("auth", "server-app.secret")),
    passkeys: JSON.parse(readFileSync(processPath("auth", "passkeys.json"), "utf8")),
    hostAliases: [{ ip: address, hostnames: [provider.hostname, internalName("nats")] }],
    // Secrets of a trial that began again must reach all processes.
    podAnnotations: { "countersign/trial": authority.digest("hex").slice(0, 16) },
  };
  console.log(JSON.stringify(values, null, 2));
}

await printValues().catch(reportFailure);
