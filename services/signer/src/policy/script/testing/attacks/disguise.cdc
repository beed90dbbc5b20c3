//# ForbiddenMember: a new account, paid with the user's money
transaction {
    prepare(payer: auth(BorrowValue) &Account) {
        let new = Account(payer: payer)
    }
}
//# ForbiddenMember: the constructor under another name
transaction {
    prepare(payer: auth(BorrowValue) &Account) {
        let make = Account
        let new = make(payer: payer)
    }
}
//# ScriptNotUnderstood: an import in the name of the language
import Account from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: an import under the name of the language
import Evil as Storage from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: a local name in the place of an imported contract
import FlowToken from 0x0ae53cb6e3f42a79
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        let FlowToken = Evil.self()
        FlowToken.pay()
    }
}
//# ScriptNotUnderstood: two contracts under one name
import FlowToken from 0x0ae53cb6e3f42a79
import FlowToken from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: the account's name means something else in a block
import Evil from 0x01cf0e2f2f715450
transaction {
    prepare(account: auth(Storage) &Account) {
        if let account = Evil.other() {
            account.storage.save(1, to: /storage/one)
        }
    }
}
//# ScriptNotUnderstood: an argument with the account's name
transaction(account: String) {
    prepare(account: auth(Storage) &Account) {
        account.storage.save(1, to: /storage/one)
    }
}
//# ScriptNotUnderstood: letters that look like others
transaction {
    prepare(аccount: auth(Storage) &Account) {
        аccount.storage.save(1, to: /storage/one)
    }
}
//# ScriptNotUnderstood: full-width letters in an entitlement
transaction {
    prepare(account: auth(Ｋeys) &Account) {}
}
//# ScriptNotUnderstood: an invisible joiner in a member
transaction {
    prepare(account: auth(Storage) &Account) {
        account.ke‍ys.revoke(keyIndex: 0)
    }
}
//# ScriptNotUnderstood: a comment that never ends, or ends earlier than it seems
/* /* nested */ transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ForbiddenEntitlement: a comment turned around by a direction mark
transaction {
    prepare(account: auth(Storage /*‮ ,ylno⁦ */, Keys) &Account) {}
}
//# ScriptNotUnderstood: two transactions
transaction {
    prepare(account: auth(Storage) &Account) {}
}
transaction {
    prepare(account: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: no transaction, a script that only reads
access(all) fun main(): Int { return 1 }
//# ScriptNotUnderstood: two accounts where one authorizes
transaction {
    prepare(account: auth(Storage) &Account, paymaster: auth(Storage) &Account) {}
}
//# ScriptNotUnderstood: no account where one authorizes
transaction {
    execute {}
}
//# ScriptNotUnderstood: Cadence before 1.0
transaction {
    prepare(account: AuthAccount) {
        account.save(1, to: /storage/one)
    }
}
//# ScriptNotUnderstood: the account is optional
transaction {
    prepare(account: (auth(Storage) &Account)?) {}
}
//# ScriptNotUnderstood: something after the transaction
transaction {
    prepare(account: auth(Storage) &Account) {}
} 0
//# ForbiddenMember: deep in a text
transaction {
    prepare(account: auth(Storage) &Account) {
        log("keys: \(account.keys.count)")
    }
}
//# ForbiddenMember: in a condition after the transaction
transaction {
    prepare(account: auth(Storage) &Account) {}
    post { getAccount(0x01).keys.count > 0: "no key" }
}
