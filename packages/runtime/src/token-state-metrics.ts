import type { TokenState } from "@countersign/access-tokens";
import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** Exports the age of the process's token state: beyond MAX_STATE_AGE_MS it accepts no token. */
export function exportTokenStateAge({ registry }: Metrics, state: Pick<TokenState, "ageMs">): void {
  new Gauge({
    name: "countersign_token_state_age_seconds",
    help: "Seconds since the last complete message of the token state",
    registers: [registry],
    collect() {
      this.set(state.ageMs() / 1_000);
    },
  });
}
