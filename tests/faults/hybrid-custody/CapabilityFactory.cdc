/// The parts of CapabilityFactory's public interface that the templates call.
access(all) contract CapabilityFactory {
    access(all) let StoragePath: StoragePath
    access(all) let PublicPath: PublicPath

    access(all) entitlement Add

    access(all) struct interface Factory {
        access(all) view fun getCapability(acct: auth(Capabilities) &Account, controllerID: UInt64): Capability?
        access(all) view fun getPublicCapability(acct: &Account, path: PublicPath): Capability?
    }

    access(all) resource Manager {
        access(self) let factories: {Type: {Factory}}

        access(all) view fun getFactory(_ t: Type): {Factory}? { return self.factories[t] }
        access(Add) fun addFactory(_ t: Type, _ f: {Factory}) { self.factories[t] = f }
        init() { self.factories = {} }
    }

    access(all) fun createFactoryManager(): @Manager { return <-create Manager() }

    init() {
        self.StoragePath = /storage/CapabilityFactory
        self.PublicPath = /public/CapabilityFactory
    }
}
