import { relative } from "node:path";
import { root, type ServiceName, services } from "@countersign/build/paths.ts";
import type { Network } from "@countersign/settings";
import { certificateNames, tlsFiles } from "./certificates.ts";
import type { Child } from "./child.ts";
import type { DatabaseUrls } from "./databases.ts";
import type { DevelopmentClient } from "./identity-provider.ts";
import { processName, stateFiles } from "./service-environment.ts";
import type { Ports } from "./settings.ts";
import type { Stack, StackProcess } from "./stack-file.ts";
import type { Supervisor } from "./supervisor.ts";

export interface Parts {
  stateDir: string;
  gateway: string;
  issuer: string;
  webWallet: string | undefined;
  clients: DevelopmentClient[];
  natsUrl: string;
  postgres: DatabaseUrls;
  replicas: readonly Ports[];
  chain: Network;
  supervisor: Supervisor;
}

/** Returns a path as stack.json names it: relative to the checkout if it is inside. */
function shown(path: string): string {
  const inside = relative(root, path);
  return inside.startsWith("..") ? path : inside;
}

/** Returns the content of stack.json for the running stack. */
export function describe(parts: Parts): Stack {
  const { replicas, stateDir } = parts;
  const programs = new Map(
    ([...services, "gateway"] as const).flatMap((name) =>
      replicas.map((ports, replica) => [processName(name, replica), { name, ports }] as const),
    ),
  );
  const describeProcess = ({ name: process, pid }: Child): StackProcess => {
    const program = programs.get(process);
    if (!program) return { pid };
    const { name, ports } = program;
    const grpc = name === "gateway" ? {} : { grpc: `127.0.0.1:${ports[name]}` };
    return { pid, ...grpc, metrics: `http://127.0.0.1:${ports[`${name}Admin`]}/metrics` };
  };
  const outsideClients = certificateNames.filter(
    (name) => name !== "gateway" && name !== "nats" && !services.includes(name as ServiceName),
  );
  return {
    gateway: parts.gateway,
    gateways: replicas.map((ports) => `http://localhost:${ports.gateway}`),
    identityProvider: {
      issuer: parts.issuer,
      clients: parts.clients.map(({ clientId, redirectUris: [redirectUri], appName }) => ({
        clientId,
        redirectUri,
        appId: clientId,
        appName,
      })),
    },
    ...(parts.webWallet !== undefined && { webWallet: parts.webWallet }),
    chains: [
      {
        chainName: parts.chain.chainName,
        accessNode: parts.chain.accessNode,
        paymaster: `0x${parts.chain.paymaster.address}`,
        creator: `0x${parts.chain.creator.address}`,
      },
    ],
    nats: parts.natsUrl,
    postgres: parts.postgres.adminUrl,
    databases: Object.fromEntries(services.map((service) => [service, parts.postgres.urlOf(service)])),
    networksFile: shown(stateFiles(stateDir).networks),
    stateDir: shown(stateDir) || ".",
    processes: Object.fromEntries(parts.supervisor.children.map((child) => [child.name, describeProcess(child)])),
    tls: {
      ca: shown(tlsFiles(stateDir, "ca").ca),
      clients: Object.fromEntries(
        outsideClients.map((name) => {
          const { cert, key } = tlsFiles(stateDir, name);
          return [name, { cert: shown(cert), key: shown(key) }];
        }),
      ),
    },
  };
}
