import { chainName, logIn, network, newPhone, secondPhone, signUpPerson, stack } from "../../support/person.ts";

const person = await signUpPerson();

export { chainName, network };
export const baseUrl: string = stack.gateway;
export const { deviceKey } = person;
export const credentials = person.client.credentials;
export const login = await logIn(person.email);
export const device: string = (await secondPhone(person)).deviceKey.publicKey;
export const networks = [network];
export const cadence = "transaction(text: String) { prepare(account: &Account) { log(text) } }";
export const args = [{ type: "String" as const, value: "hello" }];
export const newKey = newPhone().deviceKey;
export const remembered: string[] = [];

export function store(_credentials: unknown): void {}
export function remember(id: string): void {
  remembered.push(id);
}
export function show(state: unknown): void {
  console.log(JSON.stringify(state));
}
export async function openLogin(request: { maxAge: number; nonce: string }) {
  return logIn(person.email, request);
}
/** As React's, for one rendering. */
export function useSyncExternalStore<T>(subscribe: (listener: () => void) => () => void, read: () => T): T {
  subscribe(() => undefined)();
  return read();
}
export const prints = [/"removed":(true|false)/];
