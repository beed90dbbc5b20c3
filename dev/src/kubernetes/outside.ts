import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { root, services } from "@countersign/build/paths.ts";
import { certificateNames, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { readMounted } from "@countersign/local-stack/kubernetes/mounted-secret.ts";
import { readNetworks } from "@countersign/local-stack/networks.ts";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { executeSql } from "@countersign/migrations/execute-sql.ts";
import { HOST } from "./cluster.ts";
import { nodeCommand } from "./in-pods/command.ts";

export const NAMESPACE = "countersign";
/** Where pods find the identity provider: its issuer is a URL on localhost, for them as for a browser. */
const providerPort = (stack: RunningStack) => Number(new URL(stack.stack.identityProvider.issuer).port);

/** The servers outside of the cluster, as in production: Postgres, NATS, the chain and the provider. */
export interface Outside {
  stack: RunningStack;
  /** Secrets with the names that the chart expects. */
  secrets: object[];
  /** Values of the chart. */
  values: Record<string, unknown>;
  stop(): Promise<void>;
}

/** Forwards connections from the cluster to a server on this machine's loopback address. */
function forward(port: number): Promise<Server> {
  const server = createServer((socket) => {
    pipeline(socket, connect(port, "127.0.0.1"), socket, () => undefined);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, HOST, () => resolve(server));
  });
}

const secret = (name: string, data: Record<string, string | Buffer>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: NAMESPACE },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")])),
});

/** Runs deploy/postgres/roles.sql under other names, since the local stack has these. Returns the URLs. */
async function createRoles(adminUrl: string) {
  const text = readFileSync(join(root, "deploy/postgres/roles.sql"), "utf8").replaceAll("countersign_", "cluster_");
  const statements = text
    .replaceAll(/^--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter(Boolean);
  const password = randomBytes(16).toString("hex");
  const roles = services.flatMap((service) => [`cluster_${service}_owner`, `cluster_${service}`]);
  await executeSql(adminUrl, [...statements, ...roles.map((role) => `ALTER ROLE ${role} PASSWORD '${password}'`)]);
  const port = new URL(adminUrl).port;
  return (service: string, role: string) => `postgresql://${role}:${password}@${HOST}:${port}/cluster_${service}`;
}

/** Starts the servers outside of the cluster. The values are for images of this tag. */
export async function startOutside(stateDir: string, tag: string): Promise<Outside> {
  const say = (line: string) => console.log(`        ${line}`);
  const stack = await startStack({ stateDir, freePorts: true, throwAway: true, programs: [], say });
  const { postgres, nats, chains, gateway } = stack.stack;
  const portOf = (url: string) => Number(new URL(url).port);
  const chainPort = portOf(chains[0]!.accessNode);
  const ports = [portOf(postgres), portOf(nats), chainPort, providerPort(stack)];
  const forwards = await Promise.all(ports.map(forward));
  const urlOf = await createRoles(postgres);
  const files = stateFiles(stateDir);
  const databaseUrl = (service: string) => urlOf(service, `cluster_${service}`);
  const secrets = [
    secret(
      "countersign-migrations",
      Object.fromEntries(services.map((name) => [name, urlOf(name, `cluster_${name}_owner`)])),
    ),
    ...(["device", "key", "account"] as const).map((name) =>
      secret(`countersign-${name}`, { "database-url": databaseUrl(name) }),
    ),
    secret("countersign-auth", {
      "database-url": databaseUrl("auth"),
      "token-key-encryption.key": readFileSync(files.tokenKeyEncryptionKey),
      "server-app.secret": readFileSync(files.serverAppSecret),
    }),
    secret("countersign-signer", {
      "database-url": databaseUrl("signer"),
      "keystore.json": readFileSync(files.keystore),
      "keystore.passphrase": readFileSync(files.keystorePassphrase),
    }),
    ...certificateNames.map((name) => {
      const { ca, cert, key } = tlsFiles(stateDir, name);
      return secret(`countersign-${name}-tls`, {
        "ca.crt": readFileSync(ca),
        "tls.crt": readFileSync(cert),
        "tls.key": readFileSync(key),
      });
    }),
  ];
  // All replicas share one small node. Limits by address and account are for people, not for load.
  const small = { resources: { requests: { cpu: "20m" } } };
  const here = (...numbers: number[]) => ({
    to: [{ ipBlock: { cidr: `${HOST}/32` } }],
    ports: numbers.map((port) => ({ port })),
  });
  return {
    stack,
    secrets,
    values: {
      issuer: gateway,
      image: { tag },
      certificates: { certManager: { enabled: false } },
      networks: readNetworks(files.networks).map((network) => ({
        ...network,
        accessNode: `http://${HOST}:${chainPort}`,
      })),
      ...readMounted(files.providers, files.serverAppSecret),
      passkeys: JSON.parse(readFileSync(files.passkeys, "utf8")),
      nats: { url: `tls://nats.countersign.internal:${portOf(nats)}` },
      hostAliases: [{ ip: HOST, hostnames: ["nats.countersign.internal"] }],
      migrations: { rolePrefix: "cluster_" },
      checkpoints: { storageClassName: "emptyDir" },
      processes: {
        gateway: small,
        auth: {
          ...small,
          env: { AUTH_LIMIT_SCALE: 100 },
          // The provider's issuer is http://localhost:…, the only plain-HTTP host that auth accepts.
          sidecars: [
            {
              name: "provider",
              image: `countersign/service:${tag}`,
              imagePullPolicy: "IfNotPresent",
              command: nodeCommand("forward", String(providerPort(stack)), HOST),
            },
          ],
        },
        device: { ...small, env: { DEVICE_PUSH: "log", DEVICE_MAIL: "log", DEVICE_LIMIT_SCALE: 100 } },
        key: { ...small, env: { KEY_LIMIT_SCALE: 100 } },
        account: { ...small, env: { ACCOUNT_LIMIT_SCALE: 100 } },
        signer: { ...small, env: { SIGNER_LIMIT_SCALE: 100, SIGNER_PARSER_TIME_LIMIT_MS: 5000 } },
      },
      networkPolicy: {
        metricsFrom: [{ ipBlock: { cidr: `${HOST}/32` } }],
        backends: { "demo-backend": [{ podSelector: { matchLabels: { app: "demo-backend" } } }] },
        destinations: {
          postgres: here(portOf(postgres)),
          nats: here(portOf(nats)),
          chain: here(chainPort),
          providers: here(providerPort(stack)),
        },
      },
    },
    async stop() {
      for (const server of forwards) server.close();
      await stack.stop();
    },
  };
}
