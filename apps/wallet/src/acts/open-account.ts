import type { CountersignClient, Login } from "@countersign/client";

/** The login is bound to this phone's key by client.loginNonce: stolen, it opens nothing. */
export const signUp = (client: CountersignClient, login: Login) =>
  client.signUp({ login, chainName: "flow-emulator", device: { name: "My phone" } });

/** Later: the phone's key answers a challenge. */
export const signIn = (client: CountersignClient, login: Login) => client.signIn({ login, chainName: "flow-emulator" });

// In React, useOpenAccount() of @countersign/react does both, and enrolls a new phone.
