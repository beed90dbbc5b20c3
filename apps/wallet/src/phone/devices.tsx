import { type Device, plainName } from "@countersign/client";
import { useAction, useClient, useDevices } from "@countersign/react";
import { Smartphone } from "lucide-react";
import { useState } from "react";
import { revoke } from "../acts/revoke-device.ts";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { short } from "../ui/copyable.tsx";
import { Failed, Loading } from "../ui/states.tsx";

/** The phones of the account; another one than this can be removed, with its key on chain. */
export function Devices() {
  const t = useTexts();
  const { data, error, reload } = useDevices();
  // A removed phone has no row any more.
  const [outcome, setOutcome] = useState("");
  return (
    <section className="card">
      <h3>{t.security.devices}</h3>
      {error !== undefined && <Failed error={error} retry={reload} />}
      {!data && error === undefined && <Loading />}
      <ul className="rows">
        {data?.map((device) => (
          <DeviceRow key={device.id} device={device} onOutcome={setOutcome} />
        ))}
      </ul>
      <p className="note" role="status" hidden={outcome === ""}>
        {outcome}
      </p>
    </section>
  );
}

function DeviceRow({ device, onOutcome }: { device: Device; onOutcome: (text: string) => void }) {
  const t = useTexts();
  const client = useClient();
  const { showCode } = usePageState();
  const isOwn = device.publicKey === client.deviceKey.publicKey;
  const removal = useAction(async () => {
    showCode("revoke-device");
    const { refusal, done } = await revoke(client, device, network);
    if (refusal) onOutcome(t.security.tooYoung);
    else onOutcome(done ? t.security.removed : t.security.removedPartly);
  });
  return (
    <li>
      <div className="row">
        <span className="row-icon">
          <Smartphone size={18} aria-hidden />
        </span>
        <span className="row-text">
          {plainName(device.name) || t.security.unnamed}
          <small className="mono">{short(device.publicKey)}</small>
        </span>
        {isOwn ? (
          <span className="badge">{t.security.thisDevice}</span>
        ) : (
          <ActionButton kind="quiet" action={removal}>
            {removal.isPending ? t.security.removing : t.security.remove}
          </ActionButton>
        )}
      </div>
      {removal.error !== undefined && <Failed error={removal.error} />}
    </li>
  );
}
