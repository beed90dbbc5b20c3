import { AppError } from "@countersign/errors";

async function notAvailable(): Promise<never> {
  throw new AppError("NotImplemented");
}

/** The RPCs of key.v1.Keys whose contract is settled and whose every call answers NotImplemented. */
export const notAvailableYet = {
  registerRecoveryKey: notAvailable,
};
