import { decodeUtf8 } from "../utf8.ts";
import { refuse } from "./passkey-error.ts";

/** The statement of the browser or system in an assertion (WebAuthn level 3, section 5.8.1). */
export interface ClientData {
  /** `webauthn.get` for an assertion. */
  readonly type: string;
  /** base64url of what was to be signed. */
  readonly challenge: string;
  /** The page or app that used the passkey. */
  readonly origin: string;
  /** Whether a page of another origin embeds the one that asked. */
  readonly crossOrigin: boolean;
}

/** Browsers write some 200 bytes; longer data is rejected unread. */
const MAX_CLIENT_DATA_BYTES = 2048;

/**
 * Returns the names of a JSON object's own members, each as often as it is written: JSON.parse keeps the last
 * of two. `json` must be valid already.
 */
function memberNames(json: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const { 0: token } of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/gs)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && token.endsWith(":")) names.push(JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)));
  }
  return names;
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  if (bytes.length > MAX_CLIENT_DATA_BYTES) refuse("clientDataJSON is too long");
  // One object and nothing around it, no byte order mark and no white space either.
  if (bytes[0] !== 0x7b || bytes[bytes.length - 1] !== 0x7d) refuse("clientDataJSON is no JSON object");
  let json: string;
  let value: Record<string, unknown>;
  try {
    json = decodeUtf8(bytes);
    value = JSON.parse(json);
  } catch {
    return refuse("clientDataJSON is no JSON");
  }
  // Go's decoder, which reads this on chain, takes names in any case: both must read the same members.
  const names = memberNames(json).map((name) => name.toLowerCase());
  if (new Set(names).size !== names.length) refuse("clientDataJSON has a member twice");
  return value;
}

/**
 * Parses clientDataJSON. Throws PasskeyError.
 * @example parseClientData(assertion.clientDataJSON).type; // => "webauthn.get"
 */
export function parseClientData(bytes: Uint8Array): ClientData {
  const { type, challenge, origin, crossOrigin = false, topOrigin } = parseObject(bytes);
  if (typeof type !== "string" || typeof challenge !== "string" || typeof origin !== "string") {
    return refuse("clientDataJSON lacks type, challenge or origin");
  }
  if (typeof crossOrigin !== "boolean") return refuse("crossOrigin is no boolean");
  // Browsers name the embedding page only where there is one.
  return { type, challenge, origin, crossOrigin: crossOrigin || topOrigin !== undefined };
}
