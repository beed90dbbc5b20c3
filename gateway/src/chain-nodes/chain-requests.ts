/** A request that is passed on to a chain node. */
export interface ChainRequest {
  chainName: string;
  /** The path and the query at the node: `/v1/blocks?height=sealed`. */
  path: string;
  /** The path with names for its ids, for metrics and logs. */
  pattern: string;
}

const SEGMENTS: Record<string, string> = {
  id: "[0-9a-f]{64}",
  ids: "[0-9a-f]{64}(?:,[0-9a-f]{64}){0,49}",
  address: "(?:0x)?[0-9a-f]{1,16}",
  index: "[0-9]{1,9}",
};

const operation = (method: "GET" | "POST", pattern: string, ...query: string[]) => ({
  method,
  pattern,
  path: new RegExp(`^${pattern.replace(/\{(\w+)\}/g, (_, name: string) => SEGMENTS[name]!)}$`),
  query: new Set(query),
});

/** The part of Flow's Access API that clients need. https://developers.flow.com/http-api */
const OPERATIONS = [
  operation("GET", "/v1/blocks", "height", "start_height", "end_height", "expand", "select"),
  operation("GET", "/v1/blocks/{ids}", "expand", "select"),
  operation("GET", "/v1/blocks/{id}/payload"),
  operation("GET", "/v1/collections/{id}", "expand", "select"),
  operation("GET", "/v1/transactions/{id}", "expand", "select"),
  operation("GET", "/v1/transaction_results/{id}", "block_id", "collection_id", "expand", "select"),
  operation("POST", "/v1/transactions"),
  operation("POST", "/v1/scripts", "block_id", "block_height"),
  operation("GET", "/v1/accounts/{address}", "block_height", "expand", "select"),
  operation("GET", "/v1/accounts/{address}/balance", "block_height"),
  operation("GET", "/v1/accounts/{address}/keys", "block_height"),
  operation("GET", "/v1/accounts/{address}/keys/{index}", "block_height"),
  operation("GET", "/v1/events", "type", "start_height", "end_height", "block_ids", "select"),
  operation("GET", "/v1/network/parameters"),
  operation("GET", "/v1/node_version_info"),
];

/** A name and its value; a comma may be escaped, and nothing else. */
const PARAMETER = /^(\w{1,32})=((?:[\w.,-]|%2C)*)$/i;
const MAX_QUERY = 4_096;
const MOUNTED = /^\/([\w.-]{1,64})(\/[\w,/-]*)(?:\?(.*))?$/;

/**
 * Returns the request that a URL below `/chain/v1` names, exactly as it was sent, or undefined where it is
 * not in the list above. No escaped character, dot segment or repeated slash of a path is in the list.
 */
export function readChainRequest(method: string, url: string): ChainRequest | undefined {
  const [, chainName = "", path = "", query] = MOUNTED.exec(url) ?? [];
  const found = OPERATIONS.find((each) => each.method === method && each.path.test(path));
  if (found === undefined) return undefined;
  if (query === undefined) return { chainName, path, pattern: found.pattern };
  const names = query.split("&").map((parameter) => PARAMETER.exec(parameter)?.[1]);
  const isKnown = names.every((name) => name !== undefined && found.query.has(name));
  if (!isKnown || query.length > MAX_QUERY || new Set(names).size < names.length) return undefined;
  return { chainName, path: `${path}?${query}`, pattern: found.pattern };
}
