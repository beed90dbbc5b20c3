import type { TransactionStep } from "@countersign/client";
import type { ComponentProps } from "react";

/** The parties of a transaction, in the order in which they act. */
export type SignatureParty = "device" | "server" | "paymaster" | "chain";

/** Props of `SignatureSteps`. */
export interface SignatureStepsProps extends Omit<ComponentProps<"ol">, "children"> {
  /** How far it is, of `useTransaction`. */
  step: TransactionStep | undefined;
  /** The name of each party in the person's language. */
  labels: Readonly<Record<SignatureParty, string>>;
}

const PARTIES: readonly SignatureParty[] = ["device", "server", "paymaster", "chain"];

/** How a party is with its part: `data-state` of its item. */
function stateOf(party: SignatureParty, status: TransactionStep["status"] | undefined): "waiting" | "active" | "done" {
  if (status === undefined || status === "building") return "waiting";
  if (status === "signing") return party === "chain" ? "waiting" : "active";
  if (party !== "chain" || status === "sealed") return "done";
  return "active";
}

/**
 * Shows a transaction's signatures and its seal as a list, each with `data-party` and `data-state`
 * (`waiting`, `active`, `done`) for the app's own styles.
 * @example
 * const { step } = useTransaction();
 * const labels = { device: "This phone", server: "Server", paymaster: "Paymaster", chain: "Sealed" };
 * return <SignatureSteps step={step} labels={labels} />;
 */
export function SignatureSteps({ step, labels, ...props }: SignatureStepsProps) {
  return (
    <ol {...props} data-status={step?.status ?? "idle"}>
      {PARTIES.map((party) => (
        <li key={party} data-party={party} data-state={stateOf(party, step?.status)}>
          {labels[party]}
        </li>
      ))}
    </ol>
  );
}
