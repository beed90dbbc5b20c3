import type { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import type { Handler } from "@countersign/rpc";
import type { prepareKeyAddition } from "../domain/prepare-key-addition.ts";
import { targetFrom } from "./key-additions.ts";

/** account.v1.KeyAdditions/PrepareKeyAddition */
export const prepareKeyAdditionRpc =
  (command: ReturnType<typeof prepareKeyAddition>): Handler<KeyAdditionsService["prepareKeyAddition"]> =>
  async (request, call) => ({
    message: Buffer.from(await command(targetFrom(request), request.currentMessage, call.signal)),
  });
