import { type Administrator, AppError } from "@countersign/core";
import { type CallContext, parseRequest, textField, uuidField } from "@countersign/rpc";
import { z } from "zod";

const reasonField = textField(500)
  .trim()
  .refine((reason) => reason.length >= 10, "must say why, in 10 to 500 characters")
  // An auditor reads it on a terminal, in the statement about an archive.
  .regex(/^\P{C}*$/u, "has characters that cannot be seen")
  .refine((reason) => !/\S@\S/.test(reason), "has an e-mail address, which would stay for ever: name a ticket");

/** An account's id; empty where a command may be about no account. */
export const accountField = z.union([z.literal(""), uuidField]);

const command = z.object({ reason: reasonField, accountId: accountField.optional() });

/**
 * Returns who asks and why. Writes a line to the log first, which leaves the service: the record in the
 * database could be removed by somebody who owns the database.
 * Errors: CallerNotAllowed without a person; InvalidRequest without a reason.
 */
export function administrator(
  call: Pick<CallContext, "person" | "logger">,
  name: string,
  request: { readonly reason: string; readonly accountId?: string },
): Administrator {
  const { person } = call;
  if (person === undefined) throw new AppError("CallerNotAllowed");
  const { reason, accountId } = parseRequest(command, request);
  const about = accountId ? { accountId } : {};
  call.logger.info({ event: "admin-action", person, command: name, why: reason, ...about }, "administrator's command");
  return { person, reason };
}
