/// The parts of CapabilityFilter's public interface that the templates call.
access(all) contract CapabilityFilter {
    access(all) let StoragePath: StoragePath
    access(all) let PublicPath: PublicPath

    access(all) entitlement Add

    access(all) resource interface Filter {
        access(all) view fun allowed(cap: Capability): Bool
    }

    access(all) resource AllowlistFilter: Filter {
        access(self) let types: {Type: Bool}

        access(Add) fun addType(_ type: Type) { self.types[type] = true }
        access(all) view fun allowed(cap: Capability): Bool {
            if let target = cap.borrow<&AnyResource>() { return self.types[target.getType()] == true }
            return false
        }
        init() { self.types = {} }
    }

    access(all) resource DenylistFilter: Filter {
        access(self) let types: {Type: Bool}

        access(Add) fun addType(_ type: Type) { self.types[type] = true }
        access(all) view fun allowed(cap: Capability): Bool {
            if let target = cap.borrow<&AnyResource>() { return self.types[target.getType()] == nil }
            return false
        }
        init() { self.types = {} }
    }

    access(all) resource AllowAllFilter: Filter {
        access(all) view fun allowed(cap: Capability): Bool { return true }
    }

    access(all) fun createFilter(_ t: Type): @{Filter} {
        if t == Type<@AllowlistFilter>() { return <-create AllowlistFilter() }
        if t == Type<@DenylistFilter>() { return <-create DenylistFilter() }
        return <-create AllowAllFilter()
    }

    init() {
        self.StoragePath = /storage/CapabilityFilter
        self.PublicPath = /public/CapabilityFilter
    }
}
