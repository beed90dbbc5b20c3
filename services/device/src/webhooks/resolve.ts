import { Resolver } from "node:dns/promises";

export interface Resolved {
  readonly address: string;
  readonly family: number;
}

/** Of the first question to a name server; the second one may take twice as long. */
const TIMEOUT_MS = 1_000;
const TRIES = 2;

/**
 * Returns what resolves a name by the system's name servers, or by `servers`. The system's own lookup, with
 * /etc/hosts and search domains, takes one of the four threads of the process until the name server answers:
 * a slow one would hold up the names of all endpoints. Rejects where there is no address.
 */
export const createResolve =
  (servers?: readonly string[]) =>
  async (host: string): Promise<Resolved[]> => {
    // A name server does not know it (RFC 6761).
    if (host === "localhost") return [{ address: "127.0.0.1", family: 4 }];
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    const addresses = (answer: PromiseSettledResult<string[]>, family: number): Resolved[] =>
      answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family })) : [];
    return [...addresses(ipv4, 4), ...addresses(ipv6, 6)];
  };
