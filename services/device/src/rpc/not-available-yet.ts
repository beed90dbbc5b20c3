import { AppError } from "@countersign/errors";

async function notAvailable(): Promise<never> {
  throw new AppError("NotImplemented");
}

/** device.v1.AccountEvents: the contract is settled, the stream ends with NotImplemented. */
export const accountEventsRpcs = {
  watch: (): AsyncIterable<never> => ({ [Symbol.asyncIterator]: () => ({ next: notAvailable }) }),
};
