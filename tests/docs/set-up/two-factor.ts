import { chainName, logIn, newPhone, signUpPerson } from "../../support/person.ts";

const person = await signUpPerson();

export { chainName };
export const login = await logIn(person.email);
export const newDevice = newPhone().client;
export const registeredDevice = person.client;

let shown = "";
export function show(code: string): void {
  shown = code;
}
export const askForCode = async (): Promise<string> => shown;
