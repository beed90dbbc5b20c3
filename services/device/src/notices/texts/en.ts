import type { NoticeTexts } from "../ports.ts";

/** English. */
export const en: NoticeTexts = {
  time: "Time",
  notYou:
    "If this was not you, open the app on one of your devices, freeze the account and remove every device that you do not know.",
  notices: {
    "new-sign-in": {
      subject: "New sign-in to your account",
      what: "One of your devices has signed in to your account.",
    },
    "new-device": {
      subject: "A new device was added to your account",
      what: "A new device was added. From now on it can sign in to your account and sign transactions for it.",
    },
    frozen: {
      subject: "Your account is frozen",
      what: "Your account was frozen: nothing is signed for it until it is unfrozen.",
      advice:
        "Unfreeze it in the app: at once on two devices, one of them the one that froze it, or with your recovery key and a device; on one device alone after a time lock. If this was not you, check your devices and sessions first.",
    },
    unfrozen: {
      subject: "Your account is not frozen any more",
      what: "Your account was unfrozen: transactions are signed again.",
    },
    "unfreeze-asked": {
      subject: "Unfreezing your account was requested",
      what: "Your account is frozen, and unfreezing it was requested on one of your devices or with your recovery key. It happens after a time lock, or at once if another device agrees.",
      advice:
        "If this was not you, open the app on a device of yours, freeze the account again, which cancels the requests of other devices, and remove the devices that you do not have in your hands.",
    },
    "unfreeze-cancelled": {
      subject: "Unfreezing your account was cancelled",
      what: "Your account was frozen again, which cancelled a request to unfreeze it.",
    },
    "unknown-key": {
      subject: "A key that we do not know is on your account",
      what: "A key was added to your account on chain, and not through us. It cannot sign in here, but it counts on chain.",
    },
    "changed-on-chain": {
      subject: "Your account was changed on chain, and not through us",
      what: "A key, a contract or a right over your account was changed on chain by a transaction that we did not sign.",
    },
    "changed-and-frozen": {
      subject: "Your account was changed on chain and is frozen until we have reviewed it",
      what: "A key, a contract or a right over your account was changed on chain by a transaction that we did not sign. Your account is frozen until we have reviewed it; it cannot be unfrozen in the app.",
      advice:
        "If it was you, contact our support. If not, somebody holds keys of yours: check your devices, sessions and recovery key in the app.",
    },
    "account-left": {
      subject: "Your account has left the service",
      what: "The service's key was removed from your account on chain. We sign nothing for it any more, and your sessions have ended.",
      advice:
        "If this was not you, somebody holds your recovery key and one of your devices: move everything of value to another account at once.",
    },
    "recovery-sign-in": {
      subject: "Somebody signed in with your recovery key",
      what: "Your recovery key has signed in to your account. It can request a new device, which is added only after a time lock.",
    },
    "time-lock-started": {
      subject: "A change to the keys of your account was requested",
      what: "Somebody requested to change how your account is recovered, or to add a new device with its recovery key. It happens only after a time lock, and any device that you had before can cancel it until then.",
      advice:
        "If this was not you, open the app on one of your devices and cancel it; then freeze the account and remove every device that you do not know.",
    },
    "time-lock-cancelled": {
      subject: "A change to the keys of your account was cancelled",
      what: "A change to the keys of your account that was waiting for the end of its time lock was cancelled on one of your devices.",
    },
  },
};
