//# set up a storefront []
import NFTStorefrontV2 from 0x4eb8a10cb9f87357
transaction {
    prepare(signer: auth(BorrowValue, SaveValue, IssueStorageCapabilityController, PublishCapability) &Account) {
        if signer.storage.borrow<&NFTStorefrontV2.Storefront>(from: /storage/NFTStorefrontV2) == nil {
            signer.storage.save(<-NFTStorefrontV2.createStorefront(), to: /storage/NFTStorefrontV2)
            let shown = signer.capabilities.storage.issue<&{NFTStorefrontV2.StorefrontPublic}>(/storage/NFTStorefrontV2)
            signer.capabilities.publish(shown, at: /public/NFTStorefrontV2)
        }
    }
}
//# list an item for sale, with the withdraw right ["UInt64 2", "UFix64 0.01", "UInt64 4102444800"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import NonFungibleToken from 0x1d7e57aa55817448
import TopShot from 0x0b2a3299cc857e29
import NFTStorefrontV2 from 0x4eb8a10cb9f87357
transaction(id: UInt64, price: UFix64, expiry: UInt64) {
    let receiver: Capability<&{FungibleToken.Receiver}>
    let provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>
    let storefront: auth(NFTStorefrontV2.CreateListing) &NFTStorefrontV2.Storefront
    prepare(signer: auth(BorrowValue, IssueStorageCapabilityController, GetStorageCapabilityController) &Account) {
        self.receiver = signer.capabilities.get<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)
        self.provider = signer.capabilities.storage.issue<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>(/storage/MomentCollection)
        signer.capabilities.storage.getController(byCapabilityID: self.provider.id)!.setTag("storefront")
        self.storefront = signer.storage.borrow<auth(NFTStorefrontV2.CreateListing) &NFTStorefrontV2.Storefront>(from: /storage/NFTStorefrontV2)!
    }
    execute {
        let cut = NFTStorefrontV2.SaleCut(receiver: self.receiver, amount: price)
        self.storefront.createListing(nftProviderCapability: self.provider, nftType: Type<@TopShot.NFT>(), nftID: id, salePaymentVaultType: Type<@FlowToken.Vault>(), saleCuts: [cut], marketplacesCapability: nil, customID: nil, commissionAmount: 0.0, expiry: expiry)
    }
}
//# list again, with a right that was given before ["UInt64 3", "UFix64 0.01"]
import NonFungibleToken from 0x1d7e57aa55817448
import NFTStorefrontV2 from 0x4eb8a10cb9f87357
import Market from 0xc1e4f4f4c4257510
transaction(id: UInt64, price: UFix64) {
    prepare(signer: auth(GetStorageCapabilityController, IssueStorageCapabilityController) &Account) {
        var provider: Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>? = nil
        for controller in signer.capabilities.storage.getControllers(forPath: /storage/MomentCollection) {
            if let found = controller.capability as? Capability<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}> {
                provider = found
                break
            }
        }
        if provider == nil {
            provider = signer.capabilities.storage.issue<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>(/storage/MomentCollection)
        }
        Market.list(provider: provider!, id: id, price: price)
    }
}
//# buy what is listed ["UInt64 1", "Address $ADDRESS"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import NonFungibleToken from 0x1d7e57aa55817448
import NFTStorefrontV2 from 0x4eb8a10cb9f87357
transaction(listing: UInt64, storefront: Address) {
    let payment: @{FungibleToken.Vault}
    let collection: &{NonFungibleToken.Collection}
    let listing: &{NFTStorefrontV2.ListingPublic}
    prepare(signer: auth(BorrowValue) &Account) {
        let shop = getAccount(storefront).capabilities.borrow<&{NFTStorefrontV2.StorefrontPublic}>(/public/NFTStorefrontV2) ?? panic("no storefront")
        self.listing = shop.borrowListing(listingResourceID: listing) ?? panic("no such offer")
        let price = self.listing.getDetails().salePrice
        self.payment <- signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!.withdraw(amount: price)
        self.collection = signer.storage.borrow<&{NonFungibleToken.Collection}>(from: /storage/MomentCollection)!
    }
    execute {
        self.collection.deposit(token: <-self.listing.purchase(payment: <-self.payment, commissionRecipient: nil))
    }
}
//# take an offer off the market ["UInt64 1"]
import NFTStorefrontV2 from 0x4eb8a10cb9f87357
transaction(listing: UInt64) {
    let storefront: auth(NFTStorefrontV2.RemoveListing) &{NFTStorefrontV2.StorefrontManager}
    prepare(signer: auth(BorrowValue) &Account) {
        self.storefront = signer.storage.borrow<auth(NFTStorefrontV2.RemoveListing) &NFTStorefrontV2.Storefront>(from: /storage/NFTStorefrontV2)!
    }
    execute { self.storefront.removeListing(listingResourceID: listing) }
}
//# bid in an auction ["UInt64 1", "UFix64 0.01"]
import FungibleToken from 0xf233dcee88fe0abe
import FlowToken from 0x1654653399040a61
import Auction from 0xc1e4f4f4c4257510
transaction(id: UInt64, amount: UFix64) {
    prepare(signer: auth(BorrowValue, CopyValue) &Account) {
        let bid <- signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!.withdraw(amount: amount)
        Auction.bid(id: id, vault: <-bid, refundTo: signer.capabilities.get<&{FungibleToken.Receiver}>(/public/flowTokenReceiver))
    }
}
//# list something in the test market ["UFix64 1.0"]
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
import OrdinaryMarket from 0xf8d6e0586b0a20c7
import FungibleToken from 0xee82856bf20e2aa6
transaction(price: UFix64) {
    prepare(signer: auth(BorrowValue, IssueStorageCapabilityController) &Account) {
        let collection = signer.storage.borrow<&OrdinaryNFT.Collection>(from: /storage/ordinaryNFTs)!
        collection.deposit(token: <-OrdinaryNFT.mint())
        let ids = collection.getIDs()
        let provider = signer.capabilities.storage.issue<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Provider}>(/storage/ordinaryNFTs)
        let receiver = signer.capabilities.get<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)
        OrdinaryMarket.list(id: ids[ids.length - 1], price: price - 1.0, provider: provider, receiver: receiver)
    }
}
//# buy it back []
import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
import OrdinaryNFT from 0xf8d6e0586b0a20c7
import OrdinaryMarket from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(BorrowValue) &Account) {
        let price = OrdinaryMarket.lowestPrice() ?? panic("nothing for sale")
        let payment <- signer.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!.withdraw(amount: price)
        let nft <- OrdinaryMarket.buy(payment: <-payment)
        signer.storage.borrow<&OrdinaryNFT.Collection>(from: /storage/ordinaryNFTs)!.deposit(token: <-nft)
    }
}
