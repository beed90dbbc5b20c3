import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import type { Clock } from "@countersign/core";
import type { ProviderToken } from "./apns-provider-token.ts";
import { codeOf, type PushAdapter, PushDelayed, type PushMessage, PushRefused, retryAfterMs } from "./push-adapter.ts";

interface ApnsOptions {
  token: ProviderToken;
  /** The app's bundle id. */
  topic: string;
  clock: Clock;
  baseUrl: string;
  /** PEM of the CA of the server's certificate, for tests. */
  ca?: Buffer | undefined;
  timeoutMs?: number;
}

interface Answer {
  status: number;
  reason: string;
  retryAfter: string | undefined;
}

/** The form of a device token, which becomes a part of the path. */
export const APNS_TOKEN = /^[0-9a-fA-F]{64,200}$/;

const REJECTED = new Set(["BadDeviceToken", "Unregistered", "DeviceTokenNotForTopic", "ExpiredToken"]);
const MAX_ANSWER = 4_096;

function bodyOf({ kind, twoFactorId, visible }: PushMessage): string {
  // The text is the app's own, by its key.
  const aps = visible ? { alert: { "loc-key": kind }, sound: "default" } : { "content-available": 1 };
  return JSON.stringify({ aps, kind, twoFactorId });
}

/** Sends to Apple's push service over one HTTP/2 connection, opened when needed and again when it went. */
export function createApnsAdapter(options: ApnsOptions): PushAdapter {
  const { token, topic, clock, timeoutMs = 5_000 } = options;
  let session: ClientHttp2Session | undefined;

  const connected = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    const made = connect(options.baseUrl, { ca: options.ca });
    const forget = () => {
      if (session === made) session = undefined;
    };
    // Each request reports its own failure.
    made.on("error", forget).on("goaway", forget).on("close", forget);
    made.unref();
    session = made;
    return made;
  };

  const post = async (message: PushMessage): Promise<Answer> => {
    const headers = {
      ":method": "POST",
      ":path": `/3/device/${message.pushToken.toLowerCase()}`,
      authorization: `bearer ${await token.get()}`,
      "apns-topic": topic,
      "apns-push-type": message.visible ? "alert" : "background",
      "apns-priority": message.visible ? "10" : "5",
      "apns-collapse-id": message.collapseKey,
      "apns-expiration": String(Math.floor(message.expiresAt.getTime() / 1_000)),
      "content-type": "application/json",
    };
    const used = connected();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const request = used.request(headers);
    let answered: IncomingHttpHeaders | undefined;
    let text = "";
    request.setTimeout(timeoutMs, () => {
      // A dead connection answers nothing and emits no error.
      used.destroy();
      reject(new Error("no answer in time"));
    });
    request.setEncoding("utf8");
    request.on("response", (received) => {
      answered = received;
    });
    request.on("data", (chunk: string) => {
      if (text.length < MAX_ANSWER) text += chunk;
    });
    request.on("error", reject);
    request.on("close", () => {
      if (answered === undefined) return reject(new Error("no answer"));
      const retryAfter = answered["retry-after"];
      resolve({ status: Number(answered[":status"]), reason: reasonOf(text), retryAfter });
    });
    request.end(bodyOf(message));
    return promise;
  };

  const attempt = async (message: PushMessage): Promise<Answer> => {
    try {
      return await post(message);
    } catch (cause) {
      throw new PushDelayed("APNs did not answer", { cause });
    }
  };

  return {
    async send(message) {
      if (!APNS_TOKEN.test(message.pushToken)) return "rejected";
      const { status, reason, retryAfter } = await attempt(message);
      if (status === 200) return "sent";
      if (status === 410 || (status === 400 && REJECTED.has(reason))) return "rejected";
      if (reason === "ExpiredProviderToken") token.renew();
      const text = `APNs answered ${status}, ${codeOf(reason)}`;
      // 403 is about our own key: an operator puts that right.
      if (status === 403 || status === 429 || status >= 500) {
        // TooManyRequests is about one device's token: the others' pushes do not wait.
        const pause = reason === "TooManyRequests" ? undefined : retryAfter;
        throw new PushDelayed(text, { retryAfterMs: retryAfterMs(pause, clock.now()) });
      }
      throw new PushRefused(text);
    },
    close: async () => session?.destroy(),
  };
}

function reasonOf(text: string): string {
  try {
    const { reason } = JSON.parse(text) as { reason?: unknown };
    return typeof reason === "string" ? reason : "";
  } catch {
    return "";
  }
}
