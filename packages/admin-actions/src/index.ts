export { type AccountTable, accountReadings, type Term } from "./account-readings.ts";
export { type ActionLog, createActionLog, insertAction, type NewAction } from "./action-log.ts";
export { adminHandlers, requestsHandler } from "./admin-handlers.ts";
export { accountField, administrator } from "./administrator.ts";
export { type AccountsAfter, accountsAfter, driftHandler } from "./compare-page.ts";
export { onPersonErased } from "./on-person-erased.ts";
