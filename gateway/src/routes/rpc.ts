import type { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import type { MessagesService } from "@countersign/proto/account/v1/messages.ts";
import type { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import type { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import type { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { SignUpService } from "@countersign/proto/auth/v1/sign_up.ts";
import type { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import type { TimeLocksService } from "@countersign/proto/device/v1/time_locks.ts";
import type { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import type { KeysService } from "@countersign/proto/key/v1/keys.ts";
import type { InformationService } from "@countersign/proto/signer/v1/information.ts";
import type { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import type { RpcCallOptions, RpcClient } from "@countersign/rpc";
import type { HttpCall } from "../http/call.ts";

/** The services that the routes call. Each method rejects with an AppError. */
export interface Services {
  signUp: RpcClient<SignUpService>;
  signIn: RpcClient<SignInService>;
  sessions: RpcClient<SessionsService>;
  access: RpcClient<AccessService>;
  devices: RpcClient<DevicesService>;
  timeLocks: RpcClient<TimeLocksService>;
  accountEvents: RpcClient<AccountEventsService>;
  twoFactor: RpcClient<TwoFactorService>;
  keys: RpcClient<KeysService>;
  accounts: RpcClient<AccountsService>;
  networks: RpcClient<NetworksService>;
  messages: RpcClient<MessagesService>;
  serverKeys: RpcClient<ServerKeysService>;
  information: RpcClient<InformationService>;
  signing: Pick<RpcClient<SigningService>, "signTransaction" | "signPaymaster">;
}

/**
 * Deadlines in milliseconds. A sign-up waits up to 20 s for the chain; an approval waits for a submission,
 * a little longer than the device service gives it; an enrollment waits for the identity provider or for
 * its registration.
 */
export const DEADLINES = {
  unary: 3_000,
  chain: 8_000,
  signUp: 25_000,
  signer: 2_000,
  enrollment: 8_000,
  approval: 12_500,
} as const;

/** Options of a call that is sent once: it grants something, and a second attempt could grant it twice. */
export const once = (call: HttpCall, deadlineMs: number = DEADLINES.unary): RpcCallOptions => ({
  call,
  deadlineMs,
  clientIp: call.clientIp || undefined,
});

/**
 * Options of a call that is sent again when the service was unavailable: two calls have the effect of one.
 */
export const repeatable = (call: HttpCall, deadlineMs?: number): RpcCallOptions => ({
  ...once(call, deadlineMs),
  idempotent: true,
});
