import { type Authorization, type FclWallet, type FclWalletOptions, fclWallet, type Signable } from "./wallet.ts";

/** The part of `@onflow/fcl` that is used. */
export interface Fcl {
  /** FCL's registry of wallets. */
  pluginRegistry: { add(plugin: FclPlugin): void };
  /**
   * FCL's sign-in.
   * @example await fcl.authenticate({ service: useCountersign(fcl, { client, network }) });
   */
  authenticate(options: { service: object }): Promise<unknown>;
}

/** A wallet as FCL's registry takes it. */
export interface FclPlugin {
  /** The wallet's name in the registry. */
  name: string;
  /** As FCL requires it. */
  f_type: "ServicePlugin";
  /** As FCL requires it. */
  type: "discovery-service";
  /** The services that FCL's discovery shows. */
  services: object[];
  /** How FCL calls them: `useCountersign` has it. */
  serviceStrategy: { method: string; exec(call: ServiceCall): Promise<unknown> };
}

/** The user as FCL's subscribers see it. */
export interface FclUser {
  /** `0x` and 16 hex digits; null before the sign-in. */
  addr: string | null;
  /** Null until FCL knows. */
  loggedIn: boolean | null;
}

/** FCL's call of one of our services. */
interface ServiceCall {
  service: { type: string; identity?: { address: string; keyId: number }; data?: { role?: Role } };
  body: Partial<Signable> & { appIdentifier?: string; nonce?: string };
}

type Role = "device" | "server" | "payer";

const METHOD = "COUNTERSIGN/RPC";
const PRAGMA = { f_type: "Service", f_vsn: "1.0.0" } as const;

const authn = (name: string) => ({
  ...PRAGMA,
  type: "authn",
  uid: "countersign#authn",
  endpoint: "countersign",
  method: METHOD,
  provider: { address: null, name, icon: null, description: name },
});

/** The account that FCL signs with: its registry takes a strategy only once, and a page has one FCL. */
let current: { options: FclWalletOptions; wallet: FclWallet; name: string } | undefined;
const registered = new WeakSet<object>();

/**
 * Makes a signed-in client the wallet of FCL. Afterwards every part of the app that knows only FCL works:
 * `fcl.authenticate`, `fcl.mutate`, `fcl.currentUser.signUserMessage`, account proofs. Call it again after
 * another person signed in. Returns the service for `fcl.authenticate`.
 * @example
 * const service = useCountersign(fcl, { client, network });
 * await fcl.authenticate({ service });
 * const id = await fcl.mutate({ cadence, limit: 999 });
 */
export function useCountersign(fcl: Fcl, { name = "Countersign", ...options }: FclWalletOptions & { name?: string }) {
  current = { options, wallet: fclWallet(options), name };
  const service = authn(name);
  if (!registered.has(fcl.pluginRegistry)) {
    registered.add(fcl.pluginRegistry);
    fcl.pluginRegistry.add({
      name: "countersign",
      f_type: "ServicePlugin",
      type: "discovery-service",
      services: [service],
      serviceStrategy: { method: METHOD, exec },
    });
  }
  return service;
}

async function exec({ service, body }: ServiceCall): Promise<unknown> {
  if (current === undefined) throw new Error("call useCountersign first");
  const { wallet, name } = current;
  switch (service.type) {
    case "authn":
      return signIn(current, body);
    case "pre-authz":
      requireSame((await wallet.account()).address, service);
      return preAuthz(wallet);
    case "authz": {
      const { addr, signingFunction } = await wallet[service.data?.role ?? "device"]();
      requireSame(`0x${addr}`, service);
      return signingFunction({ message: body.message ?? "" });
    }
    case "user-signature":
      requireSame((await wallet.account()).address, service);
      return wallet.signUserMessage(body.message ?? "");
    default:
      throw new Error(`${name} has no service ${service.type}`);
  }
}

/** FCL keeps its user, also while another person signs in. */
function requireSame(address: string, { identity }: ServiceCall["service"]): void {
  if (identity?.address !== address)
    throw new Error("the user of FCL has another account: call fcl.authenticate again");
}

/** Returns the user with the services of the account, and its account proof where the app asks for one. */
async function signIn(
  { wallet, options, name }: NonNullable<typeof current>,
  { appIdentifier, nonce }: ServiceCall["body"],
): Promise<object> {
  const { address, keyId } = await wallet.account();
  const id = options.client.deviceKey.publicKey;
  const identity = { address, keyId };
  const service = (type: string) => ({
    ...PRAGMA,
    type,
    uid: `countersign#${type}`,
    endpoint: "countersign",
    method: METHOD,
    identity,
    id,
  });
  const proof =
    appIdentifier !== undefined && nonce !== undefined
      ? [
          {
            ...service("account-proof"),
            method: "DATA",
            data: {
              f_type: "account-proof",
              f_vsn: "2.0.0",
              address,
              nonce,
              signatures: await wallet.signAccountProof({ appIdentifier, nonce }),
            },
          },
        ]
      : [];
  return {
    f_type: "AuthnResponse",
    f_vsn: "1.0.0",
    addr: address,
    services: [{ ...authn(name), identity, id }, service("pre-authz"), service("user-signature"), ...proof],
  };
}

async function preAuthz(wallet: FclWallet): Promise<object> {
  const authz = async (role: Role) => {
    const { addr, keyId }: Authorization = await wallet[role]();
    return {
      ...PRAGMA,
      type: "authz",
      uid: `countersign#authz-${role}`,
      endpoint: "countersign",
      method: METHOD,
      identity: { address: `0x${addr}`, keyId },
      data: { role },
    };
  };
  const [device, server, payer] = await Promise.all([authz("device"), authz("server"), authz("payer")]);
  return {
    f_type: "PreAuthzResponse",
    f_vsn: "1.0.0",
    proposer: device,
    payer: [payer],
    authorization: [device, server],
  };
}
