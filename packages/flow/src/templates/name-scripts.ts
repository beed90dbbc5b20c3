/** The contract that is asked for an account's name, and for its picture where it has one. */
export type NameServiceKind = "find" | "flow-domain-utils";

const FIND = (contract: string): string => `import FIND from 0x${contract}
import Profile from 0x${contract}

access(all) fun main(address: Address): [String] {
    let name = FIND.reverseLookup(address)
    let profile = getAccount(address).capabilities.borrow<&Profile.User>(/public/findProfile)
    return [name == nil ? "" : name!.concat(".find"), profile?.getAvatar() ?? ""]
}
`;

const FLOW_DOMAIN_UTILS = (contract: string): string => `import FlowDomainUtils from 0x${contract}

access(all) fun main(address: Address): [String] {
    let domains = FlowDomainUtils.getDefaultDomainsOfAddress(address)
    return [domains["find"] ?? domains["flowns"] ?? "", ""]
}
`;

/**
 * Returns a script `(address: Address): [String]`: the account's name and the address of its picture, each ""
 * where there is none. `contract`: 16 hex digits.
 * @example
 * const script = nameScript("find", "097bafa4e0b48eef");
 * const answer = await access.executeScript(script, [encodeCadence(cadenceAddress(address))]);
 */
export const nameScript = (kind: NameServiceKind, contract: string): string =>
  (kind === "find" ? FIND : FLOW_DOMAIN_UTILS)(contract);
