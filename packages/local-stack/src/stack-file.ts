/** One running process, as stack.json names it. */
export interface StackProcess {
  pid: number;
  /** host:port of gRPC. */
  grpc?: string;
  /** Address of Prometheus metrics. */
  metrics?: string;
}

/** The content of stack.json: what runs, and how to reach it. Relative paths start at the checkout's root. */
export interface Stack {
  /** The first gateway. */
  gateway: string;
  /** All gateways: as many as there are replicas. */
  gateways: string[];
  identityProvider: {
    issuer: string;
    clients: { clientId: string; redirectUri: string; appId: string; appName: string }[];
  };
  /** The wallet, where it is served. */
  webWallet?: string;
  chains: { chainName: string; accessNode: string; paymaster: string; creator: string }[];
  nats: string;
  /** Superuser's connection string. */
  postgres: string;
  databases: Record<string, string>;
  networksFile: string;
  stateDir: string;
  /** By name; the replicas of auth are "auth", "auth-2" and so on. */
  processes: Record<string, StackProcess>;
  tls: { ca: string; clients: Record<string, { cert: string; key: string }> };
}
