import { AppError } from "@countersign/errors";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { Handlers } from "@countersign/service-kit";

const notImplemented = async (): Promise<never> => {
  throw new AppError("NotImplemented");
};

/** auth.v1.Access: removing devices and freezing accounts come with signing in on a new device. */
export const accessRpcs: Handlers<AccessService> = {
  removeDevice: notImplemented,
  freezeAccount: notImplemented,
  unfreezeAccount: notImplemented,
};
