import type { Route } from "../http/route.ts";
import { type AccountClients, accountRoutes } from "./account.ts";
import { type AuthClients, authRoutes } from "./auth.ts";
import { type DeviceClients, deviceRoutes } from "./device.ts";
import { type EventClients, eventRoutes } from "./events.ts";
import { type KeyClients, keyRoutes } from "./key.ts";
import { type MessageClients, messageRoutes } from "./messages.ts";
import { type NewDeviceClients, newDeviceRoutes } from "./new-device.ts";
import { type ServerKeyClients, serverKeyRoutes } from "./server-keys.ts";
import { type SignClients, signRoutes } from "./sign.ts";
import { type SignInClients, signInRoutes } from "./sign-in.ts";
import { type TimeLockClients, timeLockRoutes } from "./time-locks.ts";
import { type TwoFactorClients, twoFactorRoutes } from "./two-factor.ts";

/** Every service as the routes see it. */
export type RouteClients = AuthClients &
  SignInClients &
  NewDeviceClients &
  TwoFactorClients &
  DeviceClients &
  EventClients &
  KeyClients &
  AccountClients &
  MessageClients &
  TimeLockClients &
  ServerKeyClients &
  SignClients;

/** What of the configuration changes a schema. */
export interface RouteOptions {
  /** False only in development: a challenge may come without a login token. */
  requireLoginToken: boolean;
}

/** The table of all routes: the router, the validation and the OpenAPI document are made from it. */
export function createRoutes(clients: RouteClients, options: RouteOptions): Route[] {
  return [
    ...authRoutes(clients),
    ...signInRoutes(clients, options),
    ...newDeviceRoutes(clients),
    ...twoFactorRoutes(clients),
    ...deviceRoutes(clients),
    ...eventRoutes(clients),
    ...keyRoutes(clients),
    ...accountRoutes(clients),
    ...messageRoutes(clients),
    ...timeLockRoutes(clients),
    ...serverKeyRoutes(clients),
    ...signRoutes(clients),
  ];
}
