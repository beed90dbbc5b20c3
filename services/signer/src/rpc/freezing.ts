import { bytesToHex } from "@countersign/keys";
import type { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import type { Handlers } from "@countersign/rpc";
import type { Commands } from "../domain/commands.ts";
import { requireAccountIds, requireLength, signedToProto } from "./conversions.ts";

/** Handles signer.v1.Freezing. */
export const freezingHandlers = (commands: Commands): Handlers<FreezingService> => ({
  async signVoid({ accountId, chainName, referenceBlockId: blockId, sequenceNumber }, { caller }) {
    requireAccountIds([accountId]);
    requireLength(blockId, 32, "referenceBlockId");
    const referenceBlockId = bytesToHex(blockId);
    const signed = await commands.signVoid({ accountId, chainName, referenceBlockId, sequenceNumber, caller });
    if (!signed) return { payload: undefined, envelope: undefined };
    return { payload: signedToProto(signed.payload).signature, envelope: signedToProto(signed.envelope).signature };
  },
});
