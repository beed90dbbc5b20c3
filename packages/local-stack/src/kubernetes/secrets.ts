import { readFileSync } from "node:fs";
import { reportFailure } from "@countersign/build/fail.ts";
import { services } from "@countersign/build/paths.ts";
import { processPath, required } from "@countersign/local-stack/compose/settings.ts";
import { chainNodesOf } from "@countersign/local-stack/networks.ts";

const read = (party: string, file: string): string => readFileSync(processPath(party, file), "utf8");

const secret = (name: string, stringData: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: `countersign-${name}` },
  stringData,
});

/** Returns the Secret with some of the files that a process has below the state's directory. */
const filesOf = (process: string, ...files: string[]) =>
  secret(process, Object.fromEntries(files.map((file) => [file, read(process, file)])));

const certificate = (name: string, party = name) =>
  secret(`${name}-tls`, {
    "ca.crt": read(party, "ca.pem"),
    "tls.crt": read(party, "cert.pem"),
    "tls.key": read(party, "key.pem"),
  });

/** Prints the Secrets that the Helm chart expects, from the files of a trial (deploy/trial/trial.yaml). */
async function printSecrets(): Promise<void> {
  const items = [
    secret("migrations", Object.fromEntries(services.map((service) => [service, read(service, "database-url")]))),
    secret("gateway", { "chain-nodes.json": chainNodesOf(required("CS_NETWORKS_FILE")) }),
    filesOf("auth", "database-url", "token-key-encryption.key", "server-app.secret"),
    filesOf("device", "database-url"),
    filesOf("key", "database-url"),
    filesOf("account", "database-url"),
    filesOf("signer", "database-url", "keystore.json", "keystore.passphrase"),
    ...["gateway", ...services].map((process) => certificate(process)),
    certificate("operator", "events"),
  ];
  console.log(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
}

await printSecrets().catch(reportFailure);
