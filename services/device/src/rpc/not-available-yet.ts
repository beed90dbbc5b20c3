import { AppError } from "@countersign/errors";

async function notAvailable(): Promise<never> {
  throw new AppError("NotImplemented");
}

/** device.v1.TwoFactor: the contract is settled, every call answers NotImplemented. */
export const twoFactorRpcs = {
  openTwoFactor: notAvailable,
  getTwoFactor: notAvailable,
  listTwoFactor: notAvailable,
  redirectTwoFactor: notAvailable,
  rejectTwoFactor: notAvailable,
  approveTwoFactor: notAvailable,
  reopenTwoFactor: notAvailable,
  describeAdmission: notAvailable,
  finishTwoFactor: notAvailable,
};

/** device.v1.AccountEvents: the contract is settled, the stream ends with NotImplemented. */
export const accountEventsRpcs = {
  watch: (): AsyncIterable<never> => ({ [Symbol.asyncIterator]: () => ({ next: notAvailable }) }),
};
