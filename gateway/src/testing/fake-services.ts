import { once } from "node:events";
import type { Services } from "../clients.ts";
import type { HttpCall } from "../http/call.ts";
import { ANSWERS, device, when } from "./samples.ts";

/** A call that a fake service saw. */
export interface SeenCall {
  rpc: string;
  request: Record<string, unknown>;
  options: { onBehalfOf: HttpCall; deadlineMs: number; clientIp: string | undefined };
}

/** Services that answer with samples and remember what they were asked. `fail` makes the next call reject. */
export function createFakeServices() {
  const calls: SeenCall[] = [];
  let failure: Error | undefined;
  /** The events that a stream brings, and whether it stays open then. */
  const streamed = {
    open: false,
    events: [{ id: "42", type: "device.updated", dataJson: `{"deviceId":"${device.id}"}`, occurredAt: when }],
  };
  const rpc =
    <Response>(name: string, answer: Response) =>
    async (request: unknown, options: unknown): Promise<Response> => {
      calls.push({ rpc: name, request: request as SeenCall["request"], options: options as SeenCall["options"] });
      const error = failure;
      failure = undefined;
      if (error) throw error;
      return answer;
    };
  /** The same services, with every answer of the samples behind a method that notes its call. */
  const answering = Object.entries(ANSWERS).map(([service, answers]) => [
    service,
    Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, rpc(name, answer)])),
  ]);
  const accountEvents: Partial<Services["accountEvents"]> = {
    watch: async function* (request, options) {
      await rpc("watch", undefined)(request, options);
      yield { id: "41", type: "", dataJson: "", occurredAt: undefined };
      yield* streamed.events;
      const { onBehalfOf: call } = options as SeenCall["options"];
      // Without listeners, `once` on a signal that has aborted would never resolve.
      if (streamed.open && !call.signal.aborted) await once(call.signal, "abort");
    },
  };
  return {
    /** Without the methods that the routes do not call. */
    clients: { ...Object.fromEntries(answering), accountEvents } as Services,
    calls,
    streamed,
    fail(error: Error) {
      failure = error;
    },
  };
}
