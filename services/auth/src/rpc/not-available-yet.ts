import { AppError } from "@countersign/errors";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { Handlers } from "@countersign/service-kit";

const notImplemented = async (): Promise<never> => {
  throw new AppError("NotImplemented");
};

/** auth.v1.Access: freezing accounts comes with signing in on a new device. */
export const freezeRpcs: Pick<Handlers<AccessService>, "freezeAccount" | "unfreezeAccount"> = {
  freezeAccount: notImplemented,
  unfreezeAccount: notImplemented,
};
