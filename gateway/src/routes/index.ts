import type { Services } from "../clients.ts";
import type { Route, Tag, UntaggedRoute } from "../http/route.ts";
import { accountRoutes } from "./account.ts";
import { deviceRoutes } from "./devices.ts";
import { eventRoutes } from "./events.ts";
import { keyRoutes } from "./keys.ts";
import { messageRoutes } from "./messages.ts";
import { newDeviceRoutes } from "./new-device.ts";
import { serverKeyRoutes } from "./server-keys.ts";
import { sessionRoutes } from "./sessions.ts";
import { signRoutes } from "./sign.ts";
import { type RouteOptions, signInRoutes } from "./sign-in.ts";
import { signUpRoutes } from "./sign-up.ts";
import { timeLockRoutes } from "./time-locks.ts";
import { twoFactorRoutes } from "./two-factor.ts";
import { userMessageRoutes } from "./user-messages.ts";

/**
 * Returns the table of all routes: the router, the validation and the OpenAPI document are made from it.
 * Express compares a path with one route after the other, so those that are called most come first.
 */
export const createRoutes = (services: Services, options: RouteOptions): Route[] => [
  ...tagged("Signing", signRoutes(services), userMessageRoutes(services)),
  ...tagged("Account", accountRoutes(services)),
  ...tagged("Auth", signInRoutes(services, options), sessionRoutes(services), signUpRoutes(services)),
  ...tagged("Auth", newDeviceRoutes(services)),
  ...tagged("Devices", twoFactorRoutes(services), deviceRoutes(services), eventRoutes(services), keyRoutes(services)),
  ...tagged("Account", messageRoutes(services), timeLockRoutes(services), serverKeyRoutes(services)),
];

const tagged = (tag: Tag, ...groups: UntaggedRoute[][]): Route[] => groups.flat().map((row) => ({ ...row, tag }));
