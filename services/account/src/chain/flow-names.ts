import { type AccessApi, cadenceAddress, encodeCadence, nameScript } from "@countersign/flow";
import type { Network } from "@countersign/settings";
import type { Profile, ProfileLookup } from "../domain/accounts/profiles.ts";

const MAX_URL = 2048;
/**
 * Names are chosen freely: only letters, digits and separators, nothing that could look like other text on a
 * screen.
 */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_-]*(\.[\p{L}\p{N}][\p{L}\p{N}_-]*)*$/u;

const nameFrom = (text: unknown): string =>
  typeof text === "string" && text.length <= 253 && NAME.test(text) ? text : "";

/** Accepts pictures over HTTPS only: apps show them unasked. */
function pictureFrom(text: unknown): string {
  if (typeof text !== "string" || text.length > MAX_URL || !URL.canParse(text)) return "";
  const { protocol, href } = new URL(text);
  return protocol === "https:" ? href : "";
}

/**
 * Returns the name services of a network in the order of its configuration: the first name and the first
 * picture count.
 * Undefined where there are none.
 */
export function createFlowNames(
  { nameServices = [] }: Pick<Network, "nameServices">,
  access: Pick<AccessApi, "executeScript">,
): ProfileLookup | undefined {
  if (nameServices.length === 0) return undefined;
  const scripts = nameServices.map(({ kind, contract }) => nameScript(kind, contract));
  return async (address, signal) => {
    const argument = encodeCadence(cadenceAddress(address));
    let found: Profile = { domainName: "", profileImageUrl: "" };
    const failures: unknown[] = [];
    for (const script of scripts) {
      try {
        const [name, picture] = (await access.executeScript(script, [argument], signal)) as unknown[];
        found = {
          domainName: found.domainName || nameFrom(name),
          profileImageUrl: found.profileImageUrl || pictureFrom(picture),
        };
      } catch (error) {
        failures.push(error);
      }
      if (found.domainName !== "" && found.profileImageUrl !== "") break;
    }
    const nothing = found.domainName === "" && found.profileImageUrl === "";
    if (nothing && failures.length > 0) throw new AggregateError(failures, "a name service did not answer");
    return found;
  };
}
