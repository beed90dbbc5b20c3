import { Check, Server, Smartphone } from "lucide-react";

/** The two signers and the account between them, as a picture. */
export const TwoKeys = () => (
  <div className="two-keys" aria-hidden>
    <span className="signer">
      <Smartphone size={26} />
    </span>
    <span className="beam" />
    <span className="seal">
      <Check size={26} strokeWidth={3} />
    </span>
    <span className="beam back" />
    <span className="signer">
      <Server size={26} />
    </span>
  </div>
);
