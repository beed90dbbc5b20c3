import { sendTransaction } from "@countersign/client";
import { chainName, logIn, network, newEmail, newPhone, signUpPerson } from "../../support/person.ts";

export { chainName, network };
export const cadence = "transaction { prepare(account: &Account) {} }";
export const { client } = await signUpPerson();
/** An earlier run of the app. */
const earlier = await sendTransaction(client, { network, cadence });
const remembered = new Set([earlier.id]);

export const newClient = newPhone().client;
export const login = await logIn(newEmail());
export const storedUuid: string = crypto.randomUUID();

export function rememberedTransactions(): string[] {
  return [...remembered];
}
export function remember(id: string): void {
  remembered.add(id);
}
export function forget(id: string): void {
  remembered.delete(id);
}
export function show(text: string): void {
  console.log(text);
}
export const prints = [new RegExp(`${earlier.id} is sealed`)];
