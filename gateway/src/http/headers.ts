import type { IncomingMessage } from "node:http";

/**
 * Every value of a header, in their order; `name` is in lower case. `headers` has only the first of some and joins others, and `headersDistinct`
 * takes all headers apart where one is asked for.
 */
export function headerValues({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const given = rawHeaders[i]!;
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[i + 1]!);
  }
  return values;
}
