import { AdminService as AccountAdmin } from "@countersign/proto/account/v1/admin.ts";
import { AdminService } from "@countersign/proto/admin/v1/admin.ts";
import { AdminService as AuthAdmin } from "@countersign/proto/auth/v1/admin.ts";
import { AdminService as DeviceAdmin } from "@countersign/proto/device/v1/admin.ts";
import { AdminService as KeyAdmin } from "@countersign/proto/key/v1/admin.ts";
import { AdminService as SignerAdmin } from "@countersign/proto/signer/v1/admin.ts";
import { createRpcChannel, type RpcClient } from "@countersign/rpc";
import { dialAddress, type Env, loadEnv, loadTlsFromEnv, tlsEnv } from "@countersign/runtime";

export const SERVICES = ["auth", "device", "key", "account", "signer"] as const;
export type ServiceName = (typeof SERVICES)[number];
/** Those with commands for two persons. */
export const DECIDING = ["auth", "signer"] as const;

/** The services as an administrator calls them. */
export interface Services {
  /** The calls that every service answers. */
  readonly each: Readonly<Record<ServiceName, RpcClient<AdminService>>>;
  readonly auth: RpcClient<AuthAdmin>;
  readonly device: RpcClient<DeviceAdmin>;
  readonly key: RpcClient<KeyAdmin>;
  readonly account: RpcClient<AccountAdmin>;
  readonly signer: RpcClient<SignerAdmin>;
}

// The certificate is the administrator's: it names the person.
const schema = tlsEnv.extend({
  CS_AUTH_ADDRESS: dialAddress,
  CS_DEVICE_ADDRESS: dialAddress,
  CS_KEY_ADDRESS: dialAddress,
  CS_ACCOUNT_ADDRESS: dialAddress,
  CS_SIGNER_ADDRESS: dialAddress,
});

/** Returns a record with one value for each service. */
const perService = <T>(make: (service: ServiceName) => T) =>
  Object.fromEntries(SERVICES.map((service) => [service, make(service)])) as Record<ServiceName, T>;

/** Longer than the services' own deadlines: their answer says which part did not answer. */
const DEADLINE_MS = 30_000;

/** Runs `work` with the services, and closes the connections. Errors: ConfigError; those of `work`. */
export async function withServices<T>(env: Env, work: (services: Services) => Promise<T>): Promise<T> {
  const settings = loadEnv(schema, env);
  const tls = loadTlsFromEnv(settings);
  const open = (serverName: ServiceName) => {
    const address = settings[`CS_${serverName.toUpperCase() as Uppercase<ServiceName>}_ADDRESS`];
    return createRpcChannel({ address, tls, serverName, deadlineMs: DEADLINE_MS });
  };
  const channels = perService(open);
  const { auth, device, key, account, signer } = channels;
  try {
    return await work({
      each: perService((service) => channels[service].client(AdminService)),
      auth: auth.client(AuthAdmin),
      device: device.client(DeviceAdmin),
      key: key.client(KeyAdmin),
      account: account.client(AccountAdmin),
      signer: signer.client(SignerAdmin),
    });
  } finally {
    for (const channel of Object.values(channels)) channel.close();
  }
}
