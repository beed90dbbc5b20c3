import { BlockList, isIPv4, isIPv6 } from "node:net";

const IPV4: readonly string[] = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Link-local, with the metadata services of clouds.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  // Multicast, reserved, broadcast.
  "224.0.0.0/3",
];
/** Of the global unicast addresses, 2000::/3, outside of which every IPv6 address is refused. */
const IPV6: readonly string[] = [
  // Teredo, ORCHID and others of the IETF's.
  "2001::/23",
  "2001:db8::/32",
  // An IPv4 address inside: 6to4.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
];

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    list.addSubnet(address, Number(bits ?? (family === "ipv4" ? 32 : 128)), family);
  }
  return list;
}

const SPECIAL = listOf([...IPV4, ...IPV6]);
const GLOBAL_IPV6 = listOf(["2000::/3"]);

export interface AddressRules {
  /** Whether a request may be sent there. */
  isAllowed(address: string): boolean;
  /** Whether the operator has named it: then plain HTTP is allowed too. */
  isNamed(address: string): boolean;
}

/**
 * Returns the rules about the addresses of webhooks: those of the public internet (IANA's registries of
 * special-purpose addresses), and those in the networks that the operator names, such as "10.1.0.0/16".
 */
export function addressRules(named: readonly string[]): AddressRules {
  const allowed = listOf(named);
  const isIn = (list: BlockList, address: string) => list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
  const isNamed = (address: string) => isIn(allowed, address);
  const isPublic = (address: string) =>
    !isIn(SPECIAL, address) && (isIPv4(address) || (isIPv6(address) && isIn(GLOBAL_IPV6, address)));
  return { isNamed, isAllowed: (address) => isNamed(address) || isPublic(address) };
}
