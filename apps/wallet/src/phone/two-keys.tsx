import { Check, Plus, Server, Smartphone } from "lucide-react";
import type { ReactNode } from "react";
import { useTexts } from "../i18n/index.tsx";
import { usePhone } from "./phone-context.tsx";

/** The two signers and the account between them, as a picture. */
export function TwoKeys() {
  const { phone, account, server } = useTexts().welcome.picture;
  return (
    <div className="two-keys" aria-hidden>
      <Party name={phone}>
        <Smartphone size={26} />
      </Party>
      <span className="beam" />
      <Party name={account} isSeal>
        <Check size={26} strokeWidth={3} />
      </Party>
      <span className="beam back" />
      <Party name={server}>
        <Server size={26} />
      </Party>
    </div>
  );
}

/** A phone that joins another one. */
export function TwoPhones() {
  const { phones } = useTexts().page;
  const { id } = usePhone();
  return (
    <div className="two-keys" aria-hidden>
      <Party name={phones[id === "one" ? "two" : "one"]}>
        <Smartphone size={26} />
      </Party>
      <span className="beam" />
      <Party name={phones[id]} isNew>
        <Plus size={26} />
      </Party>
    </div>
  );
}

interface PartyProps {
  name: string;
  isSeal?: boolean;
  isNew?: boolean;
  children: ReactNode;
}

const Party = ({ name, isSeal, isNew, children }: PartyProps) => (
  <span className="party">
    <span className={isSeal ? "seal" : isNew ? "signer new" : "signer"}>{children}</span>
    <small>{name}</small>
  </span>
);
