-- Whoever remembers an account hears of its changes, whatever made them.
CREATE FUNCTION notify_account_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('account_changed', COALESCE(NEW.account_id, OLD.account_id)::text);
    RETURN NULL;
END
$$;

CREATE FUNCTION notify_account_row_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('account_changed', COALESCE(NEW.id, OLD.id)::text);
    RETURN NULL;
END
$$;

CREATE TRIGGER account_changed AFTER UPDATE OR DELETE ON "account" FOR EACH ROW EXECUTE FUNCTION notify_account_row_changed();
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON "address" FOR EACH ROW EXECUTE FUNCTION notify_account_changed();
CREATE TRIGGER account_changed AFTER INSERT OR UPDATE OR DELETE ON "deployment" FOR EACH ROW EXECUTE FUNCTION notify_account_changed();
