// The shapes of the Access API's answers, checked by hand: the package must run in a browser without a schema
// library.

export interface WireEvent {
  type: string;
  transaction_id: string;
  event_index: string;
  payload: string;
}
export interface WireKey {
  index: string;
  public_key: string;
  signing_algorithm: string;
  hashing_algorithm: string;
  weight: string;
  sequence_number: string;
  revoked: boolean;
}
interface WireBlock {
  header: { id: string; height: string; timestamp: string };
}
interface WireResult {
  status: string;
  status_code: number;
  error_message: string;
  block_id: string;
  events: WireEvent[];
}

export interface WireTransaction {
  script: string;
  arguments: string[];
  payer: string;
  proposal_key: { address: string; key_index: string; sequence_number: string };
  authorizers: string[];
}

type Fields = Record<string, unknown>;

function fail(what: string): never {
  throw new TypeError(`${what} is missing or of another type`);
}

const object = (value: unknown, what: string): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : fail(what);
const array = (value: unknown, what: string): unknown[] => (Array.isArray(value) ? value : fail(what));
const string = (value: unknown, what: string): string => (typeof value === "string" ? value : fail(what));
const digits = (value: unknown, what: string): string =>
  /^\d+$/.test(string(value, what)) ? (value as string) : fail(what);
const id = (value: unknown, what: string): string =>
  /^[0-9a-f]{64}$/.test(string(value, what)) ? (value as string) : fail(what);

export const text = (body: unknown): string => string(body, "the answer");

export function blocks(body: unknown): [WireBlock] {
  const header = object(object(array(body, "blocks")[0], "block").header, "header");
  const timestamp = string(header.timestamp, "timestamp");
  if (Number.isNaN(Date.parse(timestamp))) fail("timestamp");
  return [{ header: { id: id(header.id, "id"), height: digits(header.height, "height"), timestamp } }];
}

export function key(body: unknown): WireKey {
  const fields = object(body, "key");
  return {
    index: digits(fields.index, "index"),
    public_key: string(fields.public_key, "public_key"),
    signing_algorithm: string(fields.signing_algorithm, "signing_algorithm"),
    hashing_algorithm: string(fields.hashing_algorithm, "hashing_algorithm"),
    weight: digits(fields.weight, "weight"),
    sequence_number: digits(fields.sequence_number, "sequence_number"),
    revoked: fields.revoked === true,
  };
}

export const account = (body: unknown): { keys: WireKey[] } => ({
  keys: array(object(body, "account").keys ?? [], "keys").map(key),
});

export const submitted = (body: unknown): string => id(object(body, "transaction").id, "id");

function event(value: unknown): WireEvent {
  const fields = object(value, "event");
  return {
    type: string(fields.type, "type"),
    transaction_id: string(fields.transaction_id, "transaction_id"),
    event_index: digits(fields.event_index, "event_index"),
    payload: string(fields.payload, "payload"),
  };
}

export function result(body: unknown): WireResult {
  const fields = object(body, "result");
  return {
    status: string(fields.status ?? "", "status"),
    status_code: typeof fields.status_code === "number" ? fields.status_code : fail("status_code"),
    error_message: string(fields.error_message ?? "", "error_message"),
    block_id: string(fields.block_id ?? "", "block_id"),
    events: array(fields.events ?? [], "events").map(event),
  };
}

const address = (value: unknown, what: string): string => {
  const hex = string(value, what).replace(/^0x/, "");
  return /^[0-9a-f]{16}$/.test(hex) ? hex : fail(what);
};

export function transaction(body: unknown): WireTransaction {
  const fields = object(body, "transaction");
  const proposal = object(fields.proposal_key, "proposal_key");
  return {
    script: string(fields.script, "script"),
    arguments: array(fields.arguments ?? [], "arguments").map((each) => string(each, "argument")),
    authorizers: array(fields.authorizers ?? [], "authorizers").map((each) => address(each, "authorizer")),
    payer: address(fields.payer, "payer"),
    proposal_key: {
      address: address(proposal.address, "proposal_key.address"),
      key_index: digits(proposal.key_index, "key_index"),
      sequence_number: digits(proposal.sequence_number, "sequence_number"),
    },
  };
}

export const eventBlocks = (body: unknown): { height: string; events: WireEvent[] }[] =>
  array(body, "blocks").map((each) => {
    const block = object(each, "block");
    const events = array(block.events ?? [], "events").map(event);
    return { height: digits(block.block_height, "block_height"), events };
  });
