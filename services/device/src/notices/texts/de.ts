import type { NoticeTexts } from "../ports.ts";

/** German. */
export const de: NoticeTexts = {
  time: "Zeit",
  notYou:
    "Wenn Sie das nicht waren, öffnen Sie die App auf einem Ihrer Geräte, sperren Sie das Konto und entfernen Sie jedes Gerät, das Sie nicht kennen.",
  notices: {
    "new-sign-in": {
      subject: "Neue Anmeldung bei Ihrem Konto",
      what: "Eines Ihrer Geräte hat sich bei Ihrem Konto angemeldet.",
    },
    "new-device": {
      subject: "Ein neues Gerät wurde zu Ihrem Konto hinzugefügt",
      what: "Ein neues Gerät wurde hinzugefügt. Es kann sich ab jetzt bei Ihrem Konto anmelden und Transaktionen dafür unterschreiben.",
    },
    frozen: {
      subject: "Ihr Konto ist gesperrt",
      what: "Ihr Konto wurde gesperrt: Bis zur Entsperrung wird nichts dafür unterschrieben.",
      advice:
        "Entsperren Sie es in der App: sofort mit zwei Geräten, von denen eines das Konto gesperrt hat, oder mit dem Wiederherstellungsschlüssel und einem Gerät; mit einem Gerät allein nach einer Wartefrist. Wenn Sie das nicht waren, prüfen Sie zuerst Ihre Geräte und Sitzungen.",
    },
    unfrozen: {
      subject: "Ihr Konto ist nicht mehr gesperrt",
      what: "Ihr Konto wurde entsperrt: Transaktionen werden wieder unterschrieben.",
    },
    "unfreeze-asked": {
      subject: "Die Entsperrung Ihres Kontos wurde angefordert",
      what: "Ihr Konto ist gesperrt, und auf einem Ihrer Geräte oder mit Ihrem Wiederherstellungsschlüssel wurde die Entsperrung angefordert. Sie geschieht nach einer Wartefrist, oder sofort, wenn ein weiteres Gerät zustimmt.",
      advice:
        "Wenn Sie das nicht waren, öffnen Sie die App auf einem Ihrer Geräte, sperren Sie das Konto noch einmal, was Anforderungen anderer Geräte abbricht, und entfernen Sie die Geräte, die Sie nicht in Händen haben.",
    },
    "unfreeze-cancelled": {
      subject: "Die Entsperrung Ihres Kontos wurde abgebrochen",
      what: "Ihr Konto wurde noch einmal gesperrt, und die angeforderte Entsperrung wurde abgebrochen.",
    },
    "unknown-key": {
      subject: "Auf Ihrem Konto ist ein Schlüssel, den wir nicht kennen",
      what: "Ihrem Konto wurde auf der Blockchain ein Schlüssel hinzugefügt, und zwar nicht durch uns. Hier kann er sich nicht anmelden, auf der Blockchain gilt er aber.",
    },
    "changed-on-chain": {
      subject: "Ihr Konto wurde auf der Blockchain geändert, und nicht durch uns",
      what: "Ein Schlüssel, ein Vertrag oder ein Recht an Ihrem Konto wurde auf der Blockchain durch eine Transaktion geändert, die wir nicht unterschrieben haben.",
    },
    "changed-and-frozen": {
      subject: "Ihr Konto wurde auf der Blockchain geändert und ist gesperrt, bis wir es geprüft haben",
      what: "Ein Schlüssel, ein Vertrag oder ein Recht an Ihrem Konto wurde auf der Blockchain durch eine Transaktion geändert, die wir nicht unterschrieben haben. Ihr Konto ist gesperrt, bis wir es geprüft haben; in der App lässt es sich nicht entsperren.",
      advice:
        "Wenn Sie das waren, wenden Sie sich an unseren Support. Wenn nicht, hat jemand Schlüssel von Ihnen: Prüfen Sie Ihre Geräte, Sitzungen und Ihren Wiederherstellungsschlüssel in der App.",
    },
    "account-left": {
      subject: "Ihr Konto hat den Dienst verlassen",
      what: "Der Schlüssel des Dienstes wurde auf der Blockchain von Ihrem Konto entfernt. Wir unterschreiben nichts mehr dafür, und Ihre Sitzungen sind beendet.",
      advice:
        "Wenn Sie das nicht waren, hat jemand Ihren Wiederherstellungsschlüssel und eines Ihrer Geräte: Übertragen Sie sofort alles von Wert auf ein anderes Konto.",
    },
    "recovery-sign-in": {
      subject: "Jemand hat sich mit Ihrem Wiederherstellungsschlüssel angemeldet",
      what: "Ihr Wiederherstellungsschlüssel hat sich bei Ihrem Konto angemeldet. Damit kann ein neues Gerät angefordert werden, das erst nach einer Wartefrist hinzugefügt wird.",
    },
    "time-lock-started": {
      subject: "Eine Änderung an den Schlüsseln Ihres Kontos wurde angefordert",
      what: "Jemand möchte ändern, wie Ihr Konto wiederhergestellt wird, oder mit dem Wiederherstellungsschlüssel ein neues Gerät hinzufügen. Das geschieht erst nach einer Wartefrist, und bis dahin kann es jedes Gerät abbrechen, das Sie schon vorher hatten.",
      advice:
        "Wenn Sie das nicht waren, öffnen Sie die App auf einem Ihrer Geräte und brechen Sie die Änderung ab; sperren Sie dann das Konto und entfernen Sie jedes Gerät, das Sie nicht kennen.",
    },
    "time-lock-cancelled": {
      subject: "Eine Änderung an den Schlüsseln Ihres Kontos wurde abgebrochen",
      what: "Eine Änderung an den Schlüsseln Ihres Kontos, deren Wartefrist noch lief, wurde auf einem Ihrer Geräte abgebrochen.",
    },
  },
};
