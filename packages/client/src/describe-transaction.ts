import {
  decodeMessage,
  HIDDEN_CHARACTERS,
  readTemplate,
  type TemplateChange,
  TemplateError,
  type TemplateName,
  type TransactionPayload,
} from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";
import type { ClientNetwork } from "./chain-account.ts";

/** One argument of a transaction. */
export interface DescribedArgument {
  /** The script's name of the parameter; "" where it could not be read. */
  name: string;
  /** The Cadence type, such as `UFix64`. */
  type: string;
  /** The value in JSON-Cadence. */
  value: unknown;
}

/**
 * The content of a transaction that a person signs, as data: an app shows it in its own language. All of it
 * is read from the signed bytes, none from a claim about them.
 */
export interface TransactionDescription {
  /** Neither a user message nor an account proof. */
  kind: "transaction";
  /** The template, where the script is exactly one of the service's; else undefined, for a custom script. */
  template: TemplateName | undefined;
  /** The template's change with its typed arguments; undefined for a custom script. */
  change: TemplateChange | undefined;
  /** The Cadence text. */
  script: string;
  /** The arguments in their order. */
  arguments: DescribedArgument[];
  /** The chain, by its configured name. */
  chainName: string;
  /** The accounts whose storage and keys the script may use: `0x` and 16 hex digits. */
  authorizers: string[];
  /** The account whose sequence number it consumes. */
  proposer: string;
  /** The account that pays the fees. */
  payer: string;
  /** `paymaster`: the service pays; `account`: an authorizer pays itself; `other`: somebody else. */
  paidBy: "paymaster" | "account" | "other";
  /** The largest computation that is paid for. */
  gasLimit: bigint;
  /** All of it in plain English. */
  text: string;
}

/** The network that a transaction is described for. */
export type DescribedNetwork = Pick<ClientNetwork, "chainName" | "paymaster" | "hybridCustody">;

const SENTENCES: Readonly<Record<TemplateName, string>> = {
  "add-user-key": "Adds a device's key to your account: it can act for you together with the service.",
  "add-recovery-key": "Adds a recovery key to your account.",
  "replace-recovery-key": "Replaces your account's recovery key by another one.",
  "revoke-recovery-key": "Revokes your account's recovery key.",
  "revoke-user-key": "Revokes a device's key: it can no longer act for you.",
  "rotate-server-key": "Replaces the service's key on your account by a new one.",
  "publish-parent-link": "Offers a link to a parent account, which gives it no rights over yours.",
  "claim-parent-link": "Accepts a child account's link.",
  "remove-parent-link": "Ends the link to a parent account.",
  "set-up-hybrid-custody": "Offers your account to a parent account, which can then use it within a filter.",
  "redeem-hybrid-custody": "Accepts a child account that you can then use within its filter.",
  "remove-hybrid-custody": "Ends a parent account's use of your account.",
  "end-hybrid-custody": "Ends every parent account's use of your account.",
};

/**
 * Describes a transaction: a payload, or the hex of a message that is to be signed.
 * Errors: InvalidMessageError for bytes that are no transaction, TemplateError for a template whose arguments
 * are not the template's: do not sign those.
 * @example
 * const { template, paidBy, text } = describeTransaction(bytesToHex(payloadMessage(transaction)), network);
 */
export function describeTransaction(
  transaction: TransactionPayload | string,
  { chainName, paymaster, hybridCustody }: DescribedNetwork,
): TransactionDescription {
  const payload = typeof transaction === "string" ? decodeMessage(hexToBytes(transaction)) : transaction;
  const change = readTemplate(payload, hybridCustody);
  const names = parameterNames(payload.script);
  const described = payload.arguments.map((argument, index): DescribedArgument => {
    const { type, value } = readArgument(argument);
    // Names of another number of parameters belong to another declaration.
    return { name: names.length === payload.arguments.length ? (names[index] ?? "") : "", type, value };
  });
  const [payer, ...authorizers] = [payload.payer, ...payload.authorizers].map(withPrefix);
  const isOwn = authorizers.includes(payer!);
  const paidBy = isOwn ? "account" : payer === withPrefix(paymaster) ? "paymaster" : "other";
  const description = {
    kind: "transaction",
    template: change?.template,
    change,
    script: payload.script,
    arguments: described,
    chainName,
    authorizers,
    proposer: withPrefix(payload.proposalKey.address),
    payer: payer!,
    paidBy,
    gasLimit: payload.gasLimit,
  } as const;
  return { ...description, text: textOf(description) };
}

const withPrefix = (address: string): string => `0x${address.replace(/^0x/i, "").toLowerCase()}`;

function readArgument(json: string): { type: string; value: unknown } {
  let value: unknown;
  try {
    value = JSON.parse(json);
    // It reads deeper values than can be shown.
    JSON.stringify(value);
  } catch {
    throw new TemplateError("an argument is no JSON, or nests too deep to be shown");
  }
  const isValue = typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
  if (!isValue) throw new TemplateError("an argument is no Cadence value");
  return value as { type: string; value: unknown };
}

/** Comments and texts, which could hold another declaration. Without an end they go to the script's. */
const NO_CODE = /"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** An expression in a text that holds no text, comment or call. */
const SIMPLE_EXPRESSION = /\\\([^()"/]*\)/g;

/** Returns whether this comment has another one inside, or this text an expression that may hold texts. */
const hasNested = (part: string): boolean =>
  part.startsWith("/*")
    ? part.includes("/*", 1)
    : part.startsWith('"') && part.replace(SIMPLE_EXPRESSION, "").includes("\\(");

/** Returns the names of a transaction's parameters, as far as they can be read without a parser. */
function parameterNames(script: string): string[] {
  if (script.match(NO_CODE)?.some(hasNested)) return [];
  const plain = script.replace(NO_CODE, " ");
  // Also behind a letter or a digit: an import's address may end there.
  const declarations = [...plain.matchAll(/transaction\s*\(([^)]*)/g)];
  if (declarations.length !== 1) return [];
  const list = declarations[0]?.[1]?.trim() ?? "";
  // A type such as {String: Int} has colons and commas of its own.
  const parameters = list.replace(/[{[<][^}\]>]*(?:[}\]>]|$)/g, "").split(",");
  return list === "" ? [] : parameters.map((parameter) => parameter.split(":")[0]!.trim().split(/\s+/).pop() ?? "");
}

const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}]`, "gu");

/** Returns JSON with the escapes of these characters: an argument may be somebody else's text. */
const visible = (json: string): string =>
  json.replace(HIDDEN, (hidden) =>
    hidden
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );

function textOf(description: Omit<TransactionDescription, "text">): string {
  const { template, chainName, authorizers, payer, paidBy } = description;
  const does = template ? SENTENCES[template] : "Runs a script of the app, which may do anything its text says.";
  const list = description.arguments.map(({ name, type, value }) =>
    visible(`${name || type}: ${JSON.stringify(value)}`),
  );
  const pays = {
    paymaster: "The service pays the fees",
    account: "Your account pays the fees",
    other: `${payer} pays`,
  };
  return [
    does,
    `Account: ${authorizers.join(", ")} on ${chainName}.`,
    ...(list.length > 0 ? [`Arguments: ${list.join("; ")}.`] : []),
    `${pays[paidBy]}.`,
  ].join(" ");
}
