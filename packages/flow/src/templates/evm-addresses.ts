/**
 * Returns a script `(addresses: [Address]): [String?]`: the EVM address of each account's published
 * Cadence-owned account, 40 hex digits.
 * @example
 * const list = cadenceArray([cadenceAddress(address)]);
 * const found = await access.executeScript(evmAddressesScript("e467b9dd11fa00df"), [encodeCadence(list)]);
 */
export const evmAddressesScript = (evmContract: string): string => `import EVM from 0x${evmContract}

access(all) fun main(addresses: [Address]): [String?] {
    let result: [String?] = []
    for address in addresses {
        result.append(getAccount(address).capabilities
            .borrow<&EVM.CadenceOwnedAccount>(/public/evm)?.address()?.toString())
    }
    return result
}
`;
