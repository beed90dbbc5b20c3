import { type ActionLog, administrator } from "@countersign/admin-actions";
import type { AdminService } from "@countersign/proto/device/v1/admin.ts";
import { type CallContext, type Handlers, parseRequest, uuidField } from "@countersign/rpc";
import { z } from "zod";
import { cancelTwoFactor, type EndTwoFactorOptions, resumeTwoFactor } from "../domain/admin/end-two-factor.ts";

const ofTwoFactor = z.object({ accountId: uuidField, twoFactorId: uuidField });

type Request = z.input<typeof ofTwoFactor> & { reason: string };

/** Handles device.v1.Admin. */
export function deviceAdminHandlers(options: EndTwoFactorOptions & { actions: ActionLog }): Handlers<AdminService> {
  async function act(command: string, work: ReturnType<typeof cancelTwoFactor>, request: Request, call: CallContext) {
    const by = administrator(call, command, request);
    const of = parseRequest(ofTwoFactor, request);
    const { accountId, twoFactorId } = of;
    const action = { command, accountId, arguments: { twoFactorId } };
    const { actionId, request: after } = await options.actions.act(by, action, () => work(by, of));
    return { actionId, status: after.status };
  }
  const resume = resumeTwoFactor(options);
  const cancel = cancelTwoFactor(options);
  return {
    resumeTwoFactor: (request, call) => act("key-additions resume", resume, request, call),
    cancelTwoFactor: (request, call) => act("key-additions cancel", cancel, request, call),
  };
}
