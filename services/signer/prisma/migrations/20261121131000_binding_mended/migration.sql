-- Versions of bindings may be mended: who remembers them hears of that as well.
CREATE OR REPLACE FUNCTION "notify_binding_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM pg_notify('binding_changed', OLD.account_id::text);
  ELSE
    PERFORM pg_notify('binding_changed', NEW.account_id::text);
  END IF;
  RETURN NULL;
END
$$;

DROP TRIGGER "binding_changed" ON "binding_version";
CREATE TRIGGER "binding_changed" AFTER INSERT OR UPDATE OR DELETE ON "binding_version" FOR EACH ROW EXECUTE FUNCTION "notify_binding_changed"();
