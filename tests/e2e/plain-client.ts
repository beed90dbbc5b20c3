/*
 * A client as a developer would write it in Swift or Kotlin: it knows the HTTP API, the REST API of Flow's
 * access nodes, RLP and JSON-Cadence, and imports nothing of this project.
 */

type Rlp = Buffer | Rlp[];

const bigEndian = (value: bigint | number): Buffer => {
  const hex = BigInt(value).toString(16);
  return value === 0 || value === 0n ? Buffer.alloc(0) : Buffer.from(hex.length % 2 ? `0${hex}` : hex, "hex");
};
const head = (offset: number, length: number): Buffer => {
  if (length < 56) return Buffer.from([offset + length]);
  const bytes = bigEndian(length);
  return Buffer.concat([Buffer.from([offset + 55 + bytes.length]), bytes]);
};

function encode(item: Rlp): Buffer {
  if (Array.isArray(item)) {
    const body = Buffer.concat(item.map(encode));
    return Buffer.concat([head(0xc0, body.length), body]);
  }
  return item.length === 1 && item[0]! < 0x80 ? item : Buffer.concat([head(0x80, item.length), item]);
}

/** Returns the item at an offset, and where it ends. */
function decodeAt(bytes: Buffer, offset: number): [item: Rlp, end: number] {
  const first = bytes[offset]!;
  if (first < 0x80) return [bytes.subarray(offset, offset + 1), offset + 1];
  const isList = first >= 0xc0;
  const short = first - (isList ? 0xc0 : 0x80);
  const sizeBytes = Math.max(0, short - 55);
  const start = offset + 1 + sizeBytes;
  const length = sizeBytes === 0 ? short : Number(`0x${bytes.subarray(offset + 1, start).toString("hex")}`);
  const end = start + length;
  if (!isList) return [bytes.subarray(start, end), end];
  const items: Rlp[] = [];
  for (let at = start; at < end; ) {
    const [item, next] = decodeAt(bytes, at);
    items.push(item);
    at = next;
  }
  return [items, end];
}

const TAG = Buffer.concat([Buffer.from("FLOW-V0.0-transaction"), Buffer.alloc(11)]);
const plain = (address: string) => address.replace(/^0x/, "");

export interface PlainNetwork {
  chainName: string;
  chainType: string;
  chainId: number;
  accessNode: string;
  paymaster: string;
  explorerUrl: string;
}

export interface PlainTemplate {
  name: string;
  script: string;
  parameters: { name: string; type: string; value: string }[];
  gasLimit: number;
}

interface AccountKey {
  index: string;
  public_key: string;
  hashing_algorithm: string;
  sequence_number: string;
  weight: string;
  revoked: boolean;
}

/** The parts of a payload, as texts and numbers. */
export interface Payload {
  script: string;
  arguments: string[];
  referenceBlock: string;
  gasLimit: number;
  proposer: { address: string; keyId: number; sequenceNumber: number };
  payer: string;
  authorizers: string[];
}

export function decodePayload(message: string): Payload {
  const bytes = Buffer.from(message, "hex");
  if (!bytes.subarray(0, 32).equals(TAG)) throw new Error("not a transaction");
  const [item] = decodeAt(bytes, 32);
  const [script, args, block, gas, proposer, keyId, sequence, payer, authorizers] = item as Buffer[] & Buffer[][];
  const number = (part: Rlp | undefined) => Number(`0x0${(part as Buffer).toString("hex")}`);
  return {
    script: (script as Buffer).toString(),
    arguments: (args as unknown as Buffer[]).map(String),
    referenceBlock: (block as Buffer).toString("hex"),
    gasLimit: number(gas),
    proposer: { address: (proposer as Buffer).toString("hex"), keyId: number(keyId), sequenceNumber: number(sequence) },
    payer: (payer as Buffer).toString("hex"),
    authorizers: (authorizers as unknown as Buffer[]).map((each) => each.toString("hex")),
  };
}

const payloadItem = (payload: Payload): Rlp => [
  Buffer.from(payload.script),
  payload.arguments.map((each) => Buffer.from(each)),
  Buffer.from(payload.referenceBlock, "hex"),
  bigEndian(payload.gasLimit),
  Buffer.from(payload.proposer.address, "hex"),
  bigEndian(payload.proposer.keyId),
  bigEndian(payload.proposer.sequenceNumber),
  Buffer.from(payload.payer, "hex"),
  payload.authorizers.map((each) => Buffer.from(each, "hex")),
];

export class PlainProblem extends Error {
  readonly body: { status: number; error: string; reason?: string; availableAt?: string; detail: string };

  constructor(body: PlainProblem["body"]) {
    super(`${body.error}: ${body.detail}`);
    this.body = body;
  }
}

export interface PlainClientOptions {
  gateway: string;
  accessToken: string;
  /** 128 hex digits. */
  publicKey: string;
  /** Raw r‖s over the SHA-256 of the message. */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

export class PlainClient {
  readonly #options: PlainClientOptions;

  constructor(options: PlainClientOptions) {
    this.#options = options;
  }

  async request(method: string, path: string, body?: object) {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#options.accessToken}` };
    if (body) headers["content-type"] = "application/json";
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(this.#options.gateway + path, init);
    const json = JSON.parse(await answer.text());
    if (!answer.ok) throw new PlainProblem(json);
    return json;
  }

  async network(): Promise<PlainNetwork> {
    const { networks } = await this.request("GET", "/account/v1/networks");
    return networks[0];
  }

  async templates(): Promise<PlainTemplate[]> {
    return (await this.request("GET", "/sign/v1/cadence/templates")).templates;
  }

  async address(): Promise<string> {
    const { account } = await this.request("GET", "/account/v1/me");
    return plain(account.addresses.find((each: { chainType: string }) => each.chainType === "cadence").address);
  }

  async #chain(path: string, init?: RequestInit) {
    const { accessNode } = await this.network();
    const answer = await fetch(`${accessNode}/v1${path}`, init);
    return JSON.parse(await answer.text());
  }

  async keys(): Promise<AccountKey[]> {
    return (await this.#chain(`/accounts/0x${await this.address()}?expand=keys`)).keys;
  }

  async serverKey(): Promise<AccountKey> {
    const isIt = ({ revoked, weight, hashing_algorithm: hash }: AccountKey) =>
      !revoked && Number(weight) === 999 && hash === "SHA3_256";
    return (await this.keys()).find(isIt)!;
  }

  /** The message of a template, made of what the API serves; arguments by the names of the parameters. */
  async build(template: PlainTemplate, values: Record<string, string | boolean>): Promise<string> {
    const [network, address, server, [block]] = await Promise.all([
      this.network(),
      this.address(),
      this.serverKey(),
      this.#chain("/blocks?height=sealed"),
    ]);
    const message = encode(
      payloadItem({
        script: template.script,
        arguments: template.parameters.map(({ name, type, value }) =>
          JSON.stringify({ type, value: value === "" ? values[name] : value }),
        ),
        referenceBlock: block.header.id,
        gasLimit: template.gasLimit,
        proposer: { address, keyId: Number(server.index), sequenceNumber: Number(server.sequence_number) },
        payer: plain(network.paymaster),
        authorizers: [address],
      }),
    );
    return Buffer.concat([TAG, message]).toString("hex");
  }

  /** The message of a template, made by the service. */
  async prepared(template: string, more: object = {}): Promise<string> {
    const { chainName } = await this.network();
    return (await this.request("POST", "/account/v1/messages", { template, chainName, ...more })).message;
  }

  /** Signs a message, has it co-signed and paid for, submits it and waits for its seal. */
  async send(message: string): Promise<{ id: string; error: string }> {
    const payload = decodePayload(message);
    const { address } = payload.proposer;
    const device = (await this.keys()).find((key) => plain(key.public_key) === this.#options.publicKey)!;
    const raw = Buffer.from(await this.#options.sign(Buffer.from(message, "hex"))).toString("hex");
    const payloadSignatures = [
      { addr: address, keyId: Number(device.index), signature: raw },
      await this.#cosign("transaction", message),
    ];
    // Signers by their place in proposer, payer, authorizers: the account proposes. Of one signer the lower
    // key comes first.
    payloadSignatures.sort((a, b) => a.keyId - b.keyId);
    const signed: Rlp = payloadSignatures.map(({ keyId, signature }) => [
      bigEndian(0),
      bigEndian(keyId),
      Buffer.from(signature, "hex"),
    ]);
    const envelope = Buffer.concat([TAG, encode([payloadItem(payload), signed])]).toString("hex");
    const paid = await this.#cosign("paymaster", envelope);
    const base64 = (text: string, encoding: BufferEncoding = "utf8") => Buffer.from(text, encoding).toString("base64");
    const onWire = ({ addr, keyId, signature }: { addr: string; keyId: number; signature: string }) => ({
      address: `0x${plain(addr)}`,
      key_index: `${keyId}`,
      signature: base64(signature, "hex"),
    });
    const body = JSON.stringify({
      script: base64(payload.script),
      arguments: payload.arguments.map((each) => base64(each)),
      reference_block_id: payload.referenceBlock,
      gas_limit: `${payload.gasLimit}`,
      payer: `0x${payload.payer}`,
      proposal_key: {
        address: `0x${address}`,
        key_index: `${payload.proposer.keyId}`,
        sequence_number: `${payload.proposer.sequenceNumber}`,
      },
      authorizers: payload.authorizers.map((each) => `0x${each}`),
      payload_signatures: payloadSignatures.map(onWire),
      envelope_signatures: [onWire(paid)],
    });
    const headers = { "content-type": "application/json" };
    const submitted = await this.#chain("/transactions", { method: "POST", headers, body });
    const id = String(submitted.id);
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`not submitted: ${JSON.stringify(submitted)}`);
    for (;;) {
      const { status, error_message: error } = await this.#chain(`/transaction_results/${id}`);
      if (status === "Sealed") return { id, error };
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #cosign(operation: "transaction" | "paymaster", message: string) {
    return (await this.request("POST", `/sign/v1/cadence/${operation}`, { message })).signature as {
      addr: string;
      keyId: number;
      signature: string;
    };
  }
}
