import { createSagaMetrics, OPEN_SAGAS_MS, type OpenSagas, type ServiceRuntime } from "@countersign/runtime";

/** Exports the unfinished sign-ups, as each replica reads them. */
export function observeOpenSignUps(
  { every, metrics }: Pick<ServiceRuntime, "every" | "metrics">,
  read: () => Promise<readonly OpenSagas[]>,
): void {
  const set = createSagaMetrics(metrics);
  every(OPEN_SAGAS_MS, "open sign-ups", async () => set(await read()));
}
