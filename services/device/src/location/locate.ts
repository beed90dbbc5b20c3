import { isIP } from "node:net";
import type { Logger } from "@countersign/core";
import { ConfigError } from "@countersign/runtime";
import { type CityResponse, open } from "maxmind";

/** Returns the place of an address, for a person to read: "City, Country", "Country", or "" if unknown. */
type Locate = (ip: string) => string;

type Names = CityResponse["city"] & {};

const nameOf = (place: Pick<Names, "names"> | undefined): string => place?.names?.en ?? "";

/** Returns a database's record of an address, in English. */
function describePlace(found: Pick<CityResponse, "city" | "country"> | null): string {
  return [nameOf(found?.city), nameOf(found?.country)].filter((name) => name !== "").join(", ");
}

/**
 * Reads an offline database in MaxMind's format, such as GeoLite2 City or Country, again when it is replaced;
 * without one no place is known. Errors: ConfigError where the file is no such database.
 */
export async function openLocator(file: string | undefined, logger: Logger): Promise<Locate> {
  if (file === undefined) return () => "";
  const reader = await open<CityResponse>(file, { watchForUpdates: true, watchForUpdatesNonPersistent: true }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new ConfigError([`${file}: ${error.code ?? "is no database of locations"}`]);
    },
  );
  return (ip) => {
    if (isIP(ip) === 0) return "";
    try {
      return describePlace(reader.get(ip));
    } catch (err) {
      logger.warn({ err }, "cannot look up a location");
      return "";
    }
  };
}
