import type { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { signTransaction } from "../domain/sign-transaction.ts";
import { toSigned } from "./messages.ts";

/** signer.v1.Signing/SignTransaction */
export const signTransactionRpc =
  (command: ReturnType<typeof signTransaction>): Handler<SigningService["signTransaction"]> =>
  async ({ message, chainName }, call) =>
    toSigned(await command({ message, chainName, token: requireToken(call), caller: call.caller }));
