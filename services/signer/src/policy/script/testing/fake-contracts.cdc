/// Contracts of the real networks, as far as ordinary transactions call them, for the emulator.
//# TopShot
import NonFungibleToken from 0xf8d6e0586b0a20c7
access(all) contract TopShot {
    access(self) var total: UInt64
    access(all) resource NFT: NonFungibleToken.NFT {
        access(all) let id: UInt64
        init(_ id: UInt64) { self.id = id }
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
    access(all) fun createEmptyCollection(nftType: Type): @{NonFungibleToken.Collection} { return <-create Collection() }
    access(all) fun mint(): @NFT {
        self.total = self.total + 1
        return <-create NFT(self.total)
    }
    init() { self.total = 0 }
}
//# PackNFT
import NonFungibleToken from 0xf8d6e0586b0a20c7
import TopShot from FAKE_CONTRACTS
access(all) contract PackNFT {
    access(all) resource NFT {}
    access(all) fun createEmptyCollection(nftType: Type): @{NonFungibleToken.Collection} {
        let packs <- TopShot.createEmptyCollection(nftType: nftType)
        packs.deposit(token: <-TopShot.mint())
        return <-packs
    }
    access(all) fun open(_ pack: @{NonFungibleToken.NFT}, to: Address) {
        destroy pack
        let receiver = getAccount(to).capabilities.borrow<&{NonFungibleToken.Receiver}>(/public/MomentCollection)!
        receiver.deposit(token: <-TopShot.mint())
        receiver.deposit(token: <-TopShot.mint())
    }
}
//# NFTStorefrontV2
import FungibleToken from 0xee82856bf20e2aa6
import NonFungibleToken from 0xf8d6e0586b0a20c7
access(all) contract NFTStorefrontV2 {
    access(all) entitlement CreateListing
    access(all) entitlement RemoveListing
    access(all) struct SaleCut {
        access(all) let receiver: Capability<&{FungibleToken.Receiver}>
        access(all) let amount: UFix64
        init(receiver: Capability<&{FungibleToken.Receiver}>, amount: UFix64) {
            self.receiver = receiver
            self.amount = amount
        }
    }
    access(all) struct ListingDetails {
        access(all) let salePrice: UFix64
        init(_ salePrice: UFix64) { self.salePrice = salePrice }
    }
    access(all) resource interface ListingPublic {
        access(all) fun getDetails(): ListingDetails
        access(all) fun purchase(payment: @{FungibleToken.Vault}, commissionRecipient: Capability<&{FungibleToken.Receiver}>?): @{NonFungibleToken.NFT}
    }
    access(all) resource Listing: ListingPublic {
        access(self) let provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>
        access(self) let nftID: UInt64
        access(self) let cut: SaleCut
        init(_ provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>, _ nftID: UInt64, _ cut: SaleCut) {
            self.provider = provider
            self.nftID = nftID
            self.cut = cut
        }
        access(all) fun getDetails(): ListingDetails { return ListingDetails(self.cut.amount) }
        access(all) fun purchase(payment: @{FungibleToken.Vault}, commissionRecipient: Capability<&{FungibleToken.Receiver}>?): @{NonFungibleToken.NFT} {
            assert(payment.balance == self.cut.amount, message: "another price")
            self.cut.receiver.borrow()!.deposit(from: <-payment)
            return <-self.provider.borrow()!.withdraw(withdrawID: self.nftID)
        }
    }
    access(all) resource interface StorefrontManager {
        access(RemoveListing) fun removeListing(listingResourceID: UInt64)
    }
    access(all) resource interface StorefrontPublic {
        access(all) fun borrowListing(listingResourceID: UInt64): &{ListingPublic}?
    }
    access(all) resource Storefront: StorefrontManager, StorefrontPublic {
        access(self) let listings: @{UInt64: Listing}
        access(self) var last: UInt64
        init() {
            self.listings <- {}
            self.last = 0
        }
        access(CreateListing) fun createListing(nftProviderCapability: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>, nftType: Type, nftID: UInt64, salePaymentVaultType: Type, saleCuts: [SaleCut], marketplacesCapability: [Capability<&{FungibleToken.Receiver}>]?, customID: String?, commissionAmount: UFix64, expiry: UInt64): UInt64 {
            self.last = self.last + 1
            self.listings[self.last] <-! create Listing(nftProviderCapability, nftID, saleCuts[0])
            return self.last
        }
        access(RemoveListing) fun removeListing(listingResourceID: UInt64) {
            destroy (self.listings.remove(key: listingResourceID) ?? panic("no such offer"))
        }
        access(all) fun borrowListing(listingResourceID: UInt64): &{ListingPublic}? { return &self.listings[listingResourceID] }
    }
    access(all) fun createStorefront(): @Storefront { return <-create Storefront() }
}
//# Market
import NonFungibleToken from 0xf8d6e0586b0a20c7
access(all) contract Market {
    access(all) event Listed(id: UInt64, price: UFix64)
    access(all) fun list(provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>, id: UInt64, price: UFix64) {
        assert(provider.borrow()!.getIDs().contains(id), message: "not the seller's")
        emit Listed(id: id, price: price)
    }
}
//# Auction
import FungibleToken from 0xee82856bf20e2aa6
access(all) contract Auction {
    access(all) event Bid(id: UInt64, amount: UFix64)
    access(all) fun bid(id: UInt64, vault: @{FungibleToken.Vault}, refundTo: Capability<&{FungibleToken.Receiver}>) {
        emit Bid(id: id, amount: vault.balance)
        // Somebody else bids more at once.
        refundTo.borrow()!.deposit(from: <-vault)
    }
}
//# FiatToken
import FungibleToken from 0xee82856bf20e2aa6
access(all) contract FiatToken: FungibleToken {
    access(all) var totalSupply: UFix64
    access(all) resource Vault: FungibleToken.Vault {
        access(all) var balance: UFix64
        init(_ balance: UFix64) { self.balance = balance }
        access(all) view fun isAvailableToWithdraw(amount: UFix64): Bool { return amount <= self.balance }
        access(all) view fun getSupportedVaultTypes(): {Type: Bool} { return {Type<@Vault>(): true} }
        access(all) view fun isSupportedVaultType(type: Type): Bool { return type == Type<@Vault>() }
        access(all) view fun getViews(): [Type] { return [] }
        access(all) fun resolveView(_ view: Type): AnyStruct? { return nil }
        access(FungibleToken.Withdraw) fun withdraw(amount: UFix64): @Vault {
            self.balance = self.balance - amount
            return <-create Vault(amount)
        }
        access(all) fun deposit(from: @{FungibleToken.Vault}) {
            let vault <- from as! @Vault
            self.balance = self.balance + vault.balance
            destroy vault
        }
        access(all) fun createEmptyVault(): @Vault { return <-create Vault(0.0) }
    }
    access(all) fun createEmptyVault(vaultType: Type): @Vault { return <-create Vault(0.0) }
    access(all) fun mint(_ amount: UFix64): @Vault { return <-create Vault(amount) }
    access(all) view fun getContractViews(resourceType: Type?): [Type] { return [] }
    access(all) fun resolveContractView(resourceType: Type?, viewType: Type): AnyStruct? { return nil }
    init() { self.totalSupply = 0.0 }
}
//# SwapRouter
import FungibleToken from 0xee82856bf20e2aa6
import FiatToken from FAKE_CONTRACTS
access(all) contract SwapRouter {
    access(self) let kept: @[{FungibleToken.Vault}]
    access(all) fun swapExactTokensForTokens(exactVaultIn: @{FungibleToken.Vault}, amountOutMin: UFix64, tokenKeyPath: [String], deadline: UFix64): @{FungibleToken.Vault} {
        let out = exactVaultIn.balance * 2.0
        assert(out >= amountOutMin && getCurrentBlock().timestamp <= deadline, message: "too little, or too late")
        self.kept.append(<-exactVaultIn)
        return <-FiatToken.mint(out)
    }
    init() { self.kept <- [] }
}
//# FlowIDTableStaking
import FungibleToken from 0xee82856bf20e2aa6
access(all) contract FlowIDTableStaking {
    access(all) entitlement DelegatorOwner
    access(all) resource interface NodeDelegatorPublic { access(all) let nodeID: String }
    access(all) resource NodeDelegator: NodeDelegatorPublic {
        access(all) let nodeID: String
        access(self) var vault: @{FungibleToken.Vault}
        init(_ nodeID: String, _ vault: @{FungibleToken.Vault}) {
            self.nodeID = nodeID
            self.vault <- vault
        }
        access(DelegatorOwner) fun delegateNewTokens(from: @{FungibleToken.Vault}) { self.vault.deposit(from: <-from) }
        access(DelegatorOwner) fun requestUnstaking(amount: UFix64) {
            assert(amount <= self.vault.balance, message: "not as much")
        }
        access(DelegatorOwner) fun withdrawRewardedTokens(amount: UFix64): @{FungibleToken.Vault} {
            let all <- self.vault.createEmptyVault()
            all.deposit(from: <-self.take(amount))
            return <-all
        }
        access(self) fun take(_ amount: UFix64): @{FungibleToken.Vault} {
            let own = &self.vault as auth(FungibleToken.Withdraw) &{FungibleToken.Vault}
            return <-own.withdraw(amount: amount)
        }
    }
    access(all) fun registerNewDelegator(nodeID: String, tokensCommitted: @{FungibleToken.Vault}): @NodeDelegator {
        return <-create NodeDelegator(nodeID, <-tokensCommitted)
    }
}
//# FIND
import FungibleToken from 0xee82856bf20e2aa6
access(all) contract FIND {
    access(all) entitlement LeaseOwner
    access(self) let kept: @[{FungibleToken.Vault}]
    access(contract) let taken: {String: UFix64}
    access(all) resource LeaseCollection {
        access(all) let names: [String]
        init() { self.names = [] }
        access(LeaseOwner) fun register(name: String, vault: @{FungibleToken.Vault}) {
            assert(vault.balance == FIND.calculateCost(name), message: "another price")
            FIND.take(name, <-vault)
            self.names.append(name)
        }
    }
    access(contract) fun take(_ name: String, _ vault: @{FungibleToken.Vault}) {
        assert(self.taken[name] == nil, message: "taken")
        self.taken[name] = vault.balance
        self.kept.append(<-vault)
    }
    access(all) view fun calculateCost(_ name: String): UFix64 { return name.length > 4 ? 0.05 : 1.0 }
    access(all) fun createEmptyLeaseCollection(): @LeaseCollection { return <-create LeaseCollection() }
    init() {
        self.kept <- []
        self.taken = {}
    }
}
