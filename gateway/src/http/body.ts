import { AppError } from "@countersign/core";
import type { Request } from "express";

/** Bytes. */
export const MAX_BODY_BYTES = 64 * 1024;
/** The deepest nesting of a body; the deepest documented one has four levels. */
export const MAX_JSON_DEPTH = 16;

/** Rejects a declared length over the limit before the body is read, also on routes that take no body. */
export function requireBodyWithinLimit({ headers }: Request): void {
  if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw new AppError("PayloadTooLarge");
}

/**
 * Reads the JSON body of a request, without members that are null.
 * Errors: UnsupportedMediaType, PayloadTooLarge, InvalidRequest (empty, not UTF-8, not JSON, nested too
 * deeply).
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  requireJson(request);
  requireNoCoding(request);
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw invalidBody("A JSON body is required");
  return parseJson(bytes);
}

/** Errors: PayloadTooLarge; InvalidRequest where the client goes away before the end. */
function readBytes(request: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BODY_BYTES) chunks.push(chunk);
      // The rest is discarded: a client that sends first and reads then must get the answer.
      else reject(new AppError("PayloadTooLarge"));
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", () => reject(invalidBody("The body has no end")));
  });
}

function requireJson(request: Request): void {
  const header = request.headers["content-type"];
  const hasBody =
    request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  if (header === "application/json" || (header === undefined && !hasBody)) return;
  if (header === undefined) throw unsupported("Content-Type is missing: send application/json");
  const [type = "", ...parameters] = header.split(";").map((part) => part.trim().toLowerCase());
  if (type !== "application/json") {
    throw unsupported(`The Content-Type ${quoted(type)} is not supported: send application/json`);
  }
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice("charset=".length);
  if (charset !== undefined && !["utf-8", '"utf-8"', "utf8"].includes(charset)) {
    throw unsupported(`The charset ${quoted(charset)} is not supported: send UTF-8`);
  }
}

function requireNoCoding(request: Request): void {
  const coding = request.headers["content-encoding"]?.trim().toLowerCase();
  if (coding === undefined || coding === "" || coding === "identity") return;
  throw unsupported(`The Content-Encoding ${quoted(coding)} is not supported: send the body uncompressed`);
}

/** Returns a header's value for a detail: at most 64 characters, and only those of a name. */
const quoted = (value: string): string => `\`${value.replaceAll(/[^\w.+/-]/g, "").slice(0, 64)}\``;

const unsupported = (detail: string): AppError => new AppError("UnsupportedMediaType", { detail });

const OPENING_BRACKETS = /[{[]/g;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Parses JSON of limited depth from UTF-8, without members that are null. Errors: InvalidRequest. */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw invalidBody("The body is not valid UTF-8");
  }
  const brackets = text.match(OPENING_BRACKETS)?.length ?? 0;
  if (brackets > MAX_JSON_DEPTH && nestingDepth(text) > MAX_JSON_DEPTH)
    throw invalidBody("The body is nested too deeply");
  try {
    // A reviver is called for every member, and few bodies need it.
    return JSON.parse(text, text.includes("null") ? withoutNull : undefined);
  } catch {
    throw invalidBody("The body is not JSON");
  }
}

/** Removes members that are null (a reviver), so that no schema has to allow it. Elements of arrays stay. */
function withoutNull(this: unknown, _key: string, value: unknown): unknown {
  return value === null && !Array.isArray(this) ? undefined : value;
}

/** Returns the deepest nesting of brackets in a JSON text, without those in strings. */
export function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let insideString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (insideString) {
      if (character === "\\") index++;
      else if (character === '"') insideString = false;
    } else if (character === '"') insideString = true;
    else if (character === "{" || character === "[") deepest = Math.max(deepest, ++depth);
    else if (character === "}" || character === "]") depth--;
  }
  return deepest;
}

const invalidBody = (detail: string): AppError => new AppError("InvalidRequest", { detail });
