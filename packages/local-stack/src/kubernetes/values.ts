import { createHash } from "node:crypto";
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { internalName } from "@countersign/core";
import { placeOf, required } from "@countersign/local-stack/compose/settings.ts";

const ownSecret = placeOf("auth", "server-app.secret");
const mountedSecret = "/etc/countersign/secret/server-app.secret";
const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8").replaceAll(ownSecret, mountedSecret));

// Prints the values of the Helm chart that the steps of a trial decide (deploy/trial/trial.yaml). The others
// are in deploy/trial/values.yaml.
const { address } = await lookup(required("CS_TRIAL_SERVICE"));
const provider = new URL(required("CS_PROVIDER_ISSUER"));
const authority = createHash("sha256").update(readFileSync(placeOf("auth", "ca.pem")));
const values = {
  ...readJson(required("CS_NETWORKS_FILE")),
  ...readJson(placeOf("auth", "providers.json")),
  passkeys: readJson(placeOf("auth", "passkeys.json")),
  hostAliases: [{ ip: address, hostnames: [provider.hostname, internalName("nats")] }],
  // Secrets of a trial that began again must reach all processes.
  podAnnotations: { "countersign/trial": authority.digest("hex").slice(0, 16) },
};
console.log(JSON.stringify(values, null, 2));
