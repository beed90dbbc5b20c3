/**
 * The addresses of HybridCustody on a network, and what a link gives access to; 16 hex digits each.
 * docs/parents.md has the rules for factory and filter.
 */
export interface HybridCustodyNetwork {
  /** HybridCustody, CapabilityFactory and CapabilityFilter: one account has all three. */
  readonly contract: string;
  /** The account with the contract ViewResolver. */
  readonly viewResolver: string;
  /** The account that publishes the factories, which find capabilities for a parent. */
  readonly factory: string;
  /** The account that publishes the filter, which decides which of them a parent gets. */
  readonly filter: string;
}

type Contracts = Pick<HybridCustodyNetwork, "contract" | "viewResolver">;

/** The tag on the controller of the only capability with rights over the account, which HybridCustody keeps. */
const TAG = "hybridCustody";

export const setUpScript = ({ contract, viewResolver }: Contracts): string => `import HybridCustody from 0x${contract}
import CapabilityFactory from 0x${contract}
import CapabilityFilter from 0x${contract}
import ViewResolver from 0x${viewResolver}

/// Offers this account to \`parent\` through HybridCustody, under the factory and the filter that the service names.
transaction(parent: Address, factory: Address, filter: Address) {
    prepare(
        child: auth(
            IssueAccountCapabilityController, GetAccountCapabilityController,
            IssueStorageCapabilityController, GetStorageCapabilityController,
            SaveValue, BorrowValue, PublishCapability, UnpublishCapability
        ) &Account
    ) {
        assert(parent != child.address, message: "an account is not its own parent")

        let path = HybridCustody.OwnedAccountStoragePath
        if child.storage.type(at: path) == nil {
            // Whatever was issued for this path before must not open what comes there now.
            for controller in child.capabilities.storage.getControllers(forPath: path) { controller.delete() }

            // It goes from here into the resource, and nowhere else: who has it has the account.
            let all = child.capabilities.account.issue<auth(Storage, Contracts, Keys, Inbox, Capabilities) &Account>()
            child.capabilities.account.getController(byCapabilityID: all.id)!.setTag("${TAG}")
            child.storage.save(<-HybridCustody.createOwnedAccount(acct: all), to: path)

            child.capabilities.unpublish(HybridCustody.OwnedAccountPublicPath)
            child.capabilities.publish(
                child.capabilities.storage.issue<&{HybridCustody.OwnedAccountPublic, ViewResolver.Resolver}>(path),
                at: HybridCustody.OwnedAccountPublicPath)
        }

        // Anything can be saved at a path: it must be this account's, and nobody else's.
        let owned = child.storage.borrow<auth(HybridCustody.Owner) &HybridCustody.OwnedAccount>(from: path)
            ?? panic("something else is in the owned account's place")
        assert(owned.getAddress() == child.address && owned.check(), message: "not this account's owned account")
        assert(
            owned.getOwner() == child.address && owned.getPendingOwner() == nil,
            message: "the account has another owner")
        assert(owned.getRedeemedStatus(addr: parent) == nil, message: "offered or linked already")

        let factories = getAccount(factory).capabilities.get<&CapabilityFactory.Manager>(CapabilityFactory.PublicPath)
        assert(factories.check() && factories.address == factory, message: "no factory there")

        // A list lets nothing pass but resources. The filter that allows all lets a factory give the account itself away.
        let filters = getAccount(filter).capabilities.get<&{CapabilityFilter.Filter}>(CapabilityFilter.PublicPath)
        let kind = filters.borrow()?.getType()
        assert(
            filters.address == filter
                && (kind == Type<@CapabilityFilter.AllowlistFilter>() || kind == Type<@CapabilityFilter.DenylistFilter>()),
            message: "no filter with a list there")

        // An earlier link to this parent leaves it behind.
        child.capabilities.unpublish(PublicPath(identifier: HybridCustody.getCapabilityDelegatorIdentifier(parent))!)
        owned.publishToParent(parentAddress: parent, factory: factories, filter: filters)
    }
}
`;

export const redeemScript = ({ contract, viewResolver }: Contracts): string => `import HybridCustody from 0x${contract}
import ViewResolver from 0x${viewResolver}

/// The parent's side: takes the account that \`child\` has offered into this account's manager, which is made where there is none.
transaction(child: Address) {
    prepare(
        parent: auth(
            ClaimInboxCapability, SaveValue, BorrowValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability
        ) &Account
    ) {
        assert(child != parent.address, message: "an account is not its own parent")

        let path = HybridCustody.ManagerStoragePath
        if parent.storage.type(at: path) == nil {
            parent.storage.save(<-HybridCustody.createManager(filter: nil), to: path)
        }
        let manager = parent.storage.borrow<auth(HybridCustody.Manage) &HybridCustody.Manager>(from: path)
            ?? panic("something else is in the manager's place")

        let shown = parent.capabilities.borrow<&{HybridCustody.ManagerPublic}>(HybridCustody.ManagerPublicPath)
        if shown?.uuid != manager.uuid {
            parent.capabilities.unpublish(HybridCustody.ManagerPublicPath)
            parent.capabilities.publish(
                parent.capabilities.storage.issue<&{HybridCustody.ManagerPublic}>(path), at: HybridCustody.ManagerPublicPath)
        }

        // A link that the child has cut is still listed, and would stand in the way.
        if manager.getChildAddresses().contains(child) && manager.borrowAccount(addr: child) == nil {
            manager.removeChild(addr: child)
        }

        let link = parent.inbox.claim<auth(HybridCustody.Child)
            &{HybridCustody.AccountPrivate, HybridCustody.AccountPublic, ViewResolver.Resolver}>(
                HybridCustody.getChildAccountIdentifier(parent.address), provider: child)
            ?? panic("nothing offered by this account")
        // The provider may offer a link to a third account, or have deleted it since.
        assert(link.address == child && link.check(), message: "not a live link to this account")
        manager.addAccount(cap: link)
    }
}
`;

/** The owned account goes, and with it the only right over the account: for when no parent is left. */
const END = `        destroy child.storage.load<@HybridCustody.OwnedAccount>(from: path)
        child.capabilities.unpublish(HybridCustody.OwnedAccountPublicPath)
        for controller in child.capabilities.storage.getControllers(forPath: path) { controller.delete() }
        for controller in child.capabilities.account.getControllers() {
            if controller.tag == "${TAG}" { controller.delete() }
        }`;

const RIGHTS = `LoadValue, BorrowValue, GetAccountCapabilityController, GetStorageCapabilityController, UnpublishCapability`;

export const removeScript = ({ contract }: Contracts): string => `import HybridCustody from 0x${contract}

/// Ends the link to \`parent\`, redeemed or not, and tells its manager. With the last link goes the owned account.
transaction(parent: Address) {
    prepare(child: auth(${RIGHTS}) &Account) {
        let path = HybridCustody.OwnedAccountStoragePath
        let owned = child.storage.borrow<auth(HybridCustody.Owner) &HybridCustody.OwnedAccount>(from: path)
            ?? panic("no link to this parent")
        assert(owned.removeParent(parent: parent), message: "no link to this parent")
        child.capabilities.unpublish(PublicPath(identifier: HybridCustody.getCapabilityDelegatorIdentifier(parent))!)
        if owned.getParentAddresses().length > 0 { return }

${END}
    }
}
`;

export const endScript = ({ contract }: Contracts): string => `import HybridCustody from 0x${contract}

/// Ends every link of this account and the owned account, without a call to any parent: a hostile manager can make the polite way fail.
transaction {
    prepare(child: auth(${RIGHTS}) &Account) {
        let path = HybridCustody.OwnedAccountStoragePath
        let owned = child.storage.borrow<&HybridCustody.OwnedAccount>(from: path) ?? panic("no link to any parent")
        for parent in owned.getParentAddresses() {
            for identifier in [
                HybridCustody.getChildAccountIdentifier(parent), HybridCustody.getCapabilityDelegatorIdentifier(parent)
            ] {
                let part = StoragePath(identifier: identifier)!
                for controller in child.capabilities.storage.getControllers(forPath: part) { controller.delete() }
                destroy child.storage.load<@AnyResource>(from: part)
                child.capabilities.unpublish(PublicPath(identifier: identifier)!)
            }
        }

${END}
    }
}
`;
