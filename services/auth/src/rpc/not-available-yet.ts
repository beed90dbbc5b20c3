import { AppError } from "@countersign/errors";
import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import type { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import type { Handlers } from "@countersign/service-kit";

const notImplemented = async (): Promise<never> => {
  throw new AppError("NotImplemented");
};

/** auth.v1.Access: freezing accounts comes with signing in on a new device. */
export const freezeRpcs: Pick<Handlers<AccessService>, "freezeAccount" | "unfreezeAccount"> = {
  freezeAccount: notImplemented,
  unfreezeAccount: notImplemented,
};

/** auth.v1.SignIn: so does the new device's part of it. */
export const twoFactorRpcs: Pick<Handlers<SignInService>, "requestTwoFactor" | "finishTwoFactor"> = {
  requestTwoFactor: notImplemented,
  finishTwoFactor: notImplemented,
};
