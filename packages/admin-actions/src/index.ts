export { type AccountReadings, type AccountTable, accountReadings, type Term } from "./account-readings.ts";
export { type ActionLog, type ActionRow, createActionLog, insertAction, type NewAction } from "./action-log.ts";
export { actionToProto, adminHandlers } from "./admin-handlers.ts";
export { accountField, administrator, reasonField } from "./administrator.ts";
export { comparePage, pageField } from "./compare-page.ts";
export { onPersonErased } from "./on-person-erased.ts";
