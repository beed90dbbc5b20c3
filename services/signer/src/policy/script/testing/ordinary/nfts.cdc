//# set up a collection []
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(BorrowValue, SaveValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        if signer.storage.borrow<&OrdinaryNFT.Collection>(from: /storage/ordinaryNFTs) != nil { return }
        signer.storage.save(<-OrdinaryNFT.createEmptyCollection(nftType: Type<@OrdinaryNFT.NFT>()), to: /storage/ordinaryNFTs)
        signer.capabilities.unpublish(/public/ordinaryNFTs)
        let collection = signer.capabilities.storage.issue<&OrdinaryNFT.Collection>(/storage/ordinaryNFTs)
        signer.capabilities.publish(collection, at: /public/ordinaryNFTs)
    }
}
//# claim a free one []
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(BorrowValue) &Account) {
        let collection = signer.storage.borrow<&OrdinaryNFT.Collection>(from: /storage/ordinaryNFTs) ?? panic("set up first")
        collection.deposit(token: <-OrdinaryNFT.mint())
    }
}
//# send one on ["Address $ADDRESS"]
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction(to: Address) {
    let nft: @{NonFungibleToken.NFT}
    prepare(signer: auth(BorrowValue) &Account) {
        let collection = signer.storage.borrow<auth(NonFungibleToken.Withdraw) &OrdinaryNFT.Collection>(from: /storage/ordinaryNFTs)
            ?? panic("no collection")
        self.nft <- collection.withdraw(withdrawID: collection.getIDs()[0])
    }
    execute {
        getAccount(to).capabilities.borrow<&{NonFungibleToken.Receiver}>(/public/ordinaryNFTs)!.deposit(token: <-self.nft)
    }
}
//# send several, by the standard's interface ["Address $ADDRESS"]
import NonFungibleToken from 0xf8d6e0586b0a20c7
transaction(to: Address) {
    let collection: auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}
    prepare(signer: auth(BorrowValue) &Account) {
        self.collection = signer.storage.borrow<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>(from: /storage/ordinaryNFTs)!
    }
    execute {
        let receiver = getAccount(to).capabilities.borrow<&{NonFungibleToken.Receiver}>(/public/ordinaryNFTs)!
        for id in self.collection.getIDs() {
            receiver.deposit(token: <-self.collection.withdraw(withdrawID: id))
        }
    }
}
//# give a marketplace the right to take what is sold []
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(SaveValue, IssueStorageCapabilityController) &Account) {
        let provider = signer.capabilities.storage.issue<auth(NonFungibleToken.Withdraw) &OrdinaryNFT.Collection>(/storage/ordinaryNFTs)
        assert(provider.check(), message: "no collection")
        signer.storage.save(provider, to: /storage/marketProvider)
    }
}
//# take that right back []
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(LoadValue, GetStorageCapabilityController) &Account) {
        let provider = signer.storage.load<Capability<auth(NonFungibleToken.Withdraw) &OrdinaryNFT.Collection>>(from: /storage/marketProvider)
            ?? panic("none given")
        signer.capabilities.storage.getController(byCapabilityID: provider.id)?.delete()
    }
}
//# every right over the collection is looked at, and tagged []
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(GetStorageCapabilityController) &Account) {
        for controller in signer.capabilities.storage.getControllers(forPath: /storage/ordinaryNFTs) {
            controller.setTag("seen")
        }
        signer.capabilities.storage.forEachController(forPath: /storage/ordinaryNFTs, fun (controller: &StorageCapabilityController): Bool {
            log(controller.tag)
            return true
        })
    }
}
//# show the collection under its second name []
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        let path = /storage/ordinaryNFTs
        signer.capabilities.unpublish(/public/gallery)
        signer.capabilities.publish(signer.capabilities.storage.issue<&OrdinaryNFT.Collection>(path), at: /public/gallery)
    }
}
//# destroy one for good []
import NonFungibleToken from 0xf8d6e0586b0a20c7
import OrdinaryNFT from 0xf8d6e0586b0a20c7
transaction {
    prepare(signer: auth(BorrowValue) &Account) {
        let collection = signer.storage.borrow<auth(NonFungibleToken.Withdraw) &OrdinaryNFT.Collection>(from: /storage/ordinaryNFTs)!
        collection.deposit(token: <-OrdinaryNFT.mint())
        destroy collection.withdraw(withdrawID: collection.getIDs()[0])
    }
}
//# set up a collection of moments []
import TopShot from 0x0b2a3299cc857e29
transaction {
    prepare(signer: auth(SaveValue, IssueStorageCapabilityController, PublishCapability) &Account) {
        if signer.storage.type(at: /storage/MomentCollection) != nil { return }
        signer.storage.save(<-TopShot.createEmptyCollection(nftType: Type<@TopShot.NFT>()), to: /storage/MomentCollection)
        let collection = signer.capabilities.storage.issue<&TopShot.Collection>(/storage/MomentCollection)
        signer.capabilities.publish(collection, at: /public/MomentCollection)
    }
}
//# set up a collection of packs []
import NonFungibleToken from 0x1d7e57aa55817448
import PackNFT from 0x0b2a3299cc857e29
transaction {
    prepare(signer: auth(SaveValue, IssueStorageCapabilityController, PublishCapability) &Account) {
        signer.storage.save(<-PackNFT.createEmptyCollection(nftType: Type<@PackNFT.NFT>()), to: /storage/PackNFTCollection)
        let packs = signer.capabilities.storage.issue<&{NonFungibleToken.Collection}>(/storage/PackNFTCollection)
        signer.capabilities.publish(packs, at: /public/PackNFTCollection)
    }
}
//# a pack of moments is opened ["UInt64 1"]
import NonFungibleToken from 0x1d7e57aa55817448
import TopShot from 0x0b2a3299cc857e29
import PackNFT from 0x0b2a3299cc857e29
transaction(id: UInt64) {
    prepare(signer: auth(BorrowValue) &Account) {
        let packs = signer.storage.borrow<auth(NonFungibleToken.Withdraw) &{NonFungibleToken.Collection}>(from: /storage/PackNFTCollection)!
        let pack <- packs.withdraw(withdrawID: id)
        PackNFT.open(<-pack, to: signer.address)
    }
}
