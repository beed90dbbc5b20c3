import { sendTransaction } from "@countersign/client";
import { chainName, logIn, network, newEmail, newPhone, signUpPerson } from "../../support/person.ts";

export { chainName, network };
export const cadence = "transaction { prepare(account: &Account) {} }";
export const { client } = await signUpPerson();
/** An earlier run of the app. */
const earlier = await sendTransaction(client, { network, cadence });
const remembered = new Map([["the earlier one", earlier.id]]);

export const newClient = newPhone().client;
export const login = await logIn(newEmail());
export const storedUuid: string = crypto.randomUUID();

export function rememberedTransactions(): [name: string, id: string][] {
  return [...remembered];
}
export function remember(name: string, id: string): void {
  remembered.set(name, id);
}
export function forget(name: string): void {
  remembered.delete(name);
}
export function show(text: string): void {
  console.log(text);
}
export const prints = [/the earlier one is sealed/];
