import type { ServiceName } from "@countersign/build/paths.ts";
import type { LocalApp } from "./local-apps.ts";
import type { AddressOf, ProgramName } from "./service-environment.ts";

export interface StackOptions {
  stateDir: string;
  /** Ports that happen to be free instead of the configured ones. */
  freePorts: boolean;
  /** Starts again what dies by itself. Default: it is said, and stays dead. */
  autoRestart?: boolean;
  /** Serves apps/wallet, built if need be. */
  webWallet?: boolean;
  /** Developers' own apps: may call the gateway, are clients of the provider, and have passkeys. */
  apps?: readonly LocalApp[];
  /** Throw-away state: the database does not wait for the disk. */
  throwAway: boolean;
  /** The state was copied from a stack that was set up: see testing/stack-template.ts. */
  isCopy?: boolean;
  /** The PgBouncer through which the services connect to Postgres. Default: none. */
  pgbouncer?: string | undefined;
  /**
   * Runs the databases on Citus, a coordinator and two workers: the folder that `npm run citus -- build`
   * made, and the node that auth connects to. Each further service connects to the next node.
   */
  citus?: { home: string; firstNode?: number } | undefined;
  /** A Postgres server for each service, with these further settings (name=value). Default: one for all. */
  ownPostgres?: (service: ServiceName) => readonly string[];
  /** Of the events at NATS. Default: CS_NATS_PARTITIONS, or one stream. */
  partitions?: number | undefined;
  /** Processes of each service and of the gateway, on the same databases. Default 1. */
  replicas?: number;
  /** Services and gateway that are started. Default: all. */
  programs?: readonly ProgramName[];
  /** Routes a hop through something else, for tests. */
  addressOf?: AddressOf;
  /** Whether services read their connection strings from files, which may change. */
  databaseUrlFiles?: boolean;
  /** Further variables of a service's or gateway's process, for tests. */
  extraEnvironment?: (process: string) => Record<string, string>;
  /**
   * The checkout whose program a process runs, asked at each of its starts: a test may mix versions. Default:
   * this one.
   */
  checkoutOf?: (process: string) => string;
  say(line: string): void;
  /** Resolves when the start is to be given up. */
  cancel?: Promise<void>;
}
