import type { Clock } from "@countersign/core";
import { codeOf, type PushAdapter, PushDelayed, type PushMessage, PushRefused, retryAfterMs } from "./push-adapter.ts";

interface FcmOptions {
  projectId: string;
  /** A fresh OAuth access token for Firebase messaging. */
  accessToken(): Promise<string>;
  clock: Clock;
  /** Default https://fcm.googleapis.com. */
  baseUrl?: string;
  timeoutMs?: number;
}

interface FcmError {
  error?: {
    status?: string;
    details?: { "@type"?: string; errorCode?: string; fieldViolations?: { field?: string }[] }[];
  };
}

/**
 * Returns whether an error means that the token is no longer valid:
 * https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode.
 */
function isTokenRejected(status: number, { error }: FcmError): boolean {
  const details = error?.details ?? [];
  const codes = details.map(({ errorCode }) => errorCode);
  // A bare 404 may as well be a wrong project: by that no token is thrown away.
  if (codes.includes("UNREGISTERED") || codes.includes("SENDER_ID_MISMATCH")) return true;
  const fields = details.flatMap(({ fieldViolations }) => fieldViolations ?? []).map(({ field }) => field);
  return status === 400 && fields.includes("message.token");
}

/**
 * Sends to Firebase Cloud Messaging, HTTP v1. Data messages only: the app makes the text, the payload has
 * none.
 */
export function createFcmAdapter(options: FcmOptions): PushAdapter {
  const { clock, accessToken, timeoutMs = 5_000 } = options;
  const url = `${options.baseUrl ?? "https://fcm.googleapis.com"}/v1/projects/${encodeURIComponent(options.projectId)}/messages:send`;

  const post = async (message: PushMessage): Promise<Response> => {
    const seconds = Math.max(0, Math.round((message.expiresAt.getTime() - clock.now().getTime()) / 1_000));
    try {
      return await fetch(url, {
        method: "POST",
        headers: { authorization: `Bearer ${await accessToken()}`, "content-type": "application/json" },
        body: JSON.stringify({
          message: {
            token: message.pushToken,
            data: { kind: message.kind, twoFactorId: message.twoFactorId },
            android: {
              collapse_key: message.collapseKey,
              priority: message.visible ? "HIGH" : "NORMAL",
              ttl: `${seconds}s`,
            },
          },
        }),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
    } catch (cause) {
      throw new PushDelayed("FCM did not answer", { cause });
    }
  };

  return {
    async send(message) {
      const response = await post(message);
      const body = (await response.json().catch(() => ({}))) as FcmError;
      if (response.ok) return "sent";
      if (isTokenRejected(response.status, body)) return "rejected";
      const text = `FCM answered ${response.status}, ${codeOf(body.error?.status)}`;
      // 401 and 403 are about our own credentials: an operator puts that right.
      if ([401, 403, 429].includes(response.status) || response.status >= 500) {
        // QUOTA_EXCEEDED is about the message's target: the other devices' pushes do not wait.
        const isOfTarget = body.error?.details?.some(({ errorCode }) => errorCode === "QUOTA_EXCEEDED");
        const pause = isOfTarget ? undefined : response.headers.get("retry-after");
        throw new PushDelayed(text, { retryAfterMs: retryAfterMs(pause, clock.now()) });
      }
      throw new PushRefused(text);
    },
    close: async () => undefined,
  };
}
