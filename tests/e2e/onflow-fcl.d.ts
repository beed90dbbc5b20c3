// The package ships no declarations; these are the parts that the test uses, as its documentation describes them.
declare module "@onflow/fcl" {
  export function config(values: Record<string, unknown>): Promise<unknown>;
  export function mutate(options: Record<string, unknown>): Promise<string>;
  export function tx(id: string): { onceSealed(): Promise<{ statusCode: number; errorMessage: string }> };
}
