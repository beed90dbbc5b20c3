import { useAction } from "@countersign/react";
import { useTexts } from "../i18n/index.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Copyable } from "../ui/copyable.tsx";
import { Screen } from "../ui/screen.tsx";
import { Failed } from "../ui/states.tsx";
import { remember } from "./history.tsx";
import { usePhone } from "./phone-context.tsx";
import { useCode } from "./welcome.tsx";

/** Gets test tokens from this page's server. */
export function useFaucet(address: string | undefined) {
  const t = useTexts();
  const { device } = usePhone();
  return useAction(async () => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch("/faucet", { method: "POST", headers, body: JSON.stringify({ address }) });
    if (!answer.ok) throw new Error(`${t.common.failed} (${answer.status})`);
    const { id } = (await answer.json()) as { id: string };
    remember(device, { id, kind: "receive", amount: "25" });
    return id;
  });
}

/** The account's address, and test tokens for it. */
export function Receive({ address }: { address: string | undefined }) {
  const t = useTexts();
  useCode("read-balance");
  const faucet = useFaucet(address);
  const { result, error } = faucet;
  return (
    <Screen title={t.receive.title}>
      <p className="muted">{t.receive.lede}</p>
      <div className="address-card">{address && <Copyable text={address} isWhole />}</div>
      {error !== undefined && <Failed error={error} />}
      <p className="note good" role="status" hidden={result === undefined}>
        {result !== undefined && t.receive.arrived}
      </p>
      <div className="bottom">
        <ActionButton action={faucet} isDisabled={!address}>
          {t.receive.faucet}
        </ActionButton>
      </div>
    </Screen>
  );
}
