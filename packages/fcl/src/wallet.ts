import {
  type AccountProofDescription,
  type ClientNetwork,
  type CountersignClient,
  describeTransaction,
  signMessageWith,
  type TransactionDescription,
  type UserMessageDescription,
} from "@countersign/client";
import { type AccessApi, activeKey, createAccessApi, readUserMessage, userMessage } from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";

/** The request of FCL to sign a message. */
export interface Signable {
  /** Hex of domain tag and RLP. */
  message: string;
}

/** A signature as FCL takes it. A passkey's has extension data (FLIP 264). */
export interface CompositeSignature {
  /** As FCL requires it. */
  f_type: "CompositeSignature";
  /** As FCL requires it. */
  f_vsn: "1.0.0";
  /** `0x` and 16 hex digits. */
  addr: string;
  /** The key's index in its account. */
  keyId: number;
  /** Raw r||s, hex. */
  signature: string;
  /** A passkey's: scheme byte and scheme data, hex. */
  extensionData?: string;
}

/** An account and key for a role of a transaction, as FCL's authorization functions return them. */
export interface Authorization {
  /** FCL's name of the key: address and key id. */
  tempId: string;
  /** 16 hex digits. */
  addr: string;
  /** The key's index in its account. */
  keyId: number;
  /**
   * Signs a message that FCL has built.
   * @example
   * const { signingFunction } = await wallet.device();
   * const { signature } = await signingFunction({ message: bytesToHex(payloadMessage(transaction)) });
   */
  signingFunction(signable: Signable): Promise<CompositeSignature>;
}

/** FCL calls it with the account as it knows it so far. */
export type AuthorizationFunction = (account?: object) => Promise<Authorization>;

/** The content that a person signs; `kind` says which of the three. */
export type SigningDescription = TransactionDescription | UserMessageDescription | AccountProofDescription;

/** Options of `fclWallet`. */
export interface FclWalletOptions {
  /** Signed in. */
  client: CountersignClient;
  /** The network that the dApp uses. */
  network: ClientNetwork;
  /**
   * Called with the content before this device's key signs a transaction, a user message or an account
   * proof: an app's own dialog. A rejection ends it.
   */
  confirm?: ((description: SigningDescription) => void | Promise<void>) | undefined;
  /** Default: the REST API of the network's access node. */
  accessApi?: AccessApi;
}

/** The account of a signed-in client, for FCL. */
export interface FclWallet {
  /**
   * This device's key: proposer and first authorizer.
   * @example await fcl.mutate({ cadence, ...wallet.roles, proposer: wallet.device });
   */
  device: AuthorizationFunction;
  /**
   * The account's server key: second authorizer. The service checks the transaction and co-signs.
   * @example const authorizations = [wallet.device, wallet.server];
   */
  server: AuthorizationFunction;
  /**
   * The paymaster: the service pays.
   * @example await fcl.mutate({ cadence, ...wallet.roles, payer: wallet.payer });
   */
  payer: AuthorizationFunction;
  /**
   * All roles of a sponsored transaction.
   * @example const id = await fcl.mutate({ cadence, args, limit: 999, ...wallet.roles });
   */
  roles: { proposer: AuthorizationFunction; payer: AuthorizationFunction; authorizations: AuthorizationFunction[] };
  /**
   * Returns the account's address and the index of this device's key on it.
   * @example const { address } = await wallet.account();
   */
  account(): Promise<{ address: string; keyId: number; serverKeyId: number }>;
  /**
   * Signs a text in UTF-8 (hex), as `fcl.AppUtils.verifyUserSignatures` takes it.
   * @example const signatures = await wallet.signUserMessage(Buffer.from("I agree").toString("hex"));
   */
  signUserMessage(message: string): Promise<CompositeSignature[]>;
  /**
   * Proves the account to an app, as `fcl.AppUtils.verifyAccountProof` takes it.
   * @example
   * const nonce = "75".repeat(32);
   * const signatures = await wallet.signAccountProof({ appIdentifier: "https://my-app.example", nonce });
   */
  signAccountProof(proof: { appIdentifier: string; nonce: string }): Promise<CompositeSignature[]>;
}

const plain = (address: string): string => address.replace(/^0x/i, "").toLowerCase();

/**
 * Returns the authorization functions of a signed-in client's account: FCL builds and submits the
 * transaction, device, server and paymaster sign it.
 * @example
 * const wallet = fclWallet({ client, network });
 * const id = await fcl.mutate({ cadence, limit: 999, ...wallet.roles });
 */
export function fclWallet({ client, network, confirm, accessApi }: FclWalletOptions): FclWallet {
  const { chainName } = network;
  const access = accessApi ?? createAccessApi({ baseUrl: network.accessNode });

  async function account() {
    const { addresses } = await client.me();
    const found = addresses.find((entry) => entry.chainName === chainName && entry.chainType === "cadence");
    if (!found) throw new Error(`the account has no address on ${chainName} yet`);
    const keys = await access.accountKeys(plain(found.address));
    const own = keys.find(({ revoked, publicKey }) => !revoked && publicKey === client.deviceKey.publicKey);
    const server = activeKey(keys, "server");
    if (!own || !server) throw new Error(`this device's key is not on the account ${found.address}`);
    return { address: found.address, keyId: own.index, serverKeyId: server.index };
  }

  const authorization = (
    address: string,
    keyId: number,
    sign: (message: string) => Promise<{ addr?: string; keyId?: number; signature: string; extensionData?: string }>,
  ): Authorization => ({
    tempId: `${plain(address)}-${keyId}`,
    addr: plain(address),
    keyId,
    async signingFunction({ message }) {
      const signed = await sign(message);
      return { f_type: "CompositeSignature", f_vsn: "1.0.0", addr: `0x${plain(address)}`, keyId, ...signed };
    },
  });

  const device: AuthorizationFunction = async (given = {}) => {
    const { address, keyId } = await account();
    const own = authorization(address, keyId, async (message) => {
      // Refuses anything that is no transaction: this key also answers the challenges of sign-ins.
      const description = describeTransaction(message, network);
      await confirm?.(description);
      return signMessageWith(client.deviceKey, hexToBytes(message));
    });
    return { ...given, ...own };
  };
  const server: AuthorizationFunction = async (given = {}) => {
    const { address, serverKeyId } = await account();
    return {
      ...given,
      ...authorization(address, serverKeyId, (message) => client.signTransaction(message, chainName)),
    };
  };
  const payer: AuthorizationFunction = async (given = {}) => {
    const keys = await access.accountKeys(plain(network.paymaster));
    const key = keys.find(({ revoked }) => !revoked);
    if (!key) throw new Error(`the paymaster ${network.paymaster} has no key`);
    const pays = authorization(network.paymaster, key.index, (message) => client.signPaymaster(message, chainName));
    return { ...given, ...pays };
  };
  const composite = ({ addr, keyId, signature }: Pick<CompositeSignature, "addr" | "keyId" | "signature">) =>
    ({ f_type: "CompositeSignature", f_vsn: "1.0.0", addr, keyId, signature }) as const;
  const messageOptions = async () => ({ chainName, confirm, account: await account() });
  return {
    ...{ device, server, payer, account },
    roles: { proposer: device, payer, authorizations: [device, server] },
    async signUserMessage(message) {
      const text = readUserMessage(userMessage(hexToBytes(message)));
      return (await client.signUserMessage(text, await messageOptions())).map(composite);
    },
    async signAccountProof(proof) {
      return (await client.signAccountProof(proof, await messageOptions())).map(composite);
    },
  };
}
