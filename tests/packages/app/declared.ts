// Values that docstrings take as given, and that only a service, a chain, a browser or a phone has.
import type { ClientNetwork, CountersignClient, Login, Passkey, TimeLock } from "@countersign/client";
import type { Fcl, FclWallet } from "@countersign/fcl";
import type { AccessApi, TransactionResult } from "@countersign/flow";
import type { HardwareKeyModule, SecureTextStore } from "@countersign/react-native";
import type { TestStack } from "@countersign/testing";

export declare const access: AccessApi;
export declare const client: CountersignClient;
export declare const network: ClientNetwork;
export declare const chainName: string;
export declare const login: Login;
export declare const result: TransactionResult;
export declare const timeLock: TimeLock;
/** Of a transaction, or of a request. */
export declare const id: string;
export declare const signal: AbortSignal;
export declare const stack: TestStack;

export declare const passkey: Passkey;
export declare const passkeyOptions: { rpId: string; rpName: string; userName: string };
/** The code that a person typed. */
export declare const typed: string;
export declare const authorizeUrl: string;
export declare function openLogin(request: { maxAge: number; nonce: string }): Promise<Login>;
export declare function show(text: string): void;

export declare const fcl: Fcl & { mutate(transaction: object): Promise<string> };
export declare const wallet: FclWallet;
export declare const biometrics: HardwareKeyModule;
export declare const SecureStore: SecureTextStore;
export declare const getRandomBytes: (length: number) => Uint8Array;
