import type { ReportRevocationRequest, ReportRevocationResponse } from "@countersign/proto/key/v1/keys.ts";
import { type CallContext, requireToken } from "@countersign/rpc";
import { z } from "zod";
import type { reportRevocation } from "../domain/report-revocation.ts";
import { parseRequest } from "./messages.ts";

const shape = z.object({
  publicKey: z.instanceof(Uint8Array).refine(({ length }) => length === 64 || length === 32, "is not a key"),
  txId: z.string().regex(/^[0-9a-f]{64}$/, "is not 64 hex digits in lower case"),
});

/** key.v1.Keys/ReportRevocation */
export const reportRevocationRpc =
  (report: ReturnType<typeof reportRevocation<CallContext>>) =>
  async (request: ReportRevocationRequest, call: CallContext): Promise<ReportRevocationResponse> => {
    const { publicKey, txId } = parseRequest(shape, request);
    const { accountId } = requireToken(call);
    const { requestId } = call;
    const hex = Buffer.from(publicKey).toString("hex");
    await report({ accountId, publicKey: hex, transactionId: txId, session: call, requestId });
    return {};
  };
