import { UsageError } from "@countersign/runtime";
import { type Asked, adminCommand } from "../admin-command.ts";
import { showOutcome } from "./accounts.ts";

function ofChain({ reason, given, option }: Asked, usage: string) {
  const chainName = option("chain");
  if (chainName === undefined) throw new UsageError(usage, "--chain is missing");
  return { reason, accountId: given[0]!, chainName };
}

export const signUpsResume = adminCommand({
  usage: "sign-ups resume <account id> --chain <name>",
  about: "Continues an unfinished sign-up, with another attempt where the chain refused the deployment.",
  options: ["chain"],
  arguments: [1, 1],
  async run(asked) {
    return showOutcome(asked, (await asked.services.auth.resumeSignUp(ofChain(asked, this.usage))).outcome);
  },
});

export const signUpsCancel = adminCommand({
  usage: "sign-ups cancel <account id> --chain <name>",
  about: "Ends an unfinished sign-up that has nothing on chain; the person may sign up again.",
  options: ["chain"],
  arguments: [1, 1],
  async run(asked) {
    return showOutcome(asked, (await asked.services.auth.cancelSignUp(ofChain(asked, this.usage))).outcome);
  },
});

function ofRequest({ reason, given }: Asked) {
  return { reason, accountId: given[0]!, twoFactorId: given[1]! };
}
const showStatus = ({ show }: Asked, answer: { actionId: string; status: string }): undefined =>
  show(answer, () => [`done: action ${answer.actionId}`, `request: ${answer.status}`]) as undefined;

export const keyAdditionsResume = adminCommand({
  usage: "key-additions resume <account id> <2FA request id>",
  about: "Finds out at once what became of an approval that is not confirmed.",
  arguments: [2, 2],
  run: async (asked) => showStatus(asked, await asked.services.device.resumeTwoFactor(ofRequest(asked))),
});

export const keyAdditionsCancel = adminCommand({
  usage: "key-additions cancel <account id> <2FA request id>",
  about: "Rejects a request of a new device that nobody has begun to approve.",
  arguments: [2, 2],
  run: async (asked) => showStatus(asked, await asked.services.device.cancelTwoFactor(ofRequest(asked))),
});

export const rotationsResume = adminCommand({
  usage: "rotations resume <account id> --chain <name>",
  about: "Continues the newest rotation of an account's server key. It ends by itself, and cannot be cancelled.",
  options: ["chain"],
  arguments: [1, 1],
  async run(asked) {
    const answer = await asked.services.account.resumeRotation(ofChain(asked, this.usage));
    asked.show(answer, () => [`done: action ${answer.actionId}`, `rotation: ${answer.state}`]);
    return undefined;
  },
});
