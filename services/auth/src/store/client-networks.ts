import { isIP } from "node:net";

/** The keys by which requests of one client address are counted. */
interface CountedNetworks {
  /** The IPv4 address, or the IPv6 /64: a customer has at least that. */
  readonly own: string;
  /** The IPv6 /48: a customer has at most that; many share one. */
  readonly wide: string | undefined;
}

const IPV4_MAPPED = "0:0:0:0:0:ffff:";
/** The well-known prefix of NAT64 (RFC 6052). */
const NAT64 = "64:ff9b:0:0:0:0:";

/**
 * Returns the networks that a client address is counted in, the same for every spelling of it. IPv4 in IPv6
 * counts as IPv4: mapped addresses, and those of a NAT64. A text that is no address counts as `unknown`.
 */
export function networksOf(clientIp: string | undefined): CountedNetworks {
  // A zone names an interface of this machine.
  const [address = ""] = (clientIp ?? "").split("%");
  const version = isIP(address);
  if (version === 0) return { own: "unknown", wide: undefined };
  if (version === 4) return { own: address, wide: undefined };
  const groups = groupsOf(address);
  const text = groups.join(":");
  if (text.startsWith(IPV4_MAPPED) || text.startsWith(NAT64)) return { own: ipv4Of(groups), wide: undefined };
  return { own: `${groups.slice(0, 4).join(":")}::/64`, wide: `${groups.slice(0, 3).join(":")}::/48` };
}

/** Returns the eight groups of an IPv6 address in lower case without leading zeros. */
function groupsOf(address: string): string[] {
  // The URL parser writes every spelling in one way: with "::" at most once, and without dotted decimals.
  const [head = "", tail = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const [first, last] = [head, tail].map((part) => part.split(":").filter(Boolean)) as [string[], string[]];
  return [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
}

/** Returns the dotted decimals in the last two groups. */
const ipv4Of = (groups: readonly string[]): string =>
  groups
    .slice(6)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff])
    .join(".");
