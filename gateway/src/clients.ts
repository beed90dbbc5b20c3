import type { TlsMaterial, Watched } from "@countersign/core";
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
import { UserMessagesService } from "@countersign/proto/signer/v1/user_messages.ts";
import { createRpcChannel, type RpcChannel } from "@countersign/rpc";
import type { Metrics } from "@countersign/runtime";
import { createSigningStream } from "./clients/signing-stream.ts";
import type { GatewayConfig } from "./config.ts";
import { DEADLINES } from "./routes/rpc.ts";

/** The services that the routes call. Each method rejects with an AppError. */
export type Services = Omit<ReturnType<typeof createClients>, "tokenState" | "close">;

/** Connects to all services with the gateway's certificate. Nothing is dialled before the first call. */
export function createClients(
  { addresses, tls, coalesceCalls }: Omit<GatewayConfig, "tls"> & { tls: Watched<TlsMaterial> },
  metrics: Metrics,
) {
  const open: { close(): void }[] = [];
  const connect = (service: keyof GatewayConfig["addresses"], pings = false): RpcChannel => {
    const channel = createRpcChannel({
      address: addresses[service],
      tls,
      serverName: service,
      deadlineMs: DEADLINES.unary,
      metrics,
      coalesce: coalesceCalls,
      pings,
    });
    open.push(channel);
    return channel;
  };
  const [auth, device, account, signer] = [connect("auth"), connect("device"), connect("account"), connect("signer")];
  const signingClient = signer.client(SigningService);
  const stream = createSigningStream(signingClient, { deadlineMs: DEADLINES.signer, metrics });
  signer.onRenewed(stream.renew);
  open.push(stream);
  const signing: Omit<typeof stream, "close" | "renew"> = coalesceCalls ? stream : signingClient;
  return {
    signUp: auth.client(SignUpService),
    signIn: auth.client(SignInService),
    sessions: auth.client(SessionsService),
    access: auth.client(AccessService),
    tokenState: auth.client(TokenStateService),
    devices: device.client(DevicesService),
    timeLocks: device.client(TimeLocksService),
    twoFactor: device.client(TwoFactorService),
    // A connection of its own: streams are many, and other calls must not wait for a place beside them.
    accountEvents: connect("device", true).client(AccountEventsService),
    keys: connect("key").client(KeysService),
    accounts: account.client(AccountsService),
    networks: account.client(NetworksService),
    messages: account.client(MessagesService),
    serverKeys: account.client(ServerKeysService),
    information: signer.client(InformationService),
    signing,
    userMessages: signer.client(UserMessagesService),
    close: () => {
      for (const client of open) client.close();
    },
  };
}
