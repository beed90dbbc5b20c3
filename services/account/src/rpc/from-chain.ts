import { AppError } from "@countersign/core";
import { AccessApiError } from "@countersign/flow";

/** Errors: ChainUnavailable where the node did not answer. */
export async function fromChain<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof AccessApiError ? new AppError("ChainUnavailable", { cause: error }) : error;
  }
}
