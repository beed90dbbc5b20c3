import type { ListPasskeysRequest, ListPasskeysResponse } from "@countersign/proto/key/v1/keys.ts";
import { z } from "zod";
import type { listPasskeys } from "../domain/list-passkeys.ts";
import { toSignInKey } from "./find-sign-in-key.ts";
import { chainName, parseRequest, uuid } from "./messages.ts";

const shape = z.object({ accountId: uuid, chainName });

/** key.v1.Keys/ListPasskeys */
export const listPasskeysRpc =
  (list: ReturnType<typeof listPasskeys>) =>
  async (request: ListPasskeysRequest): Promise<ListPasskeysResponse> => ({
    passkeys: (await list(parseRequest(shape, request))).map(toSignInKey),
  });
