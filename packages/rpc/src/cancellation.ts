import { AppError } from "@countersign/core";

export const isAnyAborted = (signals: readonly AbortSignal[]): boolean => signals.some(({ aborted }) => aborted);

export const callerWentAway = (): AppError => new AppError("Unavailable", { detail: "The caller went away" });
