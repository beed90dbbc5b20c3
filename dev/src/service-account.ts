import { createECDH, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { encode } from "@onflow/rlp";
import { serviceAddress } from "./emulator.ts";
import { Failure } from "./fail.ts";

/** An argument in JSON-Cadence. */
export interface CadenceValue {
  type: string;
  value: string;
}

export interface ChainEvent {
  type: string;
  /** Fields by name; values as JSON-Cadence has them. */
  fields: Record<string, unknown>;
}

const tag = Buffer.concat([Buffer.from("FLOW-V0.0-transaction"), Buffer.alloc(32)], 32);
const computeLimit = 9999;
const base64 = (text: string | Buffer) => Buffer.from(text as string).toString("base64");

function privateKey(scalar: string): KeyObject {
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(scalar, "hex");
  const point = ecdh.getPublicKey();
  const part = (bytes: Buffer) => bytes.toString("base64url");
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: part(Buffer.from(scalar, "hex")),
    x: part(point.subarray(1, 33)),
    y: part(point.subarray(33)),
  };
  return createPrivateKey({ format: "jwk", key: jwk });
}

async function call<T>(url: string, body?: unknown): Promise<T> {
  const response = await fetch(url, {
    ...(body ? { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } } : {}),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Failure(`the Flow emulator refused ${url}: ${response.status} ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

interface TransactionResult {
  status: string;
  error_message: string;
  events: { type: string; payload: string }[];
}

interface CadenceEvent {
  value: { fields: { name: string; value: { value: unknown } }[] };
}

/** The emulator's service account as proposer, payer and authorizer in one: its envelope signature is all it needs. */
export class ServiceAccount {
  readonly #rest: string;
  readonly #key: KeyObject;

  constructor(accessNode: string, scalar: string) {
    this.#rest = `${accessNode}/v1`;
    this.#key = privateKey(scalar);
  }

  /** Sends a transaction and waits for its seal. Gives its events; a Failure when the chain refuses it. */
  async run(script: string, args: CadenceValue[]): Promise<ChainEvent[]> {
    const [[block], key] = await Promise.all([
      call<[{ header: { id: string } }]>(`${this.#rest}/blocks?height=sealed`),
      call<{ sequence_number: string }>(`${this.#rest}/accounts/${serviceAddress}/keys/0`),
    ]);
    const texts = args.map((arg) => JSON.stringify(arg));
    const address = Buffer.from(serviceAddress, "hex");
    const payload = [
      Buffer.from(script),
      texts.map((text) => Buffer.from(text)),
      Buffer.from(block.header.id, "hex"),
      computeLimit,
      address,
      0,
      Number(key.sequence_number),
      address,
      [address],
    ];
    const message = Buffer.concat([tag, encode([payload, []])]);
    const signature = sign("sha3-256", message, { key: this.#key, dsaEncoding: "ieee-p1363" });
    const { id } = await call<{ id: string }>(`${this.#rest}/transactions`, {
      script: base64(script),
      arguments: texts.map(base64),
      reference_block_id: block.header.id,
      gas_limit: String(computeLimit),
      payer: serviceAddress,
      proposal_key: { address: serviceAddress, key_index: "0", sequence_number: key.sequence_number },
      authorizers: [serviceAddress],
      payload_signatures: [],
      envelope_signatures: [{ address: serviceAddress, key_index: "0", signature: base64(signature) }],
    });
    return this.#sealed(id);
  }

  async #sealed(id: string): Promise<ChainEvent[]> {
    for (;;) {
      const result = await call<TransactionResult>(`${this.#rest}/transaction_results/${id}`);
      if (result.error_message) throw new Failure(`a transaction of the set-up failed: ${result.error_message}`);
      if (result.status === "Sealed") return (result.events ?? []).map(decodeEvent);
      await sleep(30);
    }
  }
}

function decodeEvent({ type, payload }: { type: string; payload: string }): ChainEvent {
  const { value } = JSON.parse(Buffer.from(payload, "base64").toString()) as CadenceEvent;
  return { type, fields: Object.fromEntries(value.fields.map((field) => [field.name, field.value.value])) };
}

interface AccountAnswer {
  keys?: { public_key: string; revoked: boolean }[];
}

/** How many usable keys of that public key an account has; 0 when there is no such account. */
export async function countKeys(accessNode: string, address: string, publicKey: string): Promise<number> {
  const response = await fetch(`${accessNode}/v1/accounts/${address}?expand=keys`);
  const { keys = [] } = response.ok ? ((await response.json()) as AccountAnswer) : {};
  return keys.filter((key) => !key.revoked && key.public_key.replace(/^0x/, "") === publicKey).length;
}
