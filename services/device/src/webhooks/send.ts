import { type RequestOptions as HttpOptions, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { Clock } from "@countersign/core";
import { Webhook } from "standardwebhooks";
import type { AddressRules } from "./addresses.ts";
import type { WebhookEndpoint } from "./config.ts";
import { createResolve, type Resolved } from "./resolve.ts";

/** The whole attempt: names, connection, TLS, request, answer. */
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 8 * 1024;

/** A message as it is signed: `id` is the same in every attempt. */
export interface Sent {
  readonly id: string;
  readonly body: string;
}

/** How an attempt ended: `text` is for people, and has nothing of the answer but its status. */
export interface Attempt {
  readonly delivered: boolean;
  readonly text: string;
  /** Seconds, where the receiver asked to wait. */
  readonly retryAfterS?: number;
}

interface SenderOptions {
  readonly rules: AddressRules;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** Resolves a name; by default by the system's name servers. */
  resolve?(host: string): Promise<Resolved[]>;
  /** For tests: authorities besides the usual ones. */
  readonly ca?: string | Buffer;
}

const failed = (text: string, retryAfterS?: number): Attempt =>
  retryAfterS === undefined ? { delivered: false, text } : { delivered: false, text, retryAfterS };

/**
 * Returns what sends a signed message (Standard Webhooks) once. The name is resolved once, every address is
 * checked, and the connection goes to a checked one: a name that changes between check and use (DNS
 * rebinding) changes nothing. Redirects are answers like others. Never throws.
 */
export function createSender({ rules, clock, timeoutMs = TIMEOUT_MS, resolve = createResolve(), ca }: SenderOptions) {
  async function addressesOf({ protocol, hostname }: URL): Promise<Resolved[] | string> {
    const host = hostname.replace(/^\[|\]$/g, "");
    const family = isIP(host);
    let found: Resolved[];
    try {
      found = family === 0 ? await resolve(host) : [{ address: host, family }];
    } catch (error) {
      return `the name cannot be resolved: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`;
    }
    if (found.length === 0) return "the name has no address";
    // All of them: which one a connection takes is the name server's choice.
    if (!found.every(({ address }) => rules.isAllowed(address))) return "the address is not allowed";
    if (protocol === "http:" && !found.every(({ address }) => rules.isNamed(address)))
      return "http is for addresses in DEVICE_WEBHOOKS_ALLOWED_NETWORKS only";
    return found;
  }

  return async (endpoint: WebhookEndpoint, { id, body }: Sent): Promise<Attempt> => {
    const signal = AbortSignal.timeout(timeoutMs);
    const tooLate = `no answer within ${timeoutMs / 1000} s`;
    const late = new Promise<string>((done) => {
      signal.addEventListener("abort", () => done(tooLate), { once: true });
    });
    const url = new URL(endpoint.url);
    const addresses = await Promise.race([addressesOf(url), late]);
    if (typeof addresses === "string") return failed(addresses);
    const now = clock.now();
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": "countersign-webhooks",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": endpoint.secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(" "),
    };
    const options: HttpOptions = {
      method: "POST",
      headers,
      signal,
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      lookup: (_host, wanted, callback) => {
        const [first] = addresses;
        if (wanted.all) callback(null, addresses);
        else callback(null, first!.address, first!.family);
      },
    };
    return new Promise<Attempt>((done) => {
      let result: Attempt | undefined;
      const outgoing = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, { ...options, ca }, (answer) => {
        const { statusCode = 0 } = answer;
        const delivered = statusCode >= 200 && statusCode < 300;
        const after = Number(answer.headers["retry-after"]);
        result = delivered
          ? { delivered, text: `status ${statusCode}` }
          : failed(`status ${statusCode}`, Number.isInteger(after) && after > 0 ? after : undefined);
        let bytes = 0;
        // The status decides; the rest is read so that the receiver can end in order.
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES) outgoing.destroy();
        });
        answer.on("error", () => undefined);
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        // After the status nothing changes it.
        result ??= failed(signal.aborted ? tooLate : `no answer: ${error.code ?? "unknown"}`);
      });
      // Always comes; a change of protocol (101) is neither an answer nor an error.
      outgoing.on("close", () => done(result ?? failed("no answer")));
      outgoing.end(body);
    });
  };
}
export type SendWebhook = ReturnType<typeof createSender>;
