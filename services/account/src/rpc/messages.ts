import { chainNamed, invalidField, type VerifiedToken } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { MessagesService, PrepareMessageRequest } from "@countersign/proto/account/v1/messages.ts";
import { type Handlers, requireToken, validPublicKeyFromProto } from "@countersign/rpc";
import type { MessageChain, prepareMessage, WantedChange } from "../domain/messages/prepare-message.ts";
import { fromChain } from "./conversions.ts";

type MessageTemplate = WantedChange["template"];

/** Builds the change of each template from a request. */
const CHANGES: Readonly<Record<MessageTemplate, (request: PrepareMessageRequest) => WantedChange>> = {
  "add-recovery-key": (request) => ({ template: "add-recovery-key", newKey: publicKeyOf(request) }),
  "replace-recovery-key": (request) => ({ template: "replace-recovery-key", newKey: publicKeyOf(request) }),
  "revoke-recovery-key": () => ({ template: "revoke-recovery-key" }),
  "revoke-user-key": (request) => ({ template: "revoke-user-key", oldKey: publicKeyOf(request).publicKey }),
  "publish-parent-link": (request) => ({ template: "publish-parent-link", other: addressOf(request) }),
  "claim-parent-link": (request) => ({ template: "claim-parent-link", other: addressOf(request) }),
  "remove-parent-link": (request) => ({ template: "remove-parent-link", other: addressOf(request) }),
  "set-up-hybrid-custody": (request) => ({ template: "set-up-hybrid-custody", other: addressOf(request) }),
  "redeem-hybrid-custody": (request) => ({ template: "redeem-hybrid-custody", other: addressOf(request) }),
  "remove-hybrid-custody": (request) => ({ template: "remove-hybrid-custody", other: addressOf(request) }),
  "end-hybrid-custody": () => ({ template: "end-hybrid-custody" }),
};

const isTemplate = (name: string): name is MessageTemplate => Object.hasOwn(CHANGES, name);

/** Returns the templates that a chain has. */
const templatesOf = ({ hybridCustody }: Pick<MessageChain, "hybridCustody">): string[] =>
  Object.keys(CHANGES).filter((name) => hybridCustody !== undefined || !name.endsWith("-hybrid-custody"));

function publicKeyOf({ publicKey }: PrepareMessageRequest): PublicKey {
  if (publicKey === undefined) throw invalidField("/publicKey", "Required for this template");
  return validPublicKeyFromProto(publicKey, "/publicKey");
}

function addressOf({ address }: PrepareMessageRequest): string {
  if (address.length !== 8) throw invalidField("/address", "Required for this template: 16 hex digits");
  return Buffer.from(address).toString("hex");
}

/** Handles account.v1.Messages: for the token's own account. */
export const messagesHandlers = (
  prepare: ReturnType<typeof prepareMessage>,
  count: (by: VerifiedToken) => void,
  chains: ReadonlyMap<string, Pick<MessageChain, "chainName" | "hybridCustody">>,
): Handlers<MessagesService> => ({
  async prepareMessage(request, call) {
    const token = requireToken(call);
    const { template, chainName } = request;
    if (!isTemplate(template)) {
      const templates = templatesOf(chainNamed(chains, chainName));
      throw invalidField("/template", `Expected one of ${templates.join(", ")}`);
    }
    const change = CHANGES[template](request);
    count(token);
    const message = await fromChain(prepare({ accountId: token.accountId, chainName, change }, call.signal));
    return { message: Buffer.from(message) };
  },
});
