/**
 * A script `(child: Address): [Address]`: the parents that hold a live link to the account, confirmed by both
 * sides. The child's tag names the account that a link was given to, since a claimed link can be copied; the
 * parent must show exactly that link.
 * @example
 * const parents = await access.executeScript(INBOX_PARENTS_SCRIPT, [encodeCadence(cadenceAddress(address))]);
 */
export const INBOX_PARENTS_SCRIPT = `access(all) fun main(child: Address): [Address] {
    let parents: [Address] = []
    let controllers = getAuthAccount<auth(GetAccountCapabilityController) &Account>(child).capabilities.account.getControllers()
    for controller in controllers {
        let tag = controller.tag
        if tag.length <= 11 || tag.slice(from: 0, upTo: 11) != "parentLink:" { continue }
        let parent = Address.fromString(tag.slice(from: 11, upTo: tag.length))
        if parent == nil || parents.contains(parent!) { continue }
        let links = getAccount(parent!).capabilities.borrow<&{Address: Capability<&Account>}>(/public/parentLinks)
        if links == nil { continue }
        let link = links![child]
        // Capability ids count per account: another account's link may have the same.
        if link == nil || link!.address != child || link!.id != controller.capabilityID { continue }
        parents.append(parent!)
    }
    return parents
}
`;

/**
 * Returns a script `(child: Address): [Address]`: the parents that HybridCustody's OwnedAccount calls
 * redeemed and whose manager lists the account. `contract`: 16 hex digits.
 * @example
 * const script = hybridCustodyParentsScript(hybridCustody.contract);
 * const parents = await access.executeScript(script, [encodeCadence(cadenceAddress(address))]);
 */
export const hybridCustodyParentsScript = (contract: string): string => `import HybridCustody from 0x${contract}

access(all) fun main(child: Address): [Address] {
    let parents: [Address] = []
    let owned = getAuthAccount<auth(BorrowValue) &Account>(child).storage
        .borrow<&HybridCustody.OwnedAccount>(from: HybridCustody.OwnedAccountStoragePath)
    if owned == nil { return parents }
    let statuses = owned!.getParentStatuses()
    for parent in statuses.keys {
        if statuses[parent] != true { continue }
        let manager = getAccount(parent).capabilities
            .borrow<&{HybridCustody.ManagerPublic}>(HybridCustody.ManagerPublicPath)
        // Anybody may publish somebody else's manager: it must be the parent's own.
        if manager == nil || manager!.owner?.address != parent { continue }
        if manager!.getChildAddresses().contains(child) { parents.append(parent) }
    }
    return parents
}
`;
