import type { KeyObject } from "node:crypto";
import { TokenStateEntry, WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";

export const accountId = "019a0000-0000-7000-8000-000000000001";
export const sessionId = "019a0000-0000-7000-8000-000000000002";
export const sessionKey = { alg: "ES256", key: "ab".repeat(64) };
export const accountKey = { alg: "ES256K", key: "cd".repeat(64) };

/** Returns a complete message of auth's stream of token states. */
export const watchMessage = (message: Partial<WatchResponse> = {}): WatchResponse => ({
  ...WatchResponse.create({ cursor: "c", complete: true }),
  ...message,
});

export const keyMessage = (kid: string, key: KeyObject) => ({
  kid,
  jwkJson: JSON.stringify(key.export({ format: "jwk" })),
});

export const entry = (value: Partial<TokenStateEntry>): TokenStateEntry => ({
  ...TokenStateEntry.create({ active: true }),
  ...value,
});
