import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { MessagesService } from "@countersign/proto/account/v1/messages.ts";
import { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import { AccessService } from "@countersign/proto/auth/v1/access.ts";
import { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import { SignUpService } from "@countersign/proto/auth/v1/sign_up.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { TimeLocksService } from "@countersign/proto/device/v1/time_locks.ts";
import { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient, type RpcClient, type ServiceDefinition } from "@countersign/rpc";
import type { Metrics } from "@countersign/runtime";
import { createSigningStream } from "./clients/signing-stream.ts";
import type { GatewayConfig } from "./config.ts";
import { DEADLINES } from "./routes/rpc.ts";

/** The services that the routes call. Each method rejects with an AppError. */
export type Services = Omit<ReturnType<typeof createClients>, "tokenState" | "close">;

/** Connects to all services with the gateway's certificate. Nothing is dialled before the first call. */
export function createClients({ addresses, tls, coalesceCalls }: GatewayConfig, metrics: Metrics) {
  const open: { close(): void }[] = [];
  const connect = <D extends ServiceDefinition>(
    definition: D,
    service: keyof GatewayConfig["addresses"],
  ): RpcClient<D> => {
    const client = createRpcClient(definition, {
      address: addresses[service],
      tls,
      serverName: service,
      deadlineMs: DEADLINES.unary,
      metrics,
      coalesce: coalesceCalls,
    });
    open.push(client);
    return client;
  };
  const signer = connect(SigningService, "signer");
  const stream = createSigningStream(signer, { deadlineMs: DEADLINES.signer });
  open.push(stream);
  const signing: Omit<typeof stream, "close"> = coalesceCalls ? stream : signer;
  return {
    signUp: connect(SignUpService, "auth"),
    signIn: connect(SignInService, "auth"),
    sessions: connect(SessionsService, "auth"),
    access: connect(AccessService, "auth"),
    tokenState: connect(TokenStateService, "auth"),
    devices: connect(DevicesService, "device"),
    timeLocks: connect(TimeLocksService, "device"),
    twoFactor: connect(TwoFactorService, "device"),
    // A connection of its own: streams are many, and other calls must not wait for a place beside them.
    accountEvents: connect(AccountEventsService, "device"),
    keys: connect(KeysService, "key"),
    accounts: connect(AccountsService, "account"),
    networks: connect(NetworksService, "account"),
    messages: connect(MessagesService, "account"),
    serverKeys: connect(ServerKeysService, "account"),
    information: connect(InformationService, "signer"),
    signing,
    close: () => {
      for (const client of open) client.close();
    },
  };
}
