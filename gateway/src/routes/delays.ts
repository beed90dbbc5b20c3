import type {
  CancelDelayRequest,
  CancelDelayResponse,
  Delay,
  ListDelaysRequest,
  ListDelaysResponse,
} from "@countersign/proto/device/v1/delays.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { toTimestamp, uuid } from "../http/validation.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** What of device these routes call. */
export interface DelayClients {
  delays: {
    listDelays: Rpc<ListDelaysRequest, ListDelaysResponse>;
    cancelDelay: Rpc<CancelDelayRequest, CancelDelayResponse>;
  };
}

const delaySchema = z.object({
  id: z.string(),
  operation: z.string(),
  chainName: z.string(),
  startedAt: z.string(),
  availableAt: z.string(),
  cancelledAt: z.string(),
});

const toDelay = ({ id, operation, chainName, startedAt, availableAt, cancelledAt }: Delay) => ({
  id,
  operation,
  chainName,
  startedAt: toTimestamp(startedAt),
  availableAt: toTimestamp(availableAt),
  cancelledAt: toTimestamp(cancelledAt),
});

/** Changes that are signed only after a delay. */
export function delayRoutes({ delays }: DelayClients): Route[] {
  return [
    route({
      method: "get",
      path: "/account/v1/delays",
      operationId: "listDelays",
      summary: "Changes that wait for their delay, newest first",
      token: "user",
      recover: true,
      response: z.object({ delays: z.array(delaySchema) }),
      handler: async (_input, call) => {
        const answer = await delays.listDelays({}, { call, deadlineMs: DEADLINES.unary });
        return { delays: answer.delays.map(toDelay) };
      },
    }),
    route({
      method: "delete",
      path: "/account/v1/delays/{id}",
      operationId: "cancelDelay",
      summary: "Cancels a change that waits; only for devices that were there before it was asked for",
      token: "user",
      request: { params: z.object({ id: uuid() }) },
      errors: ["DelayNotFound", "DeviceTooYoung", "DelayContested"],
      handler: async ({ params }, call) => {
        await delays.cancelDelay(params, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
  ];
}
