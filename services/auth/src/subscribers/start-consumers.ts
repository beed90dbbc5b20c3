import type { Clock } from "@countersign/core";
import type { ConsumerOptions } from "@countersign/events";
import type { AccessStore } from "../domain/access/revoked-access.ts";
import type { HoldStore } from "../domain/freeze/holds.ts";
import { onChainAlert } from "./chain-alert.ts";
import { onDeviceRemoved } from "./device-removed.ts";
import { onKeyEvent } from "./key-events.ts";
import { onTwoFactorChanged, type TwoFactorChangedOptions } from "./two-factor-changed.ts";

type Consume = (options: Pick<ConsumerOptions, "durable" | "handler" | "concurrency">) => void;

interface ConsumersOptions extends TwoFactorChangedOptions {
  readonly access: AccessStore;
  readonly holds: HoldStore;
  readonly clock: Clock;
}

/** Starts the handlers of the events of other services. */
export function startConsumers(consume: Consume, options: ConsumersOptions): void {
  const { access } = options;
  consume({ durable: "auth-device-removed", handler: onDeviceRemoved(access) });
  consume({ durable: "auth-key-events", handler: onKeyEvent(access) });
  // In any order. Few at once: those of one account wait for each other and hold connections.
  consume({ durable: "auth-chain-alerts", concurrency: 3, handler: onChainAlert(options) });
  consume({ durable: "auth-two-factor-changed", concurrency: 3, handler: onTwoFactorChanged(options) });
}
