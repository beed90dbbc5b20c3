import { readFileSync } from "node:fs";
import { services } from "@countersign/build/paths.ts";
import { placeOf, required } from "@countersign/local-stack/compose/settings.ts";

const read = (party: string, file: string): string => readFileSync(placeOf(party, file), "utf8");

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

/** Returns the file of the gateway's chain nodes, from the networks file. */
function chainNodes(): string {
  const { networks } = JSON.parse(readFileSync(required("CS_NETWORKS_FILE"), "utf8")) as {
    networks: { chainName: string; accessNode: string }[];
  };
  return JSON.stringify(
    Object.fromEntries(networks.map(({ chainName, accessNode }) => [chainName, { url: accessNode }])),
  );
}

// Prints the Secrets that the Helm chart expects, from the files of a trial (deploy/trial/trial.yaml).
const items = [
  secret("migrations", Object.fromEntries(services.map((service) => [service, read(service, "database-url")]))),
  secret("gateway", { "chain-nodes.json": chainNodes() }),
  filesOf("auth", "database-url", "token-key-encryption.key", "server-app.secret"),
  filesOf("device", "database-url"),
  filesOf("key", "database-url"),
  filesOf("account", "database-url"),
  filesOf("signer", "database-url", "keystore.json", "keystore.passphrase"),
  ...["gateway", ...services].map((process) => certificate(process)),
  certificate("operator", "events"),
];
console.log(JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2));
