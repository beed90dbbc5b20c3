/// Contracts that attacks and ordinary transactions import on the emulator.
//# Escapes
/// Ways in which an account can be lost that a script gives away.
access(all) contract Escapes {
    access(all) event Taken()
    access(self) let kept: @[AnyResource]
    access(all) fun help(_ account: auth(Storage) &Account) { self.tidy(account.storage) }
    access(all) fun helpAll(_ accounts: [auth(Storage) &Account]) { self.help(accounts[0]) }
    access(all) fun tidy(_ storage: auth(Storage) &Account.Storage) {
        storage.save("stolen", to: /storage/stolen)
        emit Taken()
    }
    access(all) fun later(_ act: fun(StoragePath): Void) {
        act(/storage/nothing)
        emit Taken()
    }
    access(all) fun count(_ type: fun(StoragePath): Type?) { type(/storage/evm) }
    access(all) fun take(_ capability: Capability) { emit Taken() }
    access(all) fun keep(_ thing: @AnyResource) {
        self.kept.append(<-thing)
        emit Taken()
    }
    init() { self.kept <- [] }
}
//# OrdinaryNFT
import NonFungibleToken from 0xf8d6e0586b0a20c7
access(all) contract OrdinaryNFT: NonFungibleToken {
    access(all) resource NFT: NonFungibleToken.NFT {
        access(all) let id: UInt64
        init() { self.id = self.uuid }
        access(all) fun createEmptyCollection(): @{NonFungibleToken.Collection} { return <-create Collection() }
        access(all) view fun getViews(): [Type] { return [] }
        access(all) fun resolveView(_ view: Type): AnyStruct? { return nil }
    }
    access(all) resource Collection: NonFungibleToken.Collection {
        access(all) var ownedNFTs: @{UInt64: {NonFungibleToken.NFT}}
        init() { self.ownedNFTs <- {} }
        access(all) view fun getSupportedNFTTypes(): {Type: Bool} { return {Type<@NFT>(): true} }
        access(all) view fun isSupportedNFTType(type: Type): Bool { return type == Type<@NFT>() }
        access(NonFungibleToken.Withdraw) fun withdraw(withdrawID: UInt64): @{NonFungibleToken.NFT} {
            return <-(self.ownedNFTs.remove(key: withdrawID) ?? panic("not here"))
        }
        access(all) fun deposit(token: @{NonFungibleToken.NFT}) {
            let old <- self.ownedNFTs[token.id] <- token
            destroy old
        }
        access(all) view fun getIDs(): [UInt64] { return self.ownedNFTs.keys }
        access(all) view fun borrowNFT(_ id: UInt64): &{NonFungibleToken.NFT}? { return &self.ownedNFTs[id] }
        access(all) fun createEmptyCollection(): @{NonFungibleToken.Collection} { return <-create Collection() }
    }
    access(all) fun mint(): @NFT { return <-create NFT() }
    access(all) fun createEmptyCollection(nftType: Type): @{NonFungibleToken.Collection} { return <-create Collection() }
    access(all) view fun getContractViews(resourceType: Type?): [Type] { return [] }
    access(all) fun resolveContractView(resourceType: Type?, viewType: Type): AnyStruct? { return nil }
}
//# OrdinaryMarket
import NonFungibleToken from 0xf8d6e0586b0a20c7
import FungibleToken from 0xee82856bf20e2aa6
access(all) contract OrdinaryMarket {
    access(all) struct Offer {
        access(all) let id: UInt64
        access(all) let price: UFix64
        access(contract) let provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Provider}>
        access(contract) let receiver: Capability<&{FungibleToken.Receiver}>
        init(_ id: UInt64, _ price: UFix64, _ provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Provider}>, _ receiver: Capability<&{FungibleToken.Receiver}>) {
            self.id = id
            self.price = price
            self.provider = provider
            self.receiver = receiver
        }
    }
    access(self) let offers: [Offer]
    access(all) fun list(id: UInt64, price: UFix64, provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Provider}>, receiver: Capability<&{FungibleToken.Receiver}>) {
        self.offers.append(Offer(id, price, provider, receiver))
    }
    access(all) view fun lowestPrice(): UFix64? { return self.offers.length == 0 ? nil : self.offers[0].price }
    access(all) fun buy(payment: @{FungibleToken.Vault}): @{NonFungibleToken.NFT} {
        let offer = self.offers.removeFirst()
        assert(payment.balance == offer.price, message: "another price")
        offer.receiver.borrow()!.deposit(from: <-payment)
        return <-offer.provider.borrow()!.withdraw(withdrawID: offer.id)
    }
    init() { self.offers = [] }
}
//# OrdinaryPool
import FungibleToken from 0xee82856bf20e2aa6
access(all) contract OrdinaryPool {
    access(all) resource Stake {
        access(contract) var vault: @{FungibleToken.Vault}?
        init(_ vault: @{FungibleToken.Vault}) { self.vault <- vault }
        access(contract) fun take(): @{FungibleToken.Vault} {
            let vault <- self.vault <- nil
            return <-vault!
        }
    }
    access(all) fun stake(_ vault: @{FungibleToken.Vault}): @Stake { return <-create Stake(<-vault) }
    access(all) fun leave(_ stake: @Stake): @{FungibleToken.Vault} {
        let vault <- stake.take()
        destroy stake
        return <-vault
    }
}
//# OrdinaryNames
access(all) contract OrdinaryNames {
    access(self) let taken: {String: Address}
    access(all) resource Name {
        access(all) let name: String
        init(_ name: String) { self.name = name }
    }
    access(all) fun claim(name: String, owner: Address): @Name {
        assert(self.taken[name] == nil, message: "taken")
        self.taken[name] = owner
        return <-create Name(name)
    }
    init() { self.taken = {} }
}
