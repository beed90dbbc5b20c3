// Values that docstrings take as given, and that only a service, a chain, a browser or a phone has.
import type { ClientNetwork, CountersignClient, Login } from "@countersign/client";
import type { AccessApi, TransactionResult } from "@countersign/flow";
import type { Person, TestStack } from "@countersign/testing";

export declare const access: AccessApi;
export declare const client: CountersignClient;
export declare const network: ClientNetwork;
export declare const result: TransactionResult;
export declare const login: Login;
export declare const chainName: string;
export declare const id: string;
export declare const stack: TestStack;
export declare const ada: Person;
