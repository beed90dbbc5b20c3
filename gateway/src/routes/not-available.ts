import { AppError } from "@countersign/errors";
import { type Method, type Route, route } from "../http/route.ts";
import type { TokenKind } from "../http/session.ts";

type Row = [method: Method, path: string, operationId: string, summary: string, token: TokenKind, recover?: "recover"];

const ROWS: Row[] = [
  ["post", "/auth/v1/signin/2fa", "requestTwoFactor", "Asks the account's devices to let a new one in", "none"],
  ["post", "/auth/v1/signin/2fa/finish", "finishTwoFactor", "Opens the new device's session", "ephemeral"],
  ["get", "/device/v1/2fa", "listTwoFactor", "The requests that wait for the caller", "user", "recover"],
  ["post", "/device/v1/2fa/reopen", "reopenTwoFactor", "Lets new requests in again", "user"],
  ["get", "/device/v1/2fa/{id}", "getTwoFactor", "One request", "user", "recover"],
  ["put", "/device/v1/2fa/{id}", "redirectTwoFactor", "Asks another device instead", "user", "recover"],
  ["delete", "/device/v1/2fa/{id}", "rejectTwoFactor", "Rejects a request", "user", "recover"],
  ["post", "/device/v1/2fa/{id}/approve", "approveTwoFactor", "Approves a request", "user", "recover"],
  ["post", "/key/v1/recovery", "registerRecoveryKey", "Reports a recovery key", "user"],
  ["delete", "/key/v1/keys/{publicKey}", "reportRevocation", "Reports a revocation on chain", "user"],
  ["post", "/account/v1/parent", "linkParent", "Reads the parent link from the chain", "user"],
  ["post", "/account/v1/freeze", "freezeAccount", "Stops all signing for the account", "user", "recover"],
  ["post", "/account/v1/unfreeze", "unfreezeAccount", "Lets the account sign again", "user", "recover"],
];

/** Operations of the contract that answer NotImplemented so far, after the authentication that they will need. */
export function notAvailableRoutes(): Route[] {
  return ROWS.map(([method, path, operationId, summary, token, recover]) =>
    route({
      method,
      path,
      operationId,
      summary,
      token,
      recover: recover !== undefined,
      errors: ["NotImplemented"],
      handler: async () => {
        throw new AppError("NotImplemented");
      },
    }),
  );
}
