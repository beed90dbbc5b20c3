// The package ships no declarations. These are the parts that the test uses, from its documentation.
declare module "@onflow/fcl" {
  export function config(values: Record<string, unknown>): Promise<unknown>;
  export function mutate(options: Record<string, unknown>): Promise<string>;
  export function tx(id: string): { onceSealed(): Promise<{ statusCode: number; errorMessage: string }> };
}
