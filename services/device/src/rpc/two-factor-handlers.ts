import type { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import type { Handlers } from "@countersign/rpc";
import { type ApprovePorts, approveTwoFactor } from "../domain/two-factor/approve-two-factor.ts";
import { describeEnrollment } from "../domain/two-factor/describe-enrollment.ts";
import { finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";
import { getTwoFactor } from "../domain/two-factor/get-two-factor.ts";
import { listTwoFactor } from "../domain/two-factor/list-two-factor.ts";
import { type OpenTwoFactorOptions, openTwoFactor } from "../domain/two-factor/open-two-factor.ts";
import { redirectTwoFactor } from "../domain/two-factor/redirect-two-factor.ts";
import { rejectTwoFactor } from "../domain/two-factor/reject-two-factor.ts";
import { reopenTwoFactor } from "../domain/two-factor/reopen-two-factor.ts";
import { approveTwoFactorRpc } from "./approve-two-factor.ts";
import { describeEnrollmentRpc } from "./describe-enrollment.ts";
import { finishTwoFactorRpc } from "./finish-two-factor.ts";
import { getTwoFactorRpc } from "./get-two-factor.ts";
import { listTwoFactorRpc } from "./list-two-factor.ts";
import { openTwoFactorRpc } from "./open-two-factor.ts";
import { redirectTwoFactorRpc } from "./redirect-two-factor.ts";
import { rejectTwoFactorRpc } from "./reject-two-factor.ts";
import { reopenTwoFactorRpc } from "./reopen-two-factor.ts";

/** The RPCs of device.v1.TwoFactor over these ports. */
export const twoFactorHandlers = (options: OpenTwoFactorOptions & ApprovePorts): Handlers<TwoFactorService> => ({
  openTwoFactor: openTwoFactorRpc(openTwoFactor(options)),
  getTwoFactor: getTwoFactorRpc(getTwoFactor(options)),
  listTwoFactor: listTwoFactorRpc(listTwoFactor(options)),
  redirectTwoFactor: redirectTwoFactorRpc(redirectTwoFactor(options)),
  rejectTwoFactor: rejectTwoFactorRpc(rejectTwoFactor(options)),
  approveTwoFactor: approveTwoFactorRpc(approveTwoFactor(options)),
  reopenTwoFactor: reopenTwoFactorRpc(reopenTwoFactor(options)),
  describeEnrollment: describeEnrollmentRpc(describeEnrollment(options)),
  finishTwoFactor: finishTwoFactorRpc(finishTwoFactor(options)),
});
