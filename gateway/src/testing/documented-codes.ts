import type { Reason } from "@countersign/core";

interface Response {
  $ref?: string;
  "x-error-codes"?: Reason[];
}

/** The part of the OpenAPI document that names error codes. */
export interface DocumentedCodes {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
}

/** Returns the error codes of an operation, by status. `method` is in lower case. */
export function documentedCodes(
  { paths, components }: DocumentedCodes,
  { path, method }: { path: string; method: string },
): Map<number, readonly Reason[]> {
  const responses = Object.entries(paths[path]![method]!.responses);
  return new Map(
    responses.map(([status, response]) => {
      const shared = response.$ref === undefined ? response : components.responses[response.$ref.split("/").at(-1)!]!;
      return [Number(status), shared["x-error-codes"] ?? []];
    }),
  );
}
