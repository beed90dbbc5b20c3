import { resource } from "@countersign/http-api/formats.ts";
import { TimeLock } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import type { Services } from "../clients.ts";
import { toTimestamp, uuid } from "../http/fields.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { repeatable } from "./rpc.ts";

/** Changes that are signed only once their time lock has ended. */
export const timeLockRoutes = ({ timeLocks }: Services): UntaggedRoute[] => [
  route({
    method: "get",
    path: "/account/v1/time-locks",
    operationId: "listTimeLocks",
    summary: "Time locks of changes of keys, newest first",
    description: "Time locks that were cancelled are listed too.",
    token: "user",
    recover: true,
    response: resource("TimeLocksResponse", "Time locks of changes of keys.", {
      timeLocks: z.array(TimeLock).meta({ description: "Newest first." }),
    }),
    handler: async (_input, call) => {
      const answer = await timeLocks.listTimeLocks({}, repeatable(call));
      return {
        timeLocks: answer.timeLocks.map(({ id, operation, chainName, startedAt, availableAt, cancelledAt }) => ({
          id,
          operation,
          chainName,
          startedAt: toTimestamp(startedAt),
          availableAt: toTimestamp(availableAt),
          cancelledAt: toTimestamp(cancelledAt),
        })),
      };
    },
  }),
  route({
    method: "delete",
    path: "/account/v1/time-locks/{id}",
    operationId: "cancelTimeLock",
    summary: "Cancels a time lock; only for devices that were on the account before it started",
    description: "The change is refused from then on, until somebody asks for it again.",
    token: "user",
    request: { params: z.object({ id: uuid("The time lock's id.") }) },
    errors: ["TimeLockNotFound", "DeviceTooYoung", "TimeLockContested"],
    handler: ({ params }, call) => timeLocks.cancelTimeLock(params, repeatable(call)),
  }),
];
