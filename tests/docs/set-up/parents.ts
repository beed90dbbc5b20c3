import { signUpPerson } from "../../support/person.ts";

export { network } from "../../support/person.ts";

const [ada, bob] = await Promise.all([signUpPerson(), signUpPerson()]);

export const childClient = ada.client;
export const parentClient = bob.client;
export const childAddress = `0x${ada.address}`;
export const parentAddress = `0x${bob.address}`;
