import { REASONS, type Reason } from "@countersign/core";
import { z } from "zod";
import { described, openEnum, resource, Timestamp } from "../formats.ts";

export const FieldProblem = resource("FieldProblem", "One member of the request that was refused.", {
  pointer: described("A JSON pointer into the body, or a parameter's name after a slash.", "/userKey/publicKey"),
  detail: described("What is wrong with it.", "Required"),
});

const CODES = Object.keys(REASONS) as [Reason, ...Reason[]];

export const Problem = resource("Problem", "RFC 9457, with the members that this API adds.", {
  type: described("`urn:countersign:error:` and the code.", "urn:countersign:error:InvalidRequest"),
  title: described("The code in words.", REASONS.InvalidRequest.title),
  status: z
    .int32()
    .min(400)
    .max(599)
    .meta({ description: "The HTTP status.", examples: [400] }),
  detail: described("What happened, for a developer.", "Some fields are not valid"),
  instance: described("The request id.", "0f8fad5b-d9cb-469f-a165-70867728950e"),
  error: openEnum(CODES, "The stable code. Treat an unknown one as its status."),
  errors: z
    .array(FieldProblem)
    .optional()
    .meta({ description: "The members that were refused, where they are known." }),
  reason: described("For SigningRefused: the rule that refused.", "UnknownScript").optional(),
  availableAt: Timestamp.optional().meta({
    description: "For a time lock: the same request is granted from here on.",
  }),
  timeLockId: described("For a time lock: the id to cancel it by.", "019a0000-0000-7000-8000-000000000001").optional(),
});
export type Problem = z.infer<typeof Problem>;
