import { AppError } from "./app-error.ts";

/** The uses of an access token: everything, an approval's signatures only, or recovery only. */
export type TokenScope = "full" | "sign" | "recover";

const NAMES: Record<TokenScope, string> = {
  full: "the access token of a full session",
  sign: "an ephemeral token",
  recover: "the access token of a recovery session",
};

/**
 * Returns InsufficientScope; its detail names the kinds of token that the operation takes and the one sent.
 */
export function insufficientScope(allowed: readonly TokenScope[], sent: TokenScope): AppError {
  const kinds = allowed.map((scope) => NAMES[scope]).join(" or ");
  return new AppError("InsufficientScope", { detail: `This operation takes ${kinds}; ${NAMES[sent]} was sent` });
}
