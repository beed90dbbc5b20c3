// The package ships no declarations. These are the parts that the tests use, from its documentation.
declare module "@onflow/fcl" {
  export function config(values: Record<string, unknown>): Promise<unknown>;
  export function mutate(options: Record<string, unknown>): Promise<string>;
  export function tx(id: string): { onceSealed(): Promise<{ statusCode: number; errorMessage: string }> };
  export function authenticate(options: { service: object }): Promise<unknown>;
  export function unauthenticate(): void;
  export interface Signature {
    addr: string;
    keyId: number;
    signature: string;
  }
  export const currentUser: {
    signUserMessage(message: string): Promise<Signature[]>;
    snapshot(): Promise<unknown>;
  };
  export const AppUtils: {
    verifyUserSignatures(message: string, signatures: Signature[], options: object): Promise<boolean>;
    verifyAccountProof(
      appIdentifier: string,
      proof: { address: string; nonce: string; signatures: Signature[] },
      options: object,
    ): Promise<boolean>;
  };
  export const pluginRegistry: { add(plugin: object): void };
  export const WalletUtils: {
    encodeAccountProof(proof: { address: string; nonce: string; appIdentifier: string }): string;
  };
}
