import type { DescribeAccessRequest, DescribeAccessResponse } from "@countersign/proto/key/v1/keys.ts";
import { type CallContext, publicKeyToProto } from "@countersign/rpc";
import { z } from "zod";
import type { describeAccess } from "../domain/describe-access.ts";
import { parseRequest, uuid } from "./messages.ts";

const shape = z.object({ accountId: uuid });

/** key.v1.Keys/DescribeAccess */
export const describeAccessRpc =
  (describe: ReturnType<typeof describeAccess>) =>
  async (request: DescribeAccessRequest, { requestId }: CallContext): Promise<DescribeAccessResponse> => {
    const { accountId } = parseRequest(shape, request);
    const chains = await describe({ accountId, requestId });
    return { chains: chains.map((each) => ({ ...each, deviceKeys: each.deviceKeys.map(publicKeyToProto) })) };
  };
