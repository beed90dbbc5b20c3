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
import {
  type CallContext,
  createRpcClient,
  type RpcCallOptions,
  type RpcClient,
  type ServiceDefinition,
} from "@countersign/rpc";
import type { Metrics } from "@countersign/runtime";
import { createSigningStream } from "./clients/signing-stream.ts";
import type { GatewayConfig } from "./config.ts";
import type { RouteClients } from "./routes/index.ts";
import { DEADLINES, type RpcOptions } from "./routes/rpc.ts";

type ServiceName = keyof GatewayConfig["addresses"];

/** The services as the routes see them, and the stream that says which tokens hold. */
export interface Clients extends RouteClients {
  tokenState: Pick<RpcClient<TokenStateService>, "watch">;
  close(): void;
}

/** Connects to all services with the gateway's certificate. Nothing is dialled before the first call. */
export function createClients({ addresses, tls, coalesceCalls }: GatewayConfig, metrics: Metrics): Clients {
  const open: { close(): void }[] = [];
  const connect = <D extends ServiceDefinition>(definition: D, service: ServiceName): RpcClient<D> => {
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
  const signUp = connect(SignUpService, "auth");
  const signIn = connect(SignInService, "auth");
  const sessions = connect(SessionsService, "auth");
  const access = connect(AccessService, "auth");
  const devices = connect(DevicesService, "device");
  const timeLocks = connect(TimeLocksService, "device");
  // A connection of its own: streams are many, and other calls must not wait for a place beside them.
  const accountEvents = connect(AccountEventsService, "device");
  const twoFactor = connect(TwoFactorService, "device");
  const keys = connect(KeysService, "key");
  const accounts = connect(AccountsService, "account");
  const networks = connect(NetworksService, "account");
  const messages = connect(MessagesService, "account");
  const information = connect(InformationService, "signer");
  const serverKeys = connect(ServerKeysService, "account");
  const signer = connect(SigningService, "signer");
  const signing = createSigningStream(signer, { deadlineMs: DEADLINES.signer });
  open.push(signing);
  return {
    signUp: { signUp: once(signUp.signUp) },
    signIn: { issueChallenge: once(signIn.issueChallenge), respondChallenge: once(signIn.respondChallenge) },
    sessions: {
      refreshToken: once(sessions.refreshToken),
      signOut: repeatable(sessions.signOut),
      listSessions: repeatable(sessions.listSessions),
      endSession: repeatable(sessions.endSession),
      endOtherSessions: repeatable(sessions.endOtherSessions),
    },
    access: { removeDevice: repeatable(access.removeDevice) },
    devices: { listDevices: repeatable(devices.listDevices), updateDevice: repeatable(devices.updateDevice) },
    accountEvents: {
      watch: (request, { call }) => accountEvents.watch(request, { call, clientIp: clientIpOf(call) }),
    },
    newDevice: {
      requestTwoFactor: once(signIn.requestTwoFactor),
      finishTwoFactor: once(signIn.finishTwoFactor),
    },
    twoFactor: {
      getTwoFactor: repeatable(twoFactor.getTwoFactor),
      listTwoFactor: repeatable(twoFactor.listTwoFactor),
      redirectTwoFactor: once(twoFactor.redirectTwoFactor),
      rejectTwoFactor: once(twoFactor.rejectTwoFactor),
      approveTwoFactor: once(twoFactor.approveTwoFactor),
      reopenTwoFactor: repeatable(twoFactor.reopenTwoFactor),
    },
    freezing: { freezeAccount: repeatable(access.freezeAccount), unfreezeAccount: once(access.unfreezeAccount) },
    keys: {
      listKeys: repeatable(keys.listKeys),
      registerRecoveryKey: repeatable(keys.registerRecoveryKey),
      reportRevocation: repeatable(keys.reportRevocation),
    },
    accounts: { getMe: repeatable(accounts.getMe), linkParent: repeatable(accounts.linkParent) },
    networks: { listNetworks: repeatable(networks.listNetworks) },
    messages: { prepareMessage: repeatable(messages.prepareMessage) },
    information: { listTemplates: repeatable(information.listTemplates) },
    serverKeys: {
      listServerKeyRotations: repeatable(serverKeys.listServerKeyRotations),
      // The account service gives what was committed, and signs nothing twice.
      rotateServerKey: repeatable(serverKeys.rotateServerKey),
    },
    timeLocks: {
      listTimeLocks: repeatable(timeLocks.listTimeLocks),
      cancelTimeLock: repeatable(timeLocks.cancelTimeLock),
    },
    signing: !coalesceCalls
      ? { signTransaction: once(signer.signTransaction), signPaymaster: once(signer.signPaymaster) }
      : {
          signTransaction: (transaction, { call }) => signing.sign({ ...spokenFor(call), transaction }),
          signPaymaster: (paymaster, { call }) => signing.sign({ ...spokenFor(call), paymaster }),
        },
    tokenState: connect(TokenStateService, "auth"),
    close: () => {
      for (const client of open) client.close();
    },
  };
}

type Method<Request, Response> = (request: Request, options?: RpcCallOptions) => Promise<Response>;

/** Sent once: it grants something, and a second try could grant it twice. */
const once =
  <Request, Response>(method: Method<Request, Response>) =>
  (request: Request, { call, deadlineMs }: RpcOptions) =>
    method(request, { call, deadlineMs, clientIp: clientIpOf(call) });

/** Sent again where the service was not there: twice does what once does. */
const repeatable =
  <Request, Response>(method: Method<Request, Response>) =>
  (request: Request, { call, deadlineMs }: RpcOptions) =>
    method(request, { call, deadlineMs, clientIp: clientIpOf(call), idempotent: true });

/** On a stream each request carries its own token. */
const spokenFor = ({ rawToken = "", requestId }: CallContext) => ({ accessToken: rawToken, requestId });

const clientIpOf = (call: CallContext): string | undefined => call.clientIp || undefined;
