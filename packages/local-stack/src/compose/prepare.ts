import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { reportFailure } from "@countersign/build/fail.ts";
import { services } from "@countersign/build/paths.ts";
import { certificateNames, ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { databaseUrls } from "@countersign/local-stack/databases.ts";
import { ensureServiceKey } from "@countersign/local-stack/emulator.ts";
import { authProviders, developmentClients, providerConfig } from "@countersign/local-stack/identity-provider.ts";
import { developmentPasskeys } from "@countersign/local-stack/passkeys.ts";
import { ensureSecret, readTrimmed } from "@countersign/local-stack/secrets.ts";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";
import { processPath, required, requiredAddress } from "./settings.ts";

/** Puts a file in place as one step: a process that starts meanwhile reads the old one or the new one. */
function put(path: string, content: string | Uint8Array, mode = 0o400): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(`${path}.new`, { force: true });
  writeFileSync(`${path}.new`, content, { mode });
  chmodSync(`${path}.new`, mode);
  renameSync(`${path}.new`, path);
}

const hand = (from: string, party: string, file: string): void => put(processPath(party, file), readFileSync(from));

function handCertificate(own: string, name: string, party: string): void {
  const files = tlsFiles(own, name);
  hand(files.ca, party, "ca.pem");
  hand(files.cert, party, "cert.pem");
  hand(files.key, party, "key.pem");
}

/**
 * Makes missing certificates, keys and passwords in a volume of its own, and gives each process its own: the
 * first step of docker-compose.yml and of deploy/trial. Done again it renews only certificates close to their
 * end.
 */
async function prepare(): Promise<void> {
  const own = processPath("set-up");
  mkdirSync(own, { recursive: true });
  await ensureCertificates(own);
  for (const name of certificateNames) {
    // Clients from outside, such as an operator's, take theirs from the set-up's own place.
    if (name === "gateway" || name === "nats" || (services as readonly string[]).includes(name))
      handCertificate(own, name, name);
  }
  handCertificate(own, "operator", "events");

  const password = ensureSecret(join(own, "keys", "postgres.password"));
  // Postgres runs as its own user: its volume, which only it and the databases' step have, is the protection.
  put(processPath("postgres", "password"), readFileSync(password), 0o444);
  const { urlOf } = databaseUrls(readTrimmed(password), required("CS_POSTGRES_ADDRESS"));
  for (const service of services) put(processPath(service, "database-url"), `${urlOf(service)}\n`);

  const files = stateFiles(own);
  hand(ensureSecret(files.tokenKeyEncryptionKey), "auth", "token-key-encryption.key");
  hand(ensureSecret(files.keystorePassphrase), "signer", "keystore.passphrase");
  ensureServiceKey(own);
  hand(files.flowServiceKey, "flow-emulator", "flow-service.key");

  const issuer = required("CS_PROVIDER_ISSUER");
  const clients = developmentClients(required("AUTH_ISSUER"));
  const secretOf = (party: string) => processPath(party, "server-app.secret");
  for (const party of ["auth", "identity-provider"])
    hand(ensureSecret(files.serverAppSecret), party, "server-app.secret");
  put(processPath("auth", "providers.json"), JSON.stringify(authProviders(issuer, clients, secretOf("auth")), null, 2));
  const passkeys = JSON.stringify(developmentPasskeys([required("AUTH_ISSUER")]), null, 2);
  for (const service of ["auth", "device", "account", "signer"]) put(processPath(service, "passkeys.json"), passkeys);
  const provider = {
    issuer,
    ...requiredAddress("CS_PROVIDER_LISTEN"),
    stateDir: processPath("identity-provider"),
    clients,
    secretFile: secretOf("identity-provider"),
  };
  put(processPath("identity-provider", "config.json"), JSON.stringify(providerConfig(provider), null, 2));

  console.log("certificates, keys and settings are in place");
}

await prepare().catch(reportFailure);
