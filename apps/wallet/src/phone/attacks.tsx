import { ProblemError } from "@countersign/client";
import { useAction, useClient } from "@countersign/react";
import { ShieldCheck, ShieldX } from "lucide-react";
import { ATTACKS, type AttackName } from "../attacks/index.ts";
import { keyIdOf, plain, type Victim } from "../attacks/victim.ts";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { logIn } from "../login.ts";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { useErrorText } from "../ui/error-text.ts";
import { Failed } from "../ui/states.tsx";
import { recentLogin } from "./last-login.ts";
import { usePhone } from "./phone-context.tsx";

/** The attacks of the page, each as a card with its outcome. */
export function Attacks({ address }: { address: string | undefined }) {
  const t = useTexts();
  return (
    <>
      <h2 className="screen-title">{t.attack.title}</h2>
      <p className="muted">{t.attack.lede}</p>
      <ul className="cards">
        {address &&
          (Object.keys(ATTACKS) as AttackName[]).map((name) => <Attack key={name} name={name} address={address} />)}
      </ul>
    </>
  );
}

/** Returns the refusal with which an attack ended; undefined where it was not refused. */
async function refusalOf(name: AttackName, victim: Omit<Victim, "keyId">): Promise<ProblemError | undefined> {
  const keyId = await keyIdOf(victim.client, network, victim.address);
  try {
    await ATTACKS[name]({ ...victim, keyId });
    return undefined;
  } catch (error) {
    if (error instanceof ProblemError && error.status < 500) return error;
    throw error;
  }
}

function Attack({ name, address }: { name: AttackName; address: string }) {
  const t = useTexts();
  const client = useClient();
  const { device } = usePhone();
  const { showCode, markDone } = usePageState();
  const textOf = useErrorText();
  const [title, text] = t.attack.list[name] ?? [name, ""];
  const attack = useAction(async () => {
    showCode(name);
    const login = () => recentLogin(device, client.loginNonce);
    const logInFor = async (nonce: string) => (await logIn(nonce, device.note("email"))).login;
    const refusal = await refusalOf(name, { client, network, address: plain(address), login, logInFor });
    if (refusal) markDone("attack");
    return { refusal };
  });
  const { result, error } = attack;
  const refusal = result?.refusal;
  const reason = refusal && (refusal.reason || refusal.error);
  return (
    <li
      className="card attack"
      data-attack={name}
      data-outcome={refusal ? "refused" : result ? "succeeded" : undefined}
    >
      <div>
        <h3>{title}</h3>
        <p className="muted">{text}</p>
      </div>
      <ActionButton kind="plain" action={attack}>
        {attack.isPending ? t.attack.trying : t.attack.try}
      </ActionButton>
      <div role="status" className="outcome">
        {refusal && (
          <p className="note good">
            <ShieldCheck size={18} aria-hidden />
            <span>
              <strong>
                {t.attack.refused} <code>{reason}</code>
              </strong>
              {t.attack.reasons[reason ?? ""] ?? textOf(refusal)}
            </span>
          </p>
        )}
        {result && !refusal && (
          <p className="note failed">
            <ShieldX size={18} aria-hidden />
            {t.attack.succeeded}
          </p>
        )}
      </div>
      {error !== undefined && <Failed error={error} />}
    </li>
  );
}
