import { Failure } from "@countersign/build/fail.ts";
import { freePorts, isFree } from "./ports.ts";

/** Every port that the stack listens on, who needs it, and its number unless the variable says otherwise. */
export const portTable = {
  gateway: { port: 8080, variable: "CS_PORT_GATEWAY", who: "the gateway (HTTP)" },
  auth: { port: 5001, variable: "CS_PORT_AUTH", who: "auth (gRPC)" },
  authHttp: { port: 5101, variable: "CS_PORT_AUTH_HTTP", who: "auth (public keys, HTTPS)" },
  device: { port: 5002, variable: "CS_PORT_DEVICE", who: "device (gRPC)" },
  key: { port: 5003, variable: "CS_PORT_KEY", who: "key (gRPC)" },
  account: { port: 5004, variable: "CS_PORT_ACCOUNT", who: "account (gRPC)" },
  signer: { port: 5005, variable: "CS_PORT_SIGNER", who: "signer (gRPC)" },
  gatewayAdmin: { port: 6000, variable: "CS_PORT_GATEWAY_ADMIN", who: "the gateway (health and metrics)" },
  authAdmin: { port: 6001, variable: "CS_PORT_AUTH_ADMIN", who: "auth (health and metrics)" },
  deviceAdmin: { port: 6002, variable: "CS_PORT_DEVICE_ADMIN", who: "device (health and metrics)" },
  keyAdmin: { port: 6003, variable: "CS_PORT_KEY_ADMIN", who: "key (health and metrics)" },
  accountAdmin: { port: 6004, variable: "CS_PORT_ACCOUNT_ADMIN", who: "account (health and metrics)" },
  signerAdmin: { port: 6005, variable: "CS_PORT_SIGNER_ADMIN", who: "signer (health and metrics)" },
  identityProvider: { port: 9000, variable: "CS_PORT_IDENTITY_PROVIDER", who: "the identity provider" },
  webWallet: { port: 8090, variable: "CS_PORT_WEB_WALLET", who: "the wallet" },
  nats: { port: 4222, variable: "CS_PORT_NATS", who: "NATS" },
  postgres: { port: 54320, variable: "CS_PORT_POSTGRES", who: "Postgres" },
  flowRest: { port: 8888, variable: "CS_PORT_FLOW_REST", who: "the Flow emulator (REST)" },
  flowGrpc: { port: 3569, variable: "CS_PORT_FLOW_GRPC", who: "the Flow emulator (gRPC)" },
  flowAdmin: { port: 8889, variable: "CS_PORT_FLOW_ADMIN", who: "the Flow emulator (admin)" },
  flowDebugger: { port: 2345, variable: "CS_PORT_FLOW_DEBUGGER", who: "the Flow emulator (debugger)" },
} as const;

export type PortName = keyof typeof portTable;
export type Ports = Record<PortName, number>;

const names = Object.keys(portTable) as PortName[];

/** Ports of which every replica has its own; the rest is shared. */
const ownNames: readonly PortName[] = names.slice(0, names.indexOf("identityProvider"));

async function freeNamed<Name extends PortName>(wanted: readonly Name[]): Promise<Record<Name, number>> {
  const ports = await freePorts(wanted.length);
  return Object.fromEntries(wanted.map((name, index) => [name, ports[index]])) as Record<Name, number>;
}

function configuredPorts(env: NodeJS.ProcessEnv): Ports {
  const variables: string[] = names.map((name) => portTable[name].variable);
  const mistyped = Object.keys(env).find((name) => name.startsWith("CS_PORT_") && !variables.includes(name));
  if (mistyped) throw new Failure(`${mistyped} is no port of the stack: there are ${variables.join(", ")}.`);
  const entries = names.map((name) => {
    const { variable, port } = portTable[name];
    const value = Number(env[variable] ?? port);
    if (!Number.isInteger(value) || value < 1 || value > 65_535)
      throw new Failure(`${variable} is "${env[variable]}", which is not a port: give 1 to 65535.`);
    return [name, value] as const;
  });
  const byNumber = new Map<number, PortName>();
  for (const [name, port] of entries) {
    const other = byNumber.get(port);
    if (other) throw new Failure(`${portTable[name].variable} and ${portTable[other].variable} are both ${port}.`);
    byNumber.set(port, name);
  }
  return Object.fromEntries(entries) as Ports;
}

/**
 * Returns the ports of each replica: the second and later ones take free ones. Failure with a line for each
 * busy port.
 */
export async function choosePorts(options: {
  free: boolean;
  replicas?: number;
  env?: NodeJS.ProcessEnv;
}): Promise<[Ports, ...Ports[]]> {
  const replicas: [Ports, ...Ports[]] = [
    options.free ? await freeNamed(names) : await configuredFreePorts(options.env ?? process.env),
  ];
  while (replicas.length < (options.replicas ?? 1)) replicas.push({ ...replicas[0], ...(await freeNamed(ownNames)) });
  return replicas;
}

async function configuredFreePorts(env: NodeJS.ProcessEnv): Promise<Ports> {
  const ports = configuredPorts(env);
  const busy = (await Promise.all(names.map(async (name) => ((await isFree(ports[name])) ? [] : [name])))).flat();
  if (busy.length === 0) return ports;
  const lines = busy.map((name) => {
    const { who, variable } = portTable[name];
    return `port ${ports[name]} is busy, and ${who} needs it (${variable}).`;
  });
  const remedy = "stop the program that has it, set the variable to another port, or start beside it: ";
  throw new Failure([...lines, `${remedy}npm start -- --free-ports --state-dir <folder>`].join("\ncountersign: "));
}
