import { type Acted, actCommand } from "../act-command.ts";

const ofAccountOnChain = { arguments: ["accountId"], options: { chainName: "chain" } } as const;
const ofDeviceRequest = {
  arguments: ["accountId", "twoFactorId"],
  detail: ({ status }: Acted & { status: string }) => `request: ${status}`,
} as const;

export const signUpsResume = actCommand({
  usage: "sign-ups resume <account id> --chain <name>",
  about: "Continues an unfinished sign-up, with another attempt where the chain refused the deployment.",
  ...ofAccountOnChain,
  act: async ({ auth }, request) => (await auth.resumeSignUp(request)).outcome,
});

export const signUpsCancel = actCommand({
  usage: "sign-ups cancel <account id> --chain <name>",
  about: "Ends an unfinished sign-up that has nothing on chain; the person may sign up again.",
  ...ofAccountOnChain,
  // It waits for the end of a lease.
  act: async ({ auth }, request) => (await auth.cancelSignUp(request, { deadlineMs: 45_000 })).outcome,
});

export const keyAdditionsResume = actCommand({
  usage: "key-additions resume <account id> <2FA request id>",
  about: "Finds out at once what became of an approval that is not confirmed.",
  ...ofDeviceRequest,
  act: ({ device }, request) => device.resumeTwoFactor(request),
});

export const keyAdditionsCancel = actCommand({
  usage: "key-additions cancel <account id> <2FA request id>",
  about: "Rejects a request of a new device that nobody has begun to approve.",
  ...ofDeviceRequest,
  act: ({ device }, request) => device.cancelTwoFactor(request),
});

export const rotationsResume = actCommand({
  usage: "rotations resume <account id> --chain <name>",
  about: "Continues the newest rotation of an account's server key. It ends by itself, and cannot be cancelled.",
  ...ofAccountOnChain,
  act: ({ account }, request) => account.resumeRotation(request),
  detail: ({ state }) => `rotation: ${state}`,
});
