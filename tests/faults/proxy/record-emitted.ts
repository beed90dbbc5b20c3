import { type ServiceName, services } from "@countersign/build/paths.ts";
import { systemClock, uuidv7 } from "@countersign/core";

/** Publishers delete rows: the table `emitted`, which no service knows, keeps id and subject of each. */
const RECORD_EMITTED = `
  CREATE TABLE emitted (id uuid, subject text);
  CREATE FUNCTION record_emitted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO emitted VALUES (NEW.id, NEW.subject); RETURN NULL; END $$;
  CREATE TRIGGER record_emitted AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION record_emitted();`;

/** Records all events from now on in the services' databases. Returns how an id of this time begins. */
export async function recordEmitted(query: (service: ServiceName, sql: string) => Promise<unknown>): Promise<string> {
  await Promise.all(services.map((service) => query(service, RECORD_EMITTED)));
  return uuidv7(systemClock).slice(0, "00000000-0000".length);
}
