import { AppError } from "@countersign/core";
import { bytesToHex } from "@countersign/keys";
import type { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import type { Handler } from "@countersign/rpc";
import type { signVoid } from "../domain/sign-void.ts";
import { requireAccountIds } from "./account-ids.ts";
import { toSigned } from "./messages.ts";

/** signer.v1.Freezing/SignVoid */
export const signVoidRpc =
  (command: ReturnType<typeof signVoid>): Handler<FreezingService["signVoid"]> =>
  async ({ accountId, chainName, referenceBlockId, sequenceNumber }, call) => {
    requireAccountIds([accountId], "/accountId");
    if (referenceBlockId.length !== 32) throw new AppError("InvalidRequest", { detail: "a block id has 32 bytes" });
    const { caller } = call;
    const wanted = { accountId, chainName, referenceBlockId: bytesToHex(referenceBlockId), sequenceNumber, caller };
    const signed = await command(wanted);
    if (!signed) return { payload: undefined, envelope: undefined };
    return { payload: toSigned(signed.payload).signature, envelope: toSigned(signed.envelope).signature };
  };
