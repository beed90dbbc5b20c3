import { chainName, logIn, signUpPerson } from "../../support/person.ts";

const person = await signUpPerson();

export { chainName };
export const { deviceKey } = person;
export const login = await logIn(person.email);
export const pushToken = "ab".repeat(32);
/** The page's loop ends like that of an app that is closed. */
export const signal = AbortSignal.timeout(2_000);

export function loadCredentials(): undefined {}
export function storeCredentials(credentials: unknown): void {
  console.log(credentials === undefined ? "forgot the tokens" : "stored a pair");
}
export function showRequests(requests: unknown[]): void {
  console.log(requests.length);
}
export function showAccount({ id }: { id: string }): void {
  console.log(`account ${id}`);
}
export function showLogin(): void {}
export function showError(title: string, requestId: string): void {
  console.log(title, requestId);
}
export const prints = [/stored a pair/, new RegExp(`account ${person.signedUp.account.id}`), /forgot the tokens/];
