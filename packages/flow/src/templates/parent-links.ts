import { type CadenceValue, cadenceAddress } from "../codec/cadence-json.ts";
import { expectArguments, readAddressArgument, type ScriptCall } from "./template-arguments.ts";

/**
 * A change of a parent link, with the other account's address, 16 hex digits: the child publishes and
 * removes, the parent claims.
 */
export interface ParentLinkChange {
  /** Which of the three templates. */
  readonly template: "publish-parent-link" | "claim-parent-link" | "remove-parent-link";
  /** The other account's address, 16 hex digits. */
  readonly other: string;
}

/** The name of a template for parent links. */
export type ParentLinkTemplateName = ParentLinkChange["template"];

const PUBLISH = `/// Offers this account's link to \`parent\`: a capability without any right, which the parent claims from its inbox.
transaction(parent: Address) {
    prepare(child: auth(IssueAccountCapabilityController, GetAccountCapabilityController, PublishInboxCapability) &Account) {
        assert(parent != child.address, message: "an account is not its own parent")

        // The tag says whose link it is: a capability can be copied on, a tag is the child's own word.
        let tag = "parentLink:".concat(parent.toString())
        for controller in child.capabilities.account.getControllers() {
            assert(controller.tag != tag, message: "offered or linked already")
        }

        // No entitlement, ever: with one, the parent could take the account.
        let link = child.capabilities.account.issue<&Account>()
        child.capabilities.account.getController(byCapabilityID: link.id)!.setTag(tag)
        child.inbox.publish(link, name: "parentLink", recipient: parent)
    }
}
`;

const CLAIM = `/// The parent's side: claims the link that \`child\` has offered and shows it in public.
transaction(child: Address) {
    prepare(
        parent: auth(ClaimInboxCapability, SaveValue, BorrowValue, IssueStorageCapabilityController, PublishCapability) &Account
    ) {
        // Claiming it as \`&Account\` strips whatever rights a careless child gave it.
        let link = parent.inbox.claim<&Account>("parentLink", provider: child)
            ?? panic("nothing offered by this account")
        // The provider may offer a link to a third account, or have deleted it since.
        assert(link.address == child && link.check(), message: "not a live link to this account")

        if parent.storage.type(at: /storage/parentLinks) == nil {
            let none: {Address: Capability<&Account>} = {}
            parent.storage.save(none, to: /storage/parentLinks)
            parent.capabilities.publish(
                parent.capabilities.storage.issue<&{Address: Capability<&Account>}>(/storage/parentLinks),
                at: /public/parentLinks)
        }
        parent.storage.borrow<auth(Insert) &{Address: Capability<&Account>}>(from: /storage/parentLinks)!
            .insert(key: child, link)
    }
}
`;

const REMOVE = `/// Ends the link to \`parent\`, claimed or not. Account capabilities for others are left alone.
transaction(parent: Address) {
    prepare(child: auth(GetAccountCapabilityController) &Account) {
        let tag = "parentLink:".concat(parent.toString())
        var removed = 0
        for controller in child.capabilities.account.getControllers() {
            if controller.tag == tag {
                controller.delete()
                removed = removed + 1
            }
        }
        assert(removed > 0, message: "no link to this parent")
    }
}
`;

const SCRIPTS: Readonly<Record<ParentLinkTemplateName, string>> = {
  "publish-parent-link": PUBLISH,
  "claim-parent-link": CLAIM,
  "remove-parent-link": REMOVE,
};

export const PARENT_LINK_TEMPLATE_NAMES = Object.keys(SCRIPTS) as ParentLinkTemplateName[];

/**
 * Returns the text of a template; a parent that is no account of the service runs the claim with its own
 * wallet.
 * @example const script = parentLinkScript("claim-parent-link");
 */
export const parentLinkScript = (name: ParentLinkTemplateName): string => SCRIPTS[name];

/**
 * Returns the exact arguments, as values.
 * @example
 * const args = parentLinkArguments({ template: "publish-parent-link", other: address }).map(encodeCadence);
 */
export const parentLinkArguments = ({ other }: ParentLinkChange): CadenceValue[] => [cadenceAddress(other)];

/**
 * Returns what a transaction changes about a parent link; undefined where it runs another script. Text and
 * argument are accepted only in the encoding that we would write. Errors: TemplateError.
 * @example readParentLinkChange(transaction); // => undefined
 */
export function readParentLinkChange(payload: ScriptCall): ParentLinkChange | undefined {
  const template = PARENT_LINK_TEMPLATE_NAMES.find((name) => SCRIPTS[name] === payload.script);
  if (template === undefined) return undefined;
  const change = { template, other: readAddressArgument(payload.arguments[0]) };
  expectArguments(payload, parentLinkArguments(change));
  return change;
}
