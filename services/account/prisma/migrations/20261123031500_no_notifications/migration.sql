-- Other replicas ask for changes: see store/remembered-accounts.ts and jobs/deployment-waiters.ts.
DROP TRIGGER account_changed ON "account";
DROP TRIGGER account_changed ON "address";
DROP TRIGGER account_changed ON "deployment";
DROP TRIGGER account_changed ON "parent";
DROP FUNCTION notify_account_changed();
DROP FUNCTION notify_account_row_changed();
