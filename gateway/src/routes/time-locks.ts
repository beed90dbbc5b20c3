import type {
  CancelTimeLockRequest,
  CancelTimeLockResponse,
  ListTimeLocksRequest,
  ListTimeLocksResponse,
  TimeLock,
} from "@countersign/proto/device/v1/time_locks.ts";
import { z } from "zod";
import { type Route, route } from "../http/route.ts";
import { toTimestamp, uuid } from "../http/validation.ts";
import { DEADLINES, type Rpc } from "./rpc.ts";

/** The device service's RPCs that these routes call. */
export interface TimeLockClients {
  timeLocks: {
    listTimeLocks: Rpc<ListTimeLocksRequest, ListTimeLocksResponse>;
    cancelTimeLock: Rpc<CancelTimeLockRequest, CancelTimeLockResponse>;
  };
}

const timeLockSchema = z.object({
  id: z.string(),
  operation: z.string(),
  chainName: z.string(),
  startedAt: z.string(),
  availableAt: z.string(),
  cancelledAt: z.string(),
});

const toTimeLock = ({ id, operation, chainName, startedAt, availableAt, cancelledAt }: TimeLock) => ({
  id,
  operation,
  chainName,
  startedAt: toTimestamp(startedAt),
  availableAt: toTimestamp(availableAt),
  cancelledAt: toTimestamp(cancelledAt),
});

/** Changes that are signed only once their time lock has ended. */
export function timeLockRoutes({ timeLocks }: TimeLockClients): Route[] {
  return [
    route({
      method: "get",
      path: "/account/v1/time-locks",
      operationId: "listTimeLocks",
      summary: "Time locks of changes of keys, newest first",
      token: "user",
      recover: true,
      response: z.object({ timeLocks: z.array(timeLockSchema) }),
      handler: async (_input, call) => {
        const answer = await timeLocks.listTimeLocks({}, { call, deadlineMs: DEADLINES.unary });
        return { timeLocks: answer.timeLocks.map(toTimeLock) };
      },
    }),
    route({
      method: "delete",
      path: "/account/v1/time-locks/{id}",
      operationId: "cancelTimeLock",
      summary: "Cancels a time lock; only for devices that were on the account before it started",
      token: "user",
      request: { params: z.object({ id: uuid() }) },
      errors: ["TimeLockNotFound", "DeviceTooYoung", "TimeLockContested"],
      handler: async ({ params }, call) => {
        await timeLocks.cancelTimeLock(params, { call, deadlineMs: DEADLINES.unary });
        return undefined;
      },
    }),
  ];
}
