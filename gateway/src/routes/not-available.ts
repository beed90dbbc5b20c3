import { AppError } from "@countersign/errors";
import { type Method, type Route, route } from "../http/route.ts";
import type { TokenKind } from "../http/session.ts";

type Row = [method: Method, path: string, operationId: string, summary: string, token: TokenKind, recover?: "recover"];

const ROWS: Row[] = [["post", "/account/v1/parent", "linkParent", "Reads the parent link from the chain", "user"]];

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
