import "HybridCustody"
import "CapabilityFactory"
import "MetadataViews"
import "ViewResolver"

/// A factory that finds the account's own capability, and a manager that will not let a child go.
access(all) contract Hostile {
    access(all) struct Factory: CapabilityFactory.Factory {
        access(all) view fun getCapability(acct: auth(Capabilities) &Account, controllerID: UInt64): Capability? {
            return acct.capabilities.account.getControllers()[0].capability
        }
        access(all) view fun getPublicCapability(acct: &Account, path: PublicPath): Capability? { return nil }
    }

    access(all) resource Manager: HybridCustody.ManagerPublic {
        access(all) view fun borrowAccountPublic(addr: Address): &{HybridCustody.AccountPublic, ViewResolver.Resolver}? { return nil }
        access(all) view fun getChildAddresses(): [Address] { return [] }
        access(all) view fun getOwnedAddresses(): [Address] { return [] }
        access(all) view fun getChildAccountDisplay(address: Address): MetadataViews.Display? { return nil }
        access(contract) fun removeParentCallback(child: Address) { panic("it stays") }
    }

    access(all) fun createManager(): @Manager { return <-create Manager() }
}
