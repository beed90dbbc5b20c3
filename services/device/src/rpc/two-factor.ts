import type { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { type Handlers, parseRequest, requireToken } from "@countersign/rpc";
import { type ApprovePorts, approveTwoFactor } from "../domain/two-factor/approve-two-factor.ts";
import { describeEnrollment } from "../domain/two-factor/describe-enrollment.ts";
import { finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";
import { getTwoFactor } from "../domain/two-factor/get-two-factor.ts";
import { listTwoFactor } from "../domain/two-factor/list-two-factor.ts";
import { type OpenTwoFactorOptions, openTwoFactor } from "../domain/two-factor/open-two-factor.ts";
import { redirectTwoFactor } from "../domain/two-factor/redirect-two-factor.ts";
import { rejectTwoFactor } from "../domain/two-factor/reject-two-factor.ts";
import { reopenTwoFactor } from "../domain/two-factor/reopen-two-factor.ts";
import { sessionOf } from "./conversions.ts";
import {
  approvalOf,
  approveShape,
  enrollmentShape,
  listShape,
  openShape,
  redirectShape,
  toWireTwoFactor,
  toWireUserKey,
  twoFactorShape,
} from "./two-factor-conversions.ts";

/** Handles device.v1.TwoFactor. */
export function twoFactorHandlers(options: OpenTwoFactorOptions & ApprovePorts): Handlers<TwoFactorService> {
  const open = openTwoFactor(options);
  const get = getTwoFactor(options);
  const list = listTwoFactor(options);
  const redirect = redirectTwoFactor(options);
  const reject = rejectTwoFactor(options);
  const approve = approveTwoFactor(options);
  const reopen = reopenTwoFactor(options);
  const describe = describeEnrollment(options);
  const finish = finishTwoFactor(options);
  return {
    async openTwoFactor(request, { requestId }) {
      const view = await open({ ...parseRequest(openShape, request), requestId });
      return { twoFactorAuth: toWireTwoFactor(view) };
    },

    async getTwoFactor(request, call) {
      const session = sessionOf(call);
      const { id } = parseRequest(twoFactorShape, request);
      return { twoFactorAuth: toWireTwoFactor(await get({ session, twoFactorId: id, requestId: call.requestId })) };
    },

    async listTwoFactor(request, call) {
      const session = sessionOf(call);
      const { status } = parseRequest(listShape, request);
      const views = await list({ session, status, requestId: call.requestId });
      return { twoFactorAuths: views.map(toWireTwoFactor) };
    },

    async redirectTwoFactor(request, call) {
      const session = sessionOf(call);
      const { id, destDeviceId } = parseRequest(redirectShape, request);
      const view = await redirect({ session, twoFactorId: id, destDeviceId, requestId: call.requestId });
      return { twoFactorAuth: toWireTwoFactor(view) };
    },

    async rejectTwoFactor(request, call) {
      const session = sessionOf(call);
      const { id } = parseRequest(twoFactorShape, request);
      await reject({
        session,
        twoFactorId: id,
        requestId: call.requestId,
        inRecovery: requireToken(call).scope === "recover",
      });
      return {};
    },

    async approveTwoFactor(request, call) {
      const { accountId, deviceKey, accountKey, appId, scope, sessionId } = requireToken(call);
      const parsed = parseRequest(approveShape, request);
      const { requestId, trace, rawToken } = call;
      await approve({
        session: {
          accountId,
          deviceKey,
          accountKey,
          appId,
          ...(scope === "recover" && { recoverySessionId: sessionId }),
        },
        twoFactorId: parsed.id,
        requestId,
        approval: approvalOf(parsed),
        call: { requestId, trace, ...(rawToken !== undefined && { rawToken }) },
      });
      return {};
    },

    async reopenTwoFactor(_, call) {
      await reopen({ session: sessionOf(call) });
      return {};
    },

    async describeEnrollment(request, { requestId }) {
      const view = await describe({ ...parseRequest(enrollmentShape, request), requestId });
      const { chainName, userKey, app, sealedAt, keyIndex, result } = view.request;
      return {
        twoFactorAuth: toWireTwoFactor(view),
        chainName,
        userKey: toWireUserKey(userKey),
        app: { ...app },
        sealed: sealedAt !== null,
        keyIndex: keyIndex ?? -1,
        transaction: result === null ? undefined : { ...result, chainName },
      };
    },

    async finishTwoFactor(request, { requestId }) {
      const view = await finish({ ...parseRequest(enrollmentShape, request), requestId });
      return { twoFactorAuth: toWireTwoFactor(view) };
    },
  };
}
