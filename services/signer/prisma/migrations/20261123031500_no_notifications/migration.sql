-- A rotation waits until no process has older bindings in its memory: see store/known-bindings.ts.
DROP TRIGGER "binding_changed" ON "binding";
DROP TRIGGER "binding_changed" ON "binding_version";
DROP TRIGGER "binding_changed" ON "server_key_rotation";
DROP FUNCTION "notify_binding_changed"();
