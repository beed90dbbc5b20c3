import { randomUUID } from "node:crypto";
import { signUpPerson } from "../../support/person.ts";

export const { client } = await signUpPerson();
export const nonce: string = randomUUID();
