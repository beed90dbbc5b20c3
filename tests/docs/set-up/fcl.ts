import { signUpPerson } from "../../support/person.ts";

export { network } from "../../support/person.ts";

const person = await signUpPerson();

export const { address, client, deviceKey } = person;
export const prints = [/sealed: [0-9a-f]{64}/];
