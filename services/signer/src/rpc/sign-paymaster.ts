import type { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { signPaymaster } from "../domain/sign-paymaster.ts";
import { toSigned } from "./messages.ts";

/** signer.v1.Signing/SignPaymaster */
export const signPaymasterRpc =
  (command: ReturnType<typeof signPaymaster>): Handler<SigningService["signPaymaster"]> =>
  async ({ message, chainName }, call) =>
    toSigned(await command({ message, chainName, token: requireToken(call), caller: call.caller }));
